/** `perpwatch drill`: tests through the running daemon that an alarm reaches every channel. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Command } from "commander";
import { type Receipt, receiptsOf } from "../../domain/alerts/receipt.ts";
import type { AlertStory } from "../../domain/ports.ts";
import { formatDurationMs } from "../../domain/text/duration.ts";
import { formatTime } from "../../domain/text/time-text.ts";
import { type Cli, CommandFailed, type CommonOptions, declare, hint, print, printJson } from "../command.ts";
import { locate, type Place } from "../configuration.ts";
import { ask, askAbout, noDaemon } from "../daemon.ts";
import { receiptTable } from "../receipts.ts";
import { paintFor } from "../terminal/print.ts";
import { userName } from "../terminal/user-name.ts";
import { durationFrom } from "../terminal/values.ts";

interface DrillOptions extends CommonOptions {
  readonly channel?: readonly string[];
  readonly within?: number;
}

interface StartedDrill {
  readonly alertId: number;
  readonly channels: readonly string[];
  readonly withinMs: number;
}

const pollMs = 200;

export function drillCommand(program: Command, cli: Cli): void {
  declare(program, {
    usage: "drill",
    summary: "fire drill: send a marked, made-up liquidation through the whole path to every channel",
    about:
      "It goes the way of a real one (event, rule, alert, pending, finalized, delivered) to every channel, whatever the routes,\n" +
      "silences and mute times say, and mentions whom a critical alert mentions. Each message says that it is a drill.\n" +
      "Prints the receipts; exits 1 when a channel did not take it in time, and names it. The configuration's `drill:`\n" +
      "runs one on a schedule.",
    examples: ["drill", "drill --channel chat --channel mail --within 20s"],
  })
    .option("--channel <name>", "only to this one; may be given several times; default: all", collect)
    .option("--within <duration>", "how long a channel may take; default: drill.within", durationFrom)
    .action((options: DrillOptions) => drill(cli, options));
}

function collect(name: string, before: readonly string[] = []): readonly string[] {
  return [...before, name];
}

async function drill(cli: Cli, options: DrillOptions): Promise<void> {
  const place = await locate(cli, options.config);
  const started = await begin(cli, place, options);
  const withinMs = options.within ?? started.withinMs;
  if (!options.json)
    hint(cli, `Drill #${started.alertId} is on its way to ${started.channels.join(", ")}; waiting for each.`);
  const story = await waitForDelivery(place, started, withinMs);
  const receipts = receiptsOf(story);
  const results = started.channels.map((channel) => resultOf(channel, story, receipts, withinMs));
  const failed = results.filter(({ failure }) => failure !== null);
  if (failed.length > 0) cli.status = 1;
  if (options.json)
    return printJson(cli, { alertId: started.alertId, withinMs, channels: results, receipts });
  const paint = paintFor(cli.out);
  print(
    cli,
    receiptTable(receipts, (ms) => formatTime(ms, place.timezone), paint),
  );
  print(cli, "");
  for (const { channel, failure, tookMs, receipt } of results)
    print(
      cli,
      failure === null
        ? `${channel} ${paint("green", "took it")} in ${formatDurationMs(tookMs ?? 0)}: ${receipt ?? ""}`
        : paint("red", `${channel} did not take it ${failure}`),
    );
}

async function begin(cli: Cli, place: Place, { channel = [] }: DrillOptions): Promise<StartedDrill> {
  const asking = ask<StartedDrill>(place, "POST", "/api/v1/drill", { channels: channel, by: userName(cli) });
  const [only, ...others] = channel;
  const named = only !== undefined && others.length === 0;
  const answer = await (named ? askAbout(place, "channel", only, asking) : asking);
  if (answer.kind === "noDaemon") throw noDaemon(place);
  return answer.body;
}

/** @returns the alert once each channel took it or gave it up, or time is over */
async function waitForDelivery(
  place: Place,
  { alertId }: StartedDrill,
  withinMs: number,
): Promise<AlertStory> {
  const endMs = performance.now() + withinMs;
  for (;;) {
    const answer = await ask<AlertStory>(place, "GET", `/api/v1/alerts/${alertId}`);
    if (answer.kind === "noDaemon") throw new CommandFailed("the daemon ended during the drill");
    const open = answer.body.owed.some(({ status }) => status === "owed" || status === "sealed");
    const leftMs = endMs - performance.now();
    if (!open || leftMs <= 0) return answer.body;
    await sleep(Math.min(pollMs, leftMs));
  }
}

interface Result {
  readonly channel: string;
  /** For people: `within 20s: unreachable, …`; null: it was taken. */
  readonly failure: string | null;
  /** The time since the alert fired, ms. */
  readonly tookMs: number | null;
  readonly receipt: string | null;
}

function resultOf(
  channel: string,
  { owed, messages, alert }: AlertStory,
  receipts: readonly Receipt[],
  withinMs: number,
): Result {
  const item = owed.find(({ receiver }) => receiver === channel);
  const message = messages.find(({ id }) => id === item?.messageId);
  const why = message?.lastFailure ? `: ${message.lastFailure}, ${message.lastDetail ?? ""}` : "";
  const receipt = receipts.find(({ receiver }) => receiver === channel);
  const acceptedMs = receipt?.atMs.accepted ?? null;
  if (item?.status === "delivered" && acceptedMs !== null)
    return {
      channel,
      failure: null,
      tookMs: acceptedMs - alert.firedAtMs,
      receipt: receipt?.receipt ?? null,
    };
  const how = item?.status === "dead" ? "and it was given up" : `within ${formatDurationMs(withinMs)}`;
  return { channel, failure: how + why, tookMs: null, receipt: null };
}
