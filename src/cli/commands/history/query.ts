/** `perpwatch history query`: one series over a span of time, as a sparkline and a table. */
import type { Command } from "commander";
import {
  bucketOf,
  mergeStats,
  noStats,
  type Resolution,
  resolutionMs,
  type Stats,
} from "../../../domain/stored/history.ts";
import { formatDurationMs, parseDurationMs } from "../../../domain/text/duration.ts";
import { formatTime } from "../../../domain/text/time-text.ts";
import type { History } from "../../../history/index.ts";
import { type Cli, CommandFailed, type CommonOptions, declare, print, printJson } from "../../command.ts";
import { counted, paintFor } from "../../terminal/print.ts";
import { table } from "../../terminal/table.ts";
import { findSeries, type Named, nameOf, withHistory, withSpan } from "./open.ts";

interface QueryOptions extends CommonOptions {
  readonly since: string;
  readonly until: string;
  readonly every?: string;
}

interface Row extends Stats {
  readonly atMs: number;
}

const { minute: minuteMs, hour: hourMs } = resolutionMs;
/** Steps of a table; the first with few enough rows is chosen. */
const steps = [1, 5, 15, 30, 60, 4 * 60, 12 * 60, 24 * 60, 7 * 24 * 60].map((minutes) => minutes * minuteMs);
const maxRows = 60;
/** Shorter spans are shown sample by sample. */
const maxRawMs = 10 * minuteMs;

export function queryCommand(parent: Command, cli: Cli): void {
  declare(parent, {
    usage: "query [series]",
    summary: "show a series: least, mean, greatest and last of each step; without a series, list all",
    about:
      "A series is OWNER:NAME, or its name alone where one owner has it. Short spans are read from samples, longer ones " +
      "from minutes or hours, which go further back. The daemon may run meanwhile.",
    examples: [
      "history query",
      "history query 'main/0.0:position[SOL].liquidationDistance' --since 6h",
      "history query 'market[SOL].markPrice' --since 30d --every 1d",
    ],
  })
    .option("--since <time>", "from when: 6h (before now), or a time with its zone", "1d")
    .option("--until <time>", "until when", "now")
    .option("--every <step>", "a row for each step: 1m, 15m, 1h, 1d …")
    .action((name: string | undefined, options: QueryOptions) =>
      name === undefined ? list(cli, options) : query(cli, name, options),
    );
}

async function list(cli: Cli, options: QueryOptions): Promise<void> {
  await withHistory(cli, options.config, async (history) => {
    const all = await history.series();
    if (options.json) return printJson(cli, { owners: Object.fromEntries(all) });
    if (all.size === 0) return print(cli, "There are no series yet.");
    const paint = paintFor(cli.out);
    const blocks = [...all].map(
      ([owner, series]) => `${paint("bold", owner)}\n${series.map((name) => `  ${name}`).join("\n")}`,
    );
    print(cli, blocks.join("\n"));
  });
}

async function query(cli: Cli, name: string, options: QueryOptions): Promise<void> {
  const everyMs = options.every === undefined ? null : stepOf(options.every);
  await withSpan(cli, options, async (history, { timezone }, fromMs, toMs) => {
    const named = findSeries(name, await history.series());
    const spanMs = toMs - fromMs;
    const raw = everyMs === null && spanMs <= maxRawMs;
    const stepMs = everyMs ?? steps.find((step) => spanMs / step <= maxRows) ?? steps.at(-1)!;
    const read = raw
      ? { resolution: "samples" as const, rows: await samples(history, named, fromMs, toMs) }
      : await buckets(history, named, fromMs, toMs, stepMs);
    const { resolution, rows } = read;
    if (options.json) {
      const { owner, series } = named;
      const everyMs = raw ? null : stepMs;
      return printJson(cli, {
        owner,
        series,
        resolution,
        everyMs,
        fromMs,
        toMs,
        rows: rows.map(forPrograms),
      });
    }
    if (rows.length === 0) return print(cli, `${nameOf(named)}: nothing was seen in this time.`);
    const step = raw ? "" : `, a row every ${formatDurationMs(stepMs)}`;
    const paint = paintFor(cli.out);
    print(cli, `${paint("bold", nameOf(named))}: ${counted(rows.length, "row")} from ${resolution}${step}`);
    print(cli, `${paint("cyan", sparkline(rows.map(meanOf)))}\n`);
    const time = (ms: number) => formatTime(ms, timezone);
    const right = (...titles: string[]) => titles.map((title) => ({ title, right: true }));
    if (raw)
      print(
        cli,
        table(
          ["at", ...right("value")],
          rows.map((row) => [time(row.atMs), figure(row.last)]),
          paint,
        ),
      );
    else {
      const cells = (row: Row) => [row.count, row.min, meanOf(row), row.max, row.last].map(figure);
      const heads = ["at", ...right("samples", "least", "mean", "greatest", "last")];
      print(
        cli,
        table(
          heads,
          rows.map((row) => [time(row.atMs), ...cells(row)]),
          paint,
        ),
      );
    }
  });
}

