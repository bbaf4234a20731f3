/**
 * The program in a terminal of its own, as someone starts it who then closes the window.
 *
 *   await using terminal = startInTerminal(["start"], { folder });
 *   await terminal.line((line) => line.includes("watching"));
 *   terminal.close();
 *
 * Python's `pty` makes the terminal: Node has none.
 */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { Watched } from "./wait.ts";

const main = fileURLToPath(new URL("../../src/main.ts", import.meta.url));

/** Runs argv as the leader of a terminal's session, prints what it writes, closes the terminal when told to. */
const host = `
import os, pty, select, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
print("pid", pid, flush=True)
while True:
    ready = select.select([terminal, 0], [], [])[0]
    if 0 in ready:
        os.read(0, 100)
        break
    try:
        text = os.read(terminal, 65536)
    except OSError:
        break
    sys.stdout.buffer.write(text)
    sys.stdout.flush()
os.close(terminal)
print("\\nclosed", flush=True)
status = os.waitpid(pid, 0)[1]
print("\\nstatus", os.waitstatus_to_exitcode(status), flush=True)
`;

export interface Terminal extends AsyncDisposable {
  readonly lines: readonly string[];
  /** The first line that fits, printed already or later. */
  line(fits: (line: string) => boolean): Promise<string>;
  /** Closes the terminal: its programs have got SIGHUP then, and every further write to it fails with EIO. */
  close(): Promise<void>;
  kill(signal: NodeJS.Signals): void;
  /** The program's exit status, or the signal that ended it, negative. */
  readonly status: Promise<number>;
}

export interface TerminalOptions {
  readonly folder: string;
  /** The program. Default: `perpwatch`. */
  readonly file?: string;
  /** Default: no more than a program needs to run at all. */
  readonly env?: Readonly<Record<string, string>>;
}

const plainEnv = { PATH: process.env.PATH ?? "", HOME: process.env.HOME ?? "", TZ: "UTC", TERM: "xterm" };

export function startInTerminal(
  args: readonly string[],
  { folder, file = main, env = plainEnv }: TerminalOptions,
): Terminal {
  const child = spawn("python3", ["-c", host, process.execPath, file, ...args], {
    stdio: ["pipe", "pipe", "inherit"],
    cwd: folder,
    env,
  });
  const lines = new Watched<string>();
  createInterface({ input: child.stdout }).on("line", (line) => lines.add(line));
  const numberAfter = async (word: string) => {
    const line = await lines.waitFor((one) => one.startsWith(`${word} `), 120_000);
    return Number(line.slice(word.length));
  };
  const pid = numberAfter("pid");
  const status = numberAfter("status");
  status.catch(() => {});
  const kill = async (signal: NodeJS.Signals) => {
    try {
      process.kill(await pid, signal);
    } catch {
      // It has ended.
    }
  };
  return {
    lines: lines.items,
    line: (fits) => lines.waitFor(fits, 40_000),
    close: async () => {
      child.stdin.end("x");
      await lines.waitFor((line) => line === "closed", 40_000);
    },
    kill: (signal) => void kill(signal),
    status,
    async [Symbol.asyncDispose]() {
      const ended = new Promise((resolve) => child.once("close", resolve));
      if (child.exitCode !== null) return;
      await kill("SIGKILL");
      await ended;
    },
  };
}
