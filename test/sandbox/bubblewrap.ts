/**
 * Runs a program in the sandbox that a unit of deploy/ describes, made by bubblewrap instead of systemd: for machines on which no
 * systemd runs. Its paths are those of a service: /var/lib/NAME is a folder of the test's, /run/config holds the configuration.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { Watched } from "../support/wait.ts";
import { filterProgram } from "./seccomp.ts";

export const root = path.join(import.meta.dirname, "..", "..");

/** Settings of a unit → options of bubblewrap. */
const asOptions: Readonly<Record<string, readonly string[]>> = {
  "ProtectSystem=strict": ["--ro-bind", "/", "/"],
  "PrivateTmp=yes": ["--tmpfs", "/tmp", "--tmpfs", "/var/tmp"],
  "ProtectHome=yes": ["--tmpfs", "/home", "--tmpfs", "/root"],
  "PrivateDevices=yes": ["--dev", "/dev"],
  "PrivateUsers=yes": ["--unshare-user", "--uid", "1000", "--gid", "1000"],
  "PrivateIPC=yes": ["--unshare-ipc"],
  "PrivateNetwork=yes": ["--unshare-net"],
  "ProtectProc=invisible": ["--unshare-pid", "--proc", "/proc"],
  "ProtectHostname=yes": ["--unshare-uts"],
  "ProtectControlGroups=yes": ["--unshare-cgroup-try"],
  "CapabilityBoundingSet=": ["--cap-drop", "ALL"],
};

/** Settings that hold by another way here: which one. */
const otherwise: Readonly<Record<string, string>> = {
  NoNewPrivileges: "bubblewrap always sets it",
  PrivateMounts: "a mount namespace is its own",
  AmbientCapabilities: "all capabilities are dropped",
  LimitCORE: "ulimit -c 0",
  SystemCallFilter: "the filter of seccomp.ts",
  SystemCallErrorNumber: "the filter of seccomp.ts",
  SystemCallArchitectures: "the filter of seccomp.ts",
  RestrictAddressFamilies: "the filter of seccomp.ts",
  RestrictNamespaces: "the filter of seccomp.ts",
  RestrictRealtime: "@resources is filtered, which has its calls",
  DevicePolicy: "/dev is its own",
  IPAddressDeny: "there is no network",
  ProtectClock: "no capability, and its calls are filtered",
  ProtectKernelLogs: "no capability",
  ProtectKernelModules: "no capability, and its calls are filtered",
  ProtectKernelTunables: "no capability, and another user than root's",
};

/** Settings of the sandbox that bubblewrap cannot make. */
const missing = [
  ...["ProcSubset", "KeyringMode", "LockPersonality", "RemoveIPC", "RestrictSUIDSGID"],
  ...["CoredumpFilter", "MemorySwapMax", "UMask"],
];

const sandboxForm =
  /^(Protect|Private|Restrict|SystemCall|Capab|Ambient|NoNew|Lock|Remove|IPAddress|Device|Keyring|ProcSubset|Limit|Core|Memory|UMask)/;

/** A unit's lines `Name=value`. */
export function linesOf(unit: string): readonly string[] {
  return readFileSync(path.join(root, "deploy", unit), "utf8")
    .split("\n")
    .filter((line) => /^[A-Z]\w*=/.test(line));
}

/** Settings of a unit's sandbox that are neither made here nor listed as missing. */
export function unknownSettings(unit: string): readonly string[] {
  return linesOf(unit).filter((line) => {
    const [name = ""] = line.split("=");
    return sandboxForm.test(name) && !(line in asOptions) && !(name in otherwise) && !missing.includes(name);
  });
}

export interface Sandboxed extends AsyncDisposable {
  /** The first line of either output that fits, printed already or later. */
  line(fits: (line: string) => boolean, timeoutMs?: number): Promise<string>;
  /** The process in the sandbox, by its id out here. */
  readonly pid: Promise<number>;
  readonly ended: Promise<number | null>;
}

