/** `perpwatch history compact`: returns free space in the database to the disk, also while the daemon runs. */
import type { Command } from "commander";
import type { Compacted } from "../../../domain/stored/history.ts";
import { formatNumber } from "../../../rules/format.ts";
import { type Cli, type CommonOptions, declare, hint, print, printJson } from "../../command.ts";
import { locate } from "../../configuration.ts";
import { ask } from "../../daemon.ts";

const turnMs = 5_000;

export function compactCommand(parent: Command, cli: Cli): void {
  declare(parent, {
    usage: "compact",
    summary: "give free space in the database back to the disk",
    about: "In slices, through the daemon where one runs: it goes on watching meanwhile.",
    examples: ["history compact"],
  }).action((options: CommonOptions) => run(cli, options));
}

async function run(cli: Cli, options: CommonOptions): Promise<void> {
  const place = await locate(cli, options.config);
  const first = await ask<Compacted>(place, "POST", "/api/v1/history/compact");
  const running = first.kind === "answered";
  let freedBytes = 0;
  const take = (turn: Compacted): boolean => {
    freedBytes += turn.freedBytes;
    if (!turn.finished) hint(cli, `${formatNumber(turn.leftBytes, "bytes")} to go`);
    return turn.finished;
  };
  if (running) {
    let finished = take(first.body);
    while (!finished) {
      const next = await ask<Compacted>(place, "POST", "/api/v1/history/compact");
      // The daemon was stopped meanwhile: the rest remains for the next run.
      if (next.kind === "noDaemon") break;
      finished = take(next.body);
    }
  } else {
    const { openStore } = await import("../../../history/index.ts");
    const store = openStore({ path: place.databasePath });
    try {
      while (!take(await store.compact(turnMs)));
    } finally {
      await store.close();
    }
  }
  if (options.json) printJson(cli, { running, freedBytes });
  else
    print(
      cli,
      freedBytes === 0
        ? "There was nothing to give back."
        : `${formatNumber(freedBytes, "bytes")} given back to the disk.`,
    );
}
