/** `perpwatch history restore`: replaces the database by a backup. */
import type { Command } from "commander";
import { type Cli, CommandFailed, type CommonOptions, declare, print, printJson } from "../../command.ts";
import { locate } from "../../configuration.ts";
import { ask } from "../../daemon.ts";
import { progressOn } from "./backup.ts";

export function restoreCommand(parent: Command, cli: Cli): void {
  declare(parent, {
    usage: "restore <file>",
    summary: "put a backup where the database is; what was there is kept beside it",
    about:
      "Refused while the daemon runs. The backup is checked first; where it is not whole, nothing is changed.",
    examples: ["history restore ./perpwatch-backup.db"],
  }).action((file: string, options: CommonOptions) => run(cli, file, options));
}

async function run(cli: Cli, file: string, options: CommonOptions): Promise<void> {
  const place = await locate(cli, options.config);
  const answer = await ask(place, "GET", "/healthz");
  if (answer.kind === "answered")
    throw new CommandFailed("the daemon is running: stop it first, then restore, then start it again", 1, {
      running: true,
    });
  const { restoreDatabase } = await import("../../../history/index.ts");
  const restored = await restoreDatabase(place.databasePath, file, Date.now(), progressOn(cli));
  if (options.json) return printJson(cli, restored);
  print(cli, `${restored.file} is the backup now`);
  print(
    cli,
    "tokens and sessions of the page are not taken over: make new ones (`perpwatch token new`, `perpwatch page`)",
  );
  if (restored.aside !== null) print(cli, `what was there is kept as ${restored.aside}`);
}
