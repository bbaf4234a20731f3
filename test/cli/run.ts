/**
 * Runs perpwatch commands to their end: `run` in this process, which is fast; `runProcess` in a process of its own, for
 * the behaviour of processes (the complete daemon, its exit, standard streams that are pipes).
 */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { PassThrough, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import type { Cli } from "../../src/cli/command.ts";
import { runCommand } from "../../src/cli/main.ts";

const main = fileURLToPath(new URL("../../src/main.ts", import.meta.url));

export interface Ran {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Parses stdout. */
  json(): unknown;
}

/** Root runs the process as this user. */
interface ProcessOptions extends RunOptions {
  readonly uid?: number;
  readonly gid?: number;
}

export interface RunOptions {
  /** The working folder. */
  readonly folder?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
  /** Columns of the output, as of a terminal. Default: it is no terminal. */
  readonly columns?: number;
}

const environment = { PATH: process.env.PATH ?? "", HOME: process.env.HOME ?? "", TZ: "UTC" };

/**
 * Runs a command in this process. The working folder is the process's own, so commands in different folders wait for
 * each other; TZ has to be the one of the test run.
 */
export async function run(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const { folder = tmpdir(), env = {}, input = "", columns } = options;
  if (env.TZ !== undefined) throw new Error("the time zone of this process is fixed: use runProcess");
  const [stdin, stdout, stderr] = [new PassThrough(), new Collected(), new Collected()];
  stdin.end(input);
  const cli: Cli = {
    in: stdin as unknown as NodeJS.ReadStream,
    out: Object.assign(stdout, { columns }) as unknown as NodeJS.WriteStream,
    err: stderr as unknown as Cli["err"],
    env: { ...environment, PERPWATCH_CALLED: `node ${main}`, ...env },
    status: 0,
  };
  const leave = await enter(folder);
  try {
    await runCommand(args, cli);
  } finally {
    leave();
  }
  return ranWith(cli.status, stdout.text(), stderr.text());
}

/** Runs a command as a process of its own. */
export function runProcess(args: readonly string[], options: ProcessOptions = {}): Promise<Ran> {
  const { folder = tmpdir(), env = {}, input = "", uid, gid } = options;
  const user = { ...(uid === undefined ? {} : { uid }), ...(gid === undefined ? {} : { gid }) };
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [main, ...args], {
      ...{ cwd: folder, env: { ...environment, ...env } },
      ...user,
    });
    let [stdout, stderr] = ["", ""];
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    // A command that reads nothing may end before the input is written.
    child.stdin.on("error", () => {});
    child.stdin.end(input);
    child.once("error", reject);
    child.once("close", (status) => resolve(ranWith(status, stdout, stderr)));
  });
}

function ranWith(status: number | null, stdout: string, stderr: string): Ran {
  return { status, stdout, stderr, json: () => JSON.parse(stdout) as unknown };
}

/** A stream that is no terminal and collects everything written to it. */
class Collected extends Writable {
  readonly #chunks: Buffer[] = [];

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#chunks.push(chunk);
    done();
  }

  text(): string {
    return Buffer.concat(this.#chunks).toString();
  }
}

/** The present working folder of commands, with their number, and those that wait for another folder. */
let inside: { readonly folder: string; readonly back: string; count: number; left: Promise<void> } | null =
  null;

/**
 * Changes the working folder as soon as no command uses another one.
 * @returns a function that releases it
 */
async function enter(folder: string): Promise<() => void> {
  while (inside !== null && inside.folder !== folder) await inside.left;
  const left = Promise.withResolvers<void>();
  inside ??= { folder, back: process.cwd(), count: 0, left: left.promise };
  const here = inside;
  here.count++;
  process.chdir(folder);
  return () => {
    here.count--;
    if (here.count > 0) return;
    process.chdir(here.back);
    inside = null;
    left.resolve();
  };
}

export interface Desk extends Disposable {
  readonly folder: string;
  /** Writes a file below the folder. */
  write(name: string, text: string, mode?: number): string;
}

/** A folder of its own, removed at the end of the scope. */
export function desk(): Desk {
  const folder = mkdtempSync(path.join(tmpdir(), "perpwatch-cli-"));
  return {
    folder,
    write(name, text, mode = 0o600) {
      const file = path.join(folder, name);
      writeFileSync(file, text, { mode });
      return file;
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** A valid configuration without network access. */
export const plainConfig = `
wallets:
  - { name: main, authority: 8Xk4b2nUo7QwqVf3mT1pZr6cYh5dLs9eJg2aNu4iRt7K }
channels: { here: { type: console } }
history: { path: ./perpwatch }
dashboard: { listen: off }
`;
