/** `perpwatch history`: the stored data, and its database file. Each command has its own file. */
import type { Command } from "commander";
import { type Cli, declareGroup } from "../command.ts";
import { backupCommand } from "./history/backup.ts";
import { compactCommand } from "./history/compact.ts";
import { eventsCommand } from "./history/events.ts";
import { exportCommand } from "./history/export.ts";
import { queryCommand } from "./history/query.ts";
import { restoreCommand } from "./history/restore.ts";

export function historyCommand(program: Command, cli: Cli): void {
  const group = declareGroup(
    program,
    "history",
    "look at what was seen, export it, back it up, put it back",
    [
      "history query",
      "history query 'market[SOL].markPrice' --since 1d",
      "history export --series trader.equity --since 7d --format csv --out equity.csv",
      "history backup ./perpwatch-backup.db",
    ],
  );
  queryCommand(group, cli);
  exportCommand(group, cli);
  eventsCommand(group, cli);
  compactCommand(group, cli);
  backupCommand(group, cli);
  restoreCommand(group, cli);
}
