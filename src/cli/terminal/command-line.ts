/** The form of the command line in this process, so that commands in messages work where this process runs. */
import path from "node:path";
import { shellWord } from "../../files/index.ts";
import type { Cli } from "../command.ts";

/** Turns `alerts ack 17` into the complete command to type. */
export type CommandLine = (words: string) => string;

/** @param config the configuration that was named; null: commands find it as this one did, from the same folder */
export function commandLineOf(cli: Pick<Cli, "env">, config: string | null): CommandLine {
  const program = programOf(cli.env);
  const where = config === null ? "" : ` --config ${shellWord(path.resolve(config))}`;
  return (words) => `${program} ${words}${where}`;
}

function programOf(env: Cli["env"]): string {
  const byNpm =
    env.npm_package_name === "perpwatch" && /^(start|perpwatch)$/.test(env.npm_lifecycle_event ?? "");
  if (byNpm) return "npm run -s perpwatch --";
  // The launcher passes the name that it was called by; without it this is the program itself, run by Node.
  return env.PERPWATCH_CALLED ?? `node ${shellWord(process.argv[1] ?? "perpwatch")}`;
}