export interface SandboxOptions {
  /** A file name in deploy/. */
  readonly unit: string;
  /** A folder with the folders `state` and `config`, which are made where they are not there, and room for the filter. */
  readonly folder: string;
  readonly command: readonly string[];
}

/** Starts a command in the sandbox of a unit. Its one folder to write in is /var/lib/NAME. */
export function startSandboxed({ unit, folder, command }: SandboxOptions): Sandboxed {
  const lines = linesOf(unit);
  const valuesOf = (name: string) =>
    lines.flatMap((line) => (line.startsWith(`${name}=`) ? [line.slice(name.length + 1)] : []));
  for (const name of ["state", "config"]) mkdirSync(path.join(folder, name), { recursive: true });
  const filter = path.join(folder, "filter");
  const families = valuesOf("RestrictAddressFamilies").flatMap((one) => one.split(" "));
  writeFileSync(filter, filterProgram({ callSets: valuesOf("SystemCallFilter"), families }));
  const [state] = valuesOf("StateDirectory");
  const options = [
    ...lines.flatMap((line) => (line === "PrivateUsers=yes" ? [] : (asOptions[line] ?? []))),
    ...["--tmpfs", "/run", "--tmpfs", "/var/lib"],
    ...["--ro-bind", path.join(folder, "config"), "/run/config"],
    ...["--bind", path.join(folder, "state"), `/var/lib/${state}`],
    // The program may lie below a folder that is hidden: BindReadOnlyPaths= of a rendered unit.
    ...["--ro-bind", root, root, "--ro-bind", process.execPath, process.execPath],
    ...["/run", "/var/lib", "/home", "/root"].flatMap((one) => ["--remount-ro", one]),
  ];
  const user = lines.includes("PrivateUsers=yes") ? asOptions["PrivateUsers=yes"]! : [];
  const own = ["--clearenv", "--setenv", "PATH", "/usr/bin:/bin", "--chdir", "/", "--new-session"];
  const process_ = ["--die-with-parent", "--as-pid-1", "--seccomp", "3", "--info-fd", "4"];
  const program = openSync(filter, "r");
  const child = spawn(
    "/bin/sh",
    [
      "-c",
      'ulimit -c 0; exec "$0" "$@"',
      "bwrap",
      ...user,
      ...ordered(options),
      ...own,
      ...process_,
      "--",
      ...command,
    ],
    { stdio: ["ignore", "pipe", "pipe", program, "pipe"] },
  );
  closeSync(program);
  return watched(child);
}

/** The root comes first: what is mounted later lies over it. */
function ordered(options: readonly string[]): readonly string[] {
  const at = options.indexOf("--ro-bind");
  return [...options.slice(at, at + 3), ...options.slice(0, at), ...options.slice(at + 3)];
}

function watched(child: ChildProcess): Sandboxed {
  const seen = new Watched<string>();
  for (const stream of [child.stdout!, child.stderr!])
    createInterface({ input: stream }).on("line", (line) => seen.add(line));
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  const pid = new Promise<number>((resolve, reject) => {
    let text = "";
    (child.stdio[4] as Readable).setEncoding("utf8").on("data", (part: string) => {
      text += part;
    });
    child.stdio[4]!.once("end", () => {
      const [, found] = /"child-pid": (\d+)/.exec(text) ?? [];
      if (found === undefined) reject(new Error(`bubblewrap did not start: ${seen.items.join("\n")}`));
      else resolve(Number(found));
    });
  });
  pid.catch(() => {});
  return {
    line(fits, timeoutMs = 40_000) {
      const over = ended.then((status) => {
        const found = seen.items.find(fits);
        if (found !== undefined) return found;
        throw new Error(`it ended (${status}) before that line:\n  ${seen.items.join("\n  ")}`);
      });
      over.catch(() => {});
      return Promise.race([seen.waitFor(fits, timeoutMs), over]);
    },
    pid,
    ended,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}
