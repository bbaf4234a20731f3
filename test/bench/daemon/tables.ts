/** The benchmark's results as people read them. */
import type { LatencyResult } from "./latency.ts";
import type { PacedResult } from "./paced.ts";
import type { PollsResult } from "./polls.ts";

/** Columns as wide as their longest cell; the first to the left, the others to the right. */
export function table(title: string, head: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]!.length)));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!)))
      .join("  ");
  const rule = widths.map((width) => "─".repeat(width)).join("  ");
  return [title, line(head), rule, ...rows.map(line)].join("\n");
}

const whole = (value: number): string => Math.round(value).toLocaleString("en-US");
const tenths = (value: number): string => value.toFixed(1);

export function pollsTable(result: PollsResult): string {
  const { daemon, bare, ratio, stages } = result;
  const us = (perCpuSecond: number): number => 1e6 / perCpuSecond;
  const polls = table(
    `Polls on one core: ${whole(result.bytes)} bytes, 2 positions, 20 rules, ${tenths(result.perTransaction)} observations a transaction`,
    ["", "a second", "a second of processor time", "µs each"],
    [
      ["daemon", whole(daemon.perSecond), whole(daemon.perCpuSecond), tenths(us(daemon.perCpuSecond))],
      ["bare loop", whole(bare.perSecond), whole(bare.perCpuSecond), tenths(us(bare.perCpuSecond))],
      ["daemon / bare loop", ratio.byClock.toFixed(2), ratio.byCpu.toFixed(2), ""],
    ],
  );
  const known = Object.values(stages).reduce((sum, one) => sum + one, 0);
  const rows = Object.entries(stages).map(([stage, each]) => [stage, tenths(each)]);
  const rest = us(daemon.perCpuSecond) - known;
  const where = table(
    "Where the daemon's processor time goes",
    ["stage", "µs a poll"],
    [...rows, ["fetch and the rest", tenths(rest)]],
  );
  const marks = `A change of all marks costs ${tenths(result.marksUsPerAccount)} µs for each account (2 positions, its rules).`;
  return `${polls}\n\n${where}\n${marks}`;
}

export function paceTable(results: readonly PacedResult[]): string {
  return table(
    "Wallets at 5 s, marks at 2 s, 20 rules",
    [
      "wallets",
      "polls/s",
      "of one core",
      "memory",
      "of it empty",
      "worst stall",
      "p99 stall",
      "failed polls",
    ],
    results.map((one) => [
      whole(one.wallets),
      whole(one.pollsPerSecond),
      `${tenths(one.cpu * 100)} %`,
      `${whole(one.rssMiB)} MiB`,
      `${whole(one.idleMiB)} MiB`,
      `${whole(one.worstStallMs)} ms`,
      `${whole(one.p99StallMs)} ms`,
      String(one.failedPolls),
    ]),
  );
}

export function latencyTable(result: LatencyResult): string {
  const ms = (value: number): string => `${whole(value)} ms`;
  return table(
    "True at the exchange → accepted by the channel; all schedules at 1 s, for: 0s",
    ["what changed", "samples", "p50", "p95", "p99", "max"],
    Object.entries(result.kinds).map(([kind, one]) => [
      kind,
      String(one.samples),
      ms(one.p50),
      ms(one.p95),
      ms(one.p99),
      ms(one.max),
    ]),
  );
}
