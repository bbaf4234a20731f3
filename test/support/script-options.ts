/** Options of scripts such as `npm run soak`: what cannot be used is told in a line, with status 2. */
import { type ParseArgsConfig, parseArgs } from "node:util";

/** Parses the options of this process. Prints `help` and ends it where `--help` is among them. */
export function scriptOptions<T extends ParseArgsConfig>(
  help: string,
  config: T,
): ReturnType<typeof parseArgs<T>> {
  if (process.argv.slice(2).some((one) => one === "--help" || one === "-h")) {
    console.log(help);
    process.exit(0);
  }
  try {
    return parseArgs(config);
  } catch (error) {
    refuse(error instanceof Error ? error.message : String(error));
  }
}

/** Ends the process: it cannot do what it was asked. */
export function refuse(problem: string): never {
  console.error(`${problem}\n--help shows what it takes`);
  process.exit(2);
}
