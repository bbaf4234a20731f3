/**
 * The program as a process of its own: what it printed, line by line, and how it ended.
 *
 *   await using daemon = startProgram(["start", "--config", file], { env: { DISCORD_TOKEN: … } });
 *   await daemon.line((line) => line.includes("watching"));
 *   expect(await daemon.end("SIGTERM")).toEqual({ status: 0, signal: null });
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { Watched } from "./wait.ts";

const main = fileURLToPath(new URL("../../src/main.ts", import.meta.url));

export interface Ended {
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface Program extends AsyncDisposable {
  /** The first line of either output that fits, printed already or later. */
  line(fits: (line: string) => boolean, timeoutMs?: number): Promise<string>;
  readonly stdout: readonly string[];
  readonly stderr: readonly string[];
  readonly pid: number;
  readonly ended: Promise<Ended>;
  /** Stops reading both outputs: every further write to them fails with EPIPE. */
  deafen(): void;
  /** Sends a signal and waits for the end. */
  end(signal: NodeJS.Signals): Promise<Ended>;
}

export interface ProgramOptions {
  /** Besides what a program needs to run at all; nothing else of this process is handed on. */
  readonly env?: Readonly<Record<string, string>>;
  readonly folder?: string;
  /** Another user, whom root runs it as. */
  readonly uid?: number;
  readonly gid?: number;
  /** It may dump core. */
  readonly cores?: boolean;
}

/** Runs `perpwatch` with these arguments. */
export function startProgram(
  args: readonly string[],
  { env = {}, folder, uid, gid, cores = false }: ProgramOptions = {},
): Program {
  const command = [process.execPath, main, ...args];
  const withCores = ["/bin/sh", "-c", 'ulimit -S -c unlimited; exec "$0" "$@"'];
  const [program, ...words] = cores ? [...withCores, ...command] : command;
  const child = spawn(program!, words, {
    stdio: ["ignore", "pipe", "pipe"],
    env: { PATH: process.env.PATH ?? "", HOME: process.env.HOME ?? "", TZ: "UTC", ...env },
    ...(folder === undefined ? {} : { cwd: folder }),
    ...(uid === undefined ? {} : { uid }),
    ...(gid === undefined ? {} : { gid }),
  });
  const lines = new Watched<string>();
  const stdout = linesOf(child.stdout, lines);
  const stderr = linesOf(child.stderr, lines);
  const ended = endOf(child);
  return {
    pid: child.pid ?? 0,
    async line(fits, timeoutMs = 40_000) {
      const over = ended.then(({ status, signal }) => {
        const found = lines.items.find(fits);
        if (found !== undefined) return found;
        throw new Error(`it ended (${status ?? signal}) before that line:\n  ${lines.items.join("\n  ")}`);
      });
      over.catch(() => {});
      return Promise.race([lines.waitFor(fits, timeoutMs), over]);
    },
    stdout,
    stderr,
    ended,
    deafen() {
      child.stdout.destroy();
      child.stderr.destroy();
    },
    end(signal) {
      child.kill(signal);
      return ended;
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

function linesOf(stream: Readable, all: Watched<string>): string[] {
  const own: string[] = [];
  createInterface({ input: stream }).on("line", (line) => {
    own.push(line);
    all.add(line);
  });
  return own;
}

/** Resolves when it ended and all that it printed was read. */
function endOf(child: ChildProcess): Promise<Ended> {
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (status, signal) => resolve({ status, signal }));
  });
}
