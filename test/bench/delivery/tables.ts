/** The table of the cost and the duration of deliveries. */
import { table } from "../daemon/tables.ts";
import type { AcceptedResult } from "./accepted.ts";
import type { StormResult } from "./storm.ts";

const whole = (value: number): string => Math.round(value).toLocaleString("en-US");
const tenths = (value: number): string => value.toFixed(1);

export function acceptedTable({ channels }: AcceptedResult): string {
  return table(
    "A critical alert fires → accepted by the channel, nothing queued, loopback",
    ["channel", "samples", "p50", "p95", "p99", "max"],
    channels.map((one) => [
      one.channel,
      String(one.samples),
      ...[one.p50, one.p95, one.p99, one.max].map((ms) => `${tenths(ms)} ms`),
    ]),
  );
}

export function stormTable(result: StormResult): string {
  const seconds = (ms: number): string => `${(ms / 1_000).toFixed(2)} s`;
  const waits = table(
    `${whole(result.events)} events in ${result.seconds} s, one message a second a channel: fired → accepted`,
    ["channel", "severity", "events", "p50", "p99", "max"],
    result.bySeverity.map((one) => [
      one.channel,
      one.severity,
      whole(one.events),
      ...[one.p50, one.p99, one.max].map(seconds),
    ]),
  );
  const sent = table(
    "What was sent",
    ["channel", "messages", "told to wait", "most events in one", "lost", "told twice", "over after"],
    result.channels.map((one) => [
      one.channel,
      ...[one.messages, one.refused, one.largest, one.lost, one.inTwo].map(whole),
      `${tenths(one.overAfterS)} s`,
    ]),
  );
  const { rssBeforeMiB, rssMostMiB } = result;
  return `${waits}\n\n${sent}\nMemory: ${whole(rssBeforeMiB)} MiB before, ${whole(rssMostMiB)} MiB at most.`;
}
