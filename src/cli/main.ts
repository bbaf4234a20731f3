/** The command line: one file a command, each registered here. */
import { readFileSync } from "node:fs";
import { Command, CommanderError } from "commander";

/**
 * Runs one command.
 * @param argv what follows the program's name
 * @returns the exit status: 0 done, 1 tried and failed, 2 wrong use, configuration or rules
 */
export async function main(argv: readonly string[]): Promise<number> {
  const program = new Command("perpwatch")
    .description("Watches leveraged perpetual-futures positions and alerts by your rules.")
    .version(packageVersion())
    .exitOverride()
    .helpOption("-h, --help", "show this help");
  try {
    await program.parseAsync(argv, { from: "user" });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    throw error;
  }
}

/** Read, not imported: the manifest lies outside src/ and would be compiled along. */
function packageVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  const version = (manifest as { version?: unknown }).version;
  return typeof version === "string" ? version : "unknown";
}