function stepOf(text: string): number {
  const stepMs = parseDurationMs(text);
  if (stepMs !== undefined && stepMs >= minuteMs && stepMs % minuteMs === 0) return stepMs;
  throw new CommandFailed(`--every takes whole minutes such as 1m, 15m, 1h or 1d, not ${text}`, 2);
}

async function samples(
  history: History,
  { owner, series }: Named,
  fromMs: number,
  toMs: number,
): Promise<Row[]> {
  const rows: Row[] = [];
  for await (const tick of history.ticks({ owner, fromMs, toMs })) {
    const value = tick.values[tick.series.indexOf(series)];
    if (value === undefined || Number.isNaN(value)) continue;
    const { atMs } = tick;
    rows.push({
      atMs,
      count: 1,
      min: value,
      max: value,
      sum: value,
      sumSquares: value ** 2,
      last: value,
      lastMs: atMs,
    });
  }
  return rows;
}

/**
 * Reads hours if a step is a multiple of an hour, otherwise minutes, and hours for the time whose minutes are deleted.
 */
async function buckets(
  history: History,
  named: Named,
  fromMs: number,
  toMs: number,
  stepMs: number,
): Promise<{ readonly resolution: string; readonly rows: Row[] }> {
  const rows = new Map<number, Stats>();
  const used = new Set<string>();
  const take = async (resolution: Resolution, beginMs: number, endMs: number): Promise<number> => {
    const { owner, series } = named;
    let firstMs = Number.POSITIVE_INFINITY;
    const wanted = (name: string) => name === series;
    for await (const bucket of history.rollups({ owner, resolution, fromMs: beginMs, toMs: endMs, wanted })) {
      firstMs = Math.min(firstMs, bucket.atMs);
      const stats = bucket.stats[0];
      if (stats === undefined || stats.count === 0) continue;
      used.add(`${resolution}s`);
      const at = bucketOf(bucket.atMs, stepMs);
      rows.set(at, mergeStats(rows.get(at) ?? noStats, stats));
    }
    return firstMs;
  };
  if (stepMs % hourMs === 0) await take("hour", bucketOf(fromMs, hourMs), toMs);
  else {
    const firstMs = await take("minute", bucketOf(fromMs, minuteMs), toMs);
    if (firstMs > fromMs + hourMs)
      await take("hour", bucketOf(fromMs, hourMs), Math.min(bucketOf(firstMs, hourMs), toMs) - 1);
  }
  const inOrder = [...rows].sort(([a], [b]) => a - b);
  return { resolution: [...used].join(" and "), rows: inOrder.map(([atMs, stats]) => ({ atMs, ...stats })) };
}

function meanOf({ sum, count }: Stats): number {
  return sum / count;
}

function forPrograms(row: Row) {
  const { atMs, count, min, max, last, lastMs } = row;
  return { atMs, count, min, mean: meanOf(row), max, last, lastMs };
}

/** At most eight significant digits, to keep columns narrow. */
function figure(value: number): string {
  if (!Number.isFinite(value)) return value > 0 ? "∞" : value < 0 ? "-∞" : "–";
  return String(Number(value.toPrecision(8)));
}

const blocks = "▁▂▃▄▅▆▇█";

/** A block for each value, scaled from the smallest to the largest. */
export function sparkline(values: readonly number[]): string {
  const finite = values.filter(Number.isFinite);
  const [least, greatest] = [Math.min(...finite), Math.max(...finite)];
  return values
    .map((value) => {
      if (!Number.isFinite(value)) return value > 0 ? "█" : " ";
      const share = greatest > least ? (value - least) / (greatest - least) : 0.5;
      return blocks[Math.min(blocks.length - 1, Math.floor(share * blocks.length))];
    })
    .join("");
}
