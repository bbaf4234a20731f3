/**
 * The program in a terminal of its own, as someone starts it who then closes the window.
 *
 *   await using terminal = startInTerminal(["start"], { folder });
 *   await terminal.line((line) => line.includes("watching"));
 *   terminal.type("q");
 *   terminal.close();
 *
 * Python's `pty` makes the terminal: Node has none.
 */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { Watched } from "./wait.ts";

const main = fileURLToPath(new URL("../../src/main.ts", import.meta.url));

/**
 * Runs argv as the leader of a terminal's session, prints what it writes, types what it is given on standard input, tells of the
 * terminal's mode at a NUL, and closes the terminal at the end of standard input.
 */
const host = `
import os, pty, re, select, sys, termios
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
def tell_mode(word):
    local = termios.tcgetattr(terminal)[3]
    shows = [name for name in ("ECHO", "ICANON", "ISIG") if local & getattr(termios, name)]
    print("\\n" + word, *shows, flush=True)
print("pid", pid, flush=True)
while True:
    ready = select.select([terminal, 0], [], [])[0]
    if 0 in ready:
        typed = os.read(0, 65536)
        if typed == b"":
            break
        for part in re.split(b"(\\0)", typed):
            if part == b"\\0":
                tell_mode("mode")
            else:
                os.write(terminal, part)
        continue
    try:
        text = os.read(terminal, 65536)
    except OSError:
        tell_mode("left")
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
  /** Waits until this was printed, also where no line ends. */
  shown(text: string): Promise<void>;
  /** Types on its keyboard. No NUL. */
  type(text: string): void;
  /** The settings that are on, of ECHO, ICANON and ISIG; after the program's end those that it left. */
  mode(): Promise<string>;
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
  // Typed after the program's end: its terminal is gone.
  child.stdin.on("error", () => {});
  const lines = new Watched<string>();
  createInterface({ input: child.stdout }).on("line", (line) => lines.add(line));
  const printed = new Watched<{ text: string }>();
  const all = { text: "" };
  printed.add(all);
  child.stdout.on("data", (chunk: Buffer) => {
    all.text += chunk.toString("latin1");
    printed.changed();
  });
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
    shown: async (text) => void (await printed.waitFor((one) => one.text.includes(text), 40_000)),
    type: (text) => void child.stdin.write(text),
    async mode() {
      const before = lines.items.length;
      child.stdin.write("\0");
      const told = () =>
        lines.items.slice(before).find((line) => line.startsWith("mode")) ??
        lines.items.find((line) => line.startsWith("left"));
      await lines.waitFor(() => told() !== undefined, 40_000);
      return told()!.slice("mode ".length);
    },
    close: async () => {
      child.stdin.end();
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
