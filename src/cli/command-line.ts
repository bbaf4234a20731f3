/**
 * The form of the command line in this process: what a message may ask its reader to type has to work where this process
 * runs.
 */
import path from "node:path";
import { shellWord } from "../files/index.ts";
import type { Cli } from "./command.ts";

/** `alerts ack 17` → all that has to be typed. */
export type CommandLine = (words: string) => string;

/** @param config the configuration that was named, else null: commands then find it as this one did, from this folder */
export function commandLineOf(cli: Pick<Cli, "env">, config: string | null): CommandLine {
  const program = programOf(cli.env);
  const where = config === null ? "" : ` --config ${shellWord(path.resolve(config))}`;
  return (words) => `${program} ${words}${where}`;
}

function programOf(env: Cli["env"]): string {
  const byNpm =
    env.npm_package_name === "perpwatch" && /^(start|perpwatch)$/.test(env.npm_lifecycle_event ?? "");
  if (byNpm) return "npm run -s perpwatch --";
  // The launcher says as what it was called; without it this is the program itself, under a Node.
  return env.PERPWATCH_CALLED ?? `node ${shellWord(process.argv[1] ?? "perpwatch")}`;
}
