/** `perpwatch status`: what the daemon knows and how it is doing; without one, what it left. */
import type { Command } from "commander";
import type { Message } from "../../domain/alerts/delivery.ts";
import type { Silence } from "../../domain/alerts/silence.ts";
import type { FiringAlert } from "../../domain/status.ts";
import { formatTime } from "../../domain/text/time-text.ts";
import type { Unit } from "../../rules/vocabulary/field-types.ts";
import type { WireNumber } from "../../web/wire.ts";
import { type Cli, type CommonOptions, declare, print, printJson } from "../command.ts";
import { locate, type Place } from "../configuration.ts";
import { ask } from "../daemon.ts";
import { withHistory } from "../history-reading.ts";
import { ago, counted, type Paint, paintFor } from "../terminal/print.ts";
import { silenceTable } from "./silence.ts";
import { type Show, type Status, type Time, timeText } from "./status/answer.ts";
import { channelTable, scheduleTable, streamTable, stretchedLine } from "./status/connections.ts";
import { accountTable, positionTable, walletTable, whyNoPnl } from "./status/holdings.ts";
import { firingTable, noDataTable, pendingTable, ruleTable } from "./status/judgements.ts";
import { footer, headline } from "./status/summary-lines.ts";

export function statusCommand(program: Command, cli: Cli): void {
  declare(program, {
    usage: "status",
    summary: "wallets, sessions, positions, schedules, firing alerts, outbox, database",
    about: "Without a running daemon it prints what its database holds, and exits 1.",
    examples: ["status", "status --json"],
  }).action((options: CommonOptions) => status(cli, options));
}

async function status(cli: Cli, options: CommonOptions): Promise<void> {
  const place = await locate(cli, options.config);
  const answer = await ask<Status>(place, "GET", "/api/v1/status");
  if (answer.kind === "noDaemon") return left(cli, options, place);
  const known = await ask<{ silences: readonly Silence[] }>(place, "GET", "/api/v1/silences");
  const all = known.kind === "noDaemon" ? [] : known.body.silences;
  const silences = all.filter(({ endsMs }) => endsMs > Number(answer.body.nowMs));
  if (options.json) return printJson(cli, { running: true, ...answer.body, silences });
  const { formatNumber } = await import("../../rules/format.ts");
  const show = (value: WireNumber | null | undefined, unit: Unit) =>
    value === null || value === undefined ? "–" : formatNumber(Number(value), unit);
  const paint = paintFor(cli.out);
  const { timezone } = place;
  const time = (ms: number) => timeText(ms, Number(answer.body.nowMs), timezone);
  const silenced =
    silences.length === 0 ? null : await silenceTable(silences, Number(answer.body.nowMs), paint);
  print(cli, sections(answer.body, paint, show, time, silenced).join("\n\n"));
}

/** @param silenced the silences that are not over; null: there are none */
function sections(status: Status, paint: Paint, show: Show, time: Time, silenced: string | null): string[] {
  const titled = (title: string, body: string) => `${paint("bold", title)}\n${body}`;
  const { watch, channels, schedules } = status;
  const parts = [
    headline(status, paint, time),
    titled("Wallets", walletTable(status, paint, show) + whyNoPnl(status, paint)),
    titled("Accounts", accountTable(status, paint, show)),
  ];
  const positions = positionTable(status, paint, show);
  parts.push(positions === null ? "No open positions." : titled("Positions", positions));
  const firing = watch.firing as readonly FiringAlert[];
  parts.push(
    firing.length === 0
      ? paint("green", "No alert is firing.")
      : titled("Firing", firingTable(firing, Number(status.nowMs), paint, time)),
  );
  if (watch.shadow.length > 0)
    parts.push(
      `${counted(watch.shadow.length, "alert")} of rules in shadow mode, sent to nobody: alerts --firing --shadow lists them.`,
    );
  if (silenced !== null) parts.push(titled("Silences", silenced));
  if (watch.pending.length > 0) parts.push(titled("Pending", pendingTable(status, paint)));
  const rules = ruleTable(status, paint);
  if (rules !== null) parts.push(titled("Rules that cannot judge everything", rules));
  if (watch.blind.length > 0) parts.push(titled("No data", noDataTable(status, paint)));
  if (channels.length > 0) parts.push(titled("Outbox", channelTable(status, paint)));
  if (schedules.length > 0)
    parts.push(titled("Schedules", scheduleTable(status, paint) + stretchedLine(status, paint)));
  if (status.streams) parts.push(titled("Streams", streamTable(status, paint)));
  parts.push(footer(status, show, paint, time));
  return parts;
}

/** No daemon: alerts that were firing, messages that were owed. */
async function left(cli: Cli, options: CommonOptions, place: Place): Promise<void> {
  const past = await withHistory(cli, place, async (history) => ({
    running: false as const,
    lastAliveMs: await history.lastAliveMs(),
    firing: await history.alerts({ state: "firing", shadow: false, limit: 1_000 }),
    owed: (await history.deliveryItems({ open: true })).length,
    messages: await history.messages({ open: true }),
    acknowledgements: (await history.acknowledgements({ open: true })).length,
    database: { path: place.databasePath, bytes: await history.sizeBytes() },
  }));
  cli.status = 1;
  if (options.json) return printJson(cli, past);
  const { formatNumber } = await import("../../rules/format.ts");
  const time = (ms: number) => formatTime(ms, place.timezone);
  const paint = paintFor(cli.out);
  const nowMs = Date.now();
  const { lastAliveMs, firing, messages, owed } = past;
  const last =
    lastAliveMs === null ? "never" : `${formatTime(lastAliveMs, place.timezone)}, ${ago(lastAliveMs, nowMs)}`;
  print(cli, `last written: ${last}`);
  print(
    cli,
    `outbox: ${counted(owed, "item")} owed, ${counted(messages.length, "message")} not delivered${failing(messages)}`,
  );
  print(cli, `acknowledgements: ${past.acknowledgements} not finished`);
  print(cli, `database: ${place.databasePath}, ${formatNumber(past.database.bytes, "bytes")}`);
  if (firing.length === 0) print(cli, "\nNo alert was firing.");
  else print(cli, `\n${paint("bold", "Firing when it stopped")}\n${firingTable(firing, nowMs, paint, time)}`);
}

function failing(messages: readonly Message[]): string {
  const reasons = [...new Set(messages.flatMap((message) => message.lastFailure ?? []))];
  return reasons.length === 0 ? "" : ` (${reasons.join(", ")})`;
}
