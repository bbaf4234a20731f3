/** Children of the benchmark: each part runs alone in a process, on a core of its own where that can be had. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";

export interface Started {
  readonly child: ChildProcess;
  /** Resolves with the first line that it prints. */
  readonly line: Promise<string>;
}

/** @param core null: wherever there is room  @param args the script's path first */
export function start(args: readonly string[], core: number | null): Started {
  const node = [process.execPath, "--disable-warning=ExperimentalWarning", ...args];
  const [program = "", ...rest] = core === null ? node : ["taskset", "-c", String(core), ...node];
  const child = spawn(program, rest, { stdio: ["ignore", "pipe", "inherit", "ipc"] });
  return { child, line: firstLine(child) };
}

async function firstLine(child: ChildProcess): Promise<string> {
  let text = "";
  for await (const chunk of child.stdout ?? []) {
    text += String(chunk);
    if (text.includes("\n")) return text.slice(0, text.indexOf("\n"));
  }
  throw new Error(`${child.spawnargs.join(" ")} ended without a word`);
}

/** Runs one part to its end. @returns what it printed, a JSON value in one line */
export async function measured<T>(args: readonly string[], core: number | null): Promise<T> {
  const { child, line } = start(args, core);
  const ended = once(child, "exit");
  const text = await line;
  await ended;
  return JSON.parse(text) as T;
}

export async function end({ child }: Started): Promise<void> {
  const ended = once(child, "exit");
  child.disconnect();
  await ended;
}
