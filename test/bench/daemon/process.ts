/** Children of the benchmark: each part runs alone in a process, on a core of its own where that can be had. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { daemonEnvironment, daemonFlags } from "../../../launch.mjs";

const root = path.join(import.meta.dirname, "..", "..", "..");

export interface Started {
  readonly child: ChildProcess;
  /** Resolves with the first line that it prints. */
  readonly line: Promise<string>;
}

/** @param core null: wherever there is room  @param args the script's path first */
export function start(args: readonly string[], core: number | null): Started {
  const child = spawned(args, core);
  return { child, line: firstLine(child) };
}

function spawned(args: readonly string[], core: number | null): ChildProcess {
  // As the launcher starts a daemon.
  const node = [process.execPath, "--disable-warning=ExperimentalWarning", ...daemonFlags, ...args];
  const [program = "", ...rest] = core === null ? node : ["taskset", "-c", String(core), ...node];
  // As src/main.ts does: what was compiled once is kept.
  const env = {
    ...daemonEnvironment(process.env),
    NODE_COMPILE_CACHE: path.join(root, ".runtime", "compiled"),
  };
  return spawn(program, rest, { stdio: ["ignore", "pipe", "inherit", "ipc"], env });
}

async function firstLine(child: ChildProcess): Promise<string> {
  let text = "";
  for await (const chunk of child.stdout ?? []) {
    text += String(chunk);
    if (text.includes("\n")) return text.slice(0, text.indexOf("\n"));
  }
  throw new Error(`${child.spawnargs.join(" ")} ended without a word`);
}

/** Runs one part to its end. @returns what it printed last, a JSON value in one line */
export async function measured<T>(args: readonly string[], core: number | null): Promise<T> {
  const child = spawned(args, core);
  const ended = once(child, "exit");
  let text = "";
  for await (const chunk of child.stdout ?? []) text += String(chunk);
  const [status] = await ended;
  if (status !== 0) throw new Error(`${child.spawnargs.join(" ")} ended with ${status}`);
  return JSON.parse(text.trimEnd().split("\n").at(-1) ?? "") as T;
}

export async function end({ child }: Started): Promise<void> {
  const ended = once(child, "exit");
  child.disconnect();
  await ended;
}
