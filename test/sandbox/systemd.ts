/**
 * A systemd of its own: process 1 of new namespaces, above a copy-on-write view of this machine's files, with its own /run and /dev, and
 * with this machine's network. Nothing that is enabled on this machine is started: its units of /etc and its fstab are not there. It ends
 * with the process that started it.
 * Needs root, cgroup v2 and overlayfs.
 */
import { execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { Watched } from "../support/wait.ts";
import { root } from "./bubblewrap.ts";

const systemd = "/lib/systemd/systemd";
/** The program's folder in there: services do not see /tmp and /root. */
export const programFolder = "/opt/perpwatch";

/** @returns why none can be started here; null: one can */
export function whyNoSystemd(): string | null {
  if (process.getuid?.() !== 0) return "it needs root";
  if (!existsSync(systemd)) return `it needs ${systemd}`;
  if (cgroupFolder() === null) return "it needs cgroup v2";
  const folder = mkdtempSync(path.join(tmpdir(), "perpwatch-overlay-"));
  const cgroup = path.join(cgroupFolder()!, path.basename(folder));
  const overlay = "mount -t overlay overlay -o lowerdir=/,upperdir=upper,workdir=work root";
  try {
    for (const name of ["upper", "work", "root"]) mkdirSync(path.join(folder, name));
    mkdirSync(cgroup);
    execFileSync("rmdir", [cgroup]);
    const command = ["--pid", "--fork", "--mount", "--uts", "--ipc", "--cgroup", "sh", "-c", overlay];
    execFileSync("unshare", command, { cwd: folder, stdio: "pipe" });
    return null;
  } catch (error) {
    return `it needs namespaces, an overlay in ${tmpdir()} and a writable cgroup v2: ${String(error).split("\n")[0]}`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function cgroupFolder(): string | null {
  const mount = readFileSync("/proc/mounts", "utf8")
    .split("\n")
    .find((line) => line.split(" ")[2] === "cgroup2");
  return mount?.split(" ")[1] ?? null;
}

/** Units of systemd's own that would change what is shared with this machine. */
const masked = [
  ...["timers.target", "systemd-sysctl.service", "systemd-udevd.service", "systemd-modules-load.service"],
  ...["systemd-udev-trigger.service", "systemd-hwdb-update.service", "systemd-random-seed.service"],
  ...["systemd-udevd-kernel.socket", "systemd-udevd-control.socket", "systemd-remount-fs.service"],
  ...["sys-kernel-debug.mount", "sys-kernel-tracing.mount", "sys-kernel-config.mount"],
  ...["sys-fs-fuse-connections.mount", "dev-hugepages.mount", "dev-mqueue.mount"],
];

const boot = `
set -e
echo $$ > "$CGROUP/cgroup.procs"
exec setpriv --pdeathsig KILL unshare --pid --fork --kill-child --mount --uts --ipc --cgroup --mount-proc sh -c '
set -e
mount --make-rprivate /
mount -t overlay overlay -o "lowerdir=/,upperdir=$FOLDER/upper,workdir=$FOLDER/work" "$FOLDER/root"
mount --bind "$PROGRAM" "$FOLDER/root$AT"
mount -o remount,bind,ro "$FOLDER/root$AT"
cd "$FOLDER/root"
mount -t tmpfs -o mode=755 tmpfs etc/systemd/system
for unit in $MASKED; do ln -s /dev/null etc/systemd/system/$unit; done
: > etc/fstab
mount -t proc proc proc
mount --bind proc/sys proc/sys
mount -o remount,bind,ro proc/sys
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs dev
mknod -m 666 dev/null c 1 3
mknod -m 666 dev/zero c 1 5
mknod -m 666 dev/full c 1 7
mknod -m 666 dev/random c 1 8
mknod -m 666 dev/urandom c 1 9
mknod -m 666 dev/tty c 5 0
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
mount -t tmpfs tmpfs dev/shm
mount -t tmpfs -o mode=755 tmpfs run
mkdir -p .former
pivot_root . .former
umount -l /.former
mount --make-rshared /
hostname perpwatch-test
exec env -i container=test PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --unit=basic.target --log-target=console
'`;

export interface Ran {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Systemd extends AsyncDisposable {
  /** Runs a command in there, as root. */
  run(command: readonly string[], input?: string): Promise<Ran>;
  /** The first line of a unit's log that fits, printed already or later. */
  logLine(unit: string, fits: (line: string) => boolean): Promise<string>;
}

export async function startSystemd(): Promise<Systemd> {
  const folder = mkdtempSync(path.join(tmpdir(), "perpwatch-systemd-"));
  const cgroup = path.join(cgroupFolder()!, path.basename(folder));
  for (const name of ["upper/etc/systemd/system", `upper${programFolder}`, "work", "root"])
    mkdirSync(path.join(folder, name), { recursive: true });
  mkdirSync(cgroup);
  const env = {
    ...{
      PATH: "/usr/sbin:/usr/bin:/sbin:/bin",
      FOLDER: folder,
      CGROUP: cgroup,
      PROGRAM: root,
      AT: programFolder,
    },
    MASKED: masked.join(" "),
  };
  const child = spawn("sh", ["-c", boot], { env, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      said = (said + text).slice(-4_000);
    });
  const ended = once(child, "close");
  const logs: (() => void)[] = [];
  const stop = async (): Promise<void> => {
    for (const one of logs) one();
    child.kill("SIGKILL");
    await ended;
    await removeCgroup(cgroup);
    rmSync(folder, { recursive: true, force: true });
  };
  /** Process 1 of the namespaces, as it is numbered here: the one child of \`unshare\`. */
  const pid = () => {
    const children = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, "utf8").trim();
    return children.split(" ")[0] ?? "";
  };
  const within = (command: readonly string[]): readonly string[] => [
    ...["--target", pid(), "--mount", "--pid", "--uts", "--ipc", "--cgroup", "--", "env", "-i"],
    ...["HOME=/root", "TERM=dumb", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", ...command],
  ];
  const run: Systemd["run"] = (command, input = "") =>
    new Promise((resolve) => {
      const one = execFile(
        "nsenter",
        within(command),
        { encoding: "utf8", timeout: 90_000 },
        (error, stdout, stderr) => {
          resolve({
            status: error === null ? 0 : typeof error.code === "number" ? error.code : null,
            stdout,
            stderr,
          });
        },
      );
      one.stdin?.on("error", () => {}).end(input);
    });
  try {
    await isUp(run, () => said, ended);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    run,
    async logLine(unit, fits) {
      const journal = spawn(
        "nsenter",
        within(["journalctl", "--unit", unit, "--follow", "--lines=all", "--output=cat"]),
      );
      logs.push(() => journal.kill("SIGKILL"));
      const lines = new Watched<string>();
      createInterface({ input: journal.stdout }).on("line", (line) => lines.add(line));
      try {
        return await lines.waitFor(fits, 60_000);
      } finally {
        journal.kill("SIGKILL");
      }
    },
    [Symbol.asyncDispose]: stop,
  };
}

/** Resolves once systemd answers that all is started. */
async function isUp(run: Systemd["run"], said: () => string, ended: Promise<unknown>): Promise<void> {
  let over = false;
  void ended.then(() => {
    over = true;
  });
  const endMs = performance.now() + 60_000;
  for (;;) {
    if (over || performance.now() > endMs) throw new Error(`systemd does not start:\n${said()}`);
    const { stdout } = await run(["systemctl", "is-system-running", "--wait"]);
    if (/^(?:running|degraded)$/m.test(stdout)) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** The kernel empties a control group some time after the end of its processes. */
async function removeCgroup(folder: string): Promise<void> {
  for (let tries = 0; tries < 100 && existsSync(folder); tries++) {
    try {
      const below = readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((one) => one.isDirectory())
        .map((one) => path.join(one.parentPath, one.name));
      for (const one of [...below.sort().reverse(), folder])
        execFileSync("rmdir", [one], { stdio: "ignore" });
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}
