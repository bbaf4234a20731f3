/** `perpwatch history backup`: a complete, checked copy of the database, also while the daemon runs. */
import type { Command } from "commander";
import { formatNumber } from "../../../rules/format.ts";
import { type Cli, type CommonOptions, declare, hint, print, printJson } from "../../command.ts";
import { locate } from "../../configuration.ts";

interface BackupOptions extends CommonOptions {
  readonly force?: boolean;
}

export function backupCommand(parent: Command, cli: Cli): void {
  declare(parent, {
    usage: "backup <file>",
    summary: "copy the database, as it is at this moment, into one file",
    about:
      "The daemon may run meanwhile. The copy is checked and written to the platter before it gets its name, and only its " +
      "owner may read it. `history restore` puts it back.",
    examples: ["history backup ./perpwatch-backup.db"],
  })
    .option("--force", "takes the place of a file that is there")
    .action((file: string, options: BackupOptions) => run(cli, file, options));
}

async function run(cli: Cli, file: string, options: BackupOptions): Promise<void> {
  const { databasePath } = await locate(cli, options.config);
  const { backupDatabase } = await import("../../../history/index.ts");
  const copied = await backupDatabase(databasePath, file, {
    force: options.force === true,
    onProgress: progressOn(cli),
  });
  if (options.json) printJson(cli, copied);
  else print(cli, `${copied.file}: ${formatNumber(copied.bytes, "bytes")}, checked`);
}

/** Writes a line to standard error at each tenth. */
export function progressOn(cli: Cli): (done: number) => void {
  let lastTenth = 0;
  return (done) => {
    const tenth = Math.floor(done * 10);
    if (tenth <= lastTenth) return;
    lastTenth = tenth;
    hint(cli, `${tenth * 10}% copied`);
  };
}
