/** `perpwatch history export`: series as CSV or JSON lines, for other programs. */
import { once } from "node:events";
import { closeSync, createWriteStream, existsSync, fsyncSync, openSync, renameSync, rmSync } from "node:fs";
import { type Command, Option } from "commander";
import { type Resolution, resolutionMs } from "../../../domain/stored/history.ts";
import { printableJson } from "../../../domain/text/escape.ts";
import type { History } from "../../../history/index.ts";
import { type Cli, CommandFailed, type CommonOptions, declare, hint } from "../../command.ts";
import { counted } from "../../terminal/print.ts";
import { oneOf } from "../../terminal/values.ts";
import { findSeries, type Named, withSpan } from "./open.ts";

const resolutions = ["samples", "minute", "hour"] as const;

interface ExportOptions extends CommonOptions {
  readonly series: readonly string[];
  readonly since: string;
  readonly until: string;
  readonly resolution: (typeof resolutions)[number];
  readonly format: "csv" | "jsonl";
  readonly out?: string;
  readonly force?: boolean;
}

type Line = Readonly<Record<string, string | number>>;

export function exportCommand(parent: Command, cli: Cli): void {
  declare(parent, {
    usage: "export",
    summary: "write series as CSV or JSON lines",
    about:
      "The daemon may run meanwhile. A line holds one figure: the time, the owner, the series, the value.",
    examples: [
      "history export --series trader.equity --since 7d --format csv --out equity.csv",
      "history export --series 'market[SOL].markPrice' 'market[BTC].markPrice' --since 1y --resolution hour --format jsonl",
    ],
  })
    .requiredOption("--series <names...>", "which, as `history query` lists them")
    .option("--since <time>", "from when: 7d (before now), or a time with its zone", "1d")
    .option("--until <time>", "until when", "now")
    .option("--resolution <name>", resolutions.join(", "), oneOf(resolutions), "samples")
    .addOption(new Option("--format <name>", "of the lines").choices(["csv", "jsonl"]).default("csv"))
    .option("--out <file>", "into a file, which appears when it is whole")
    .option("--force", "takes the place of a file that is there")
    .action((options: ExportOptions) => run(cli, options));
}

async function run(cli: Cli, options: ExportOptions): Promise<void> {
  const { out } = options;
  if (out !== undefined && options.force !== true && existsSync(out))
    throw new CommandFailed(`${out} is there already: choose another name, or --force`);
  await withSpan(cli, options, async (history, _, fromMs, toMs) => {
    const all = await history.series();
    const named = options.series.map((name) => findSeries(name, all));
    const partial = `${out}.partial`;
    const target =
      out === undefined
        ? cli.out
        : createWriteStream("", { fd: openSync(partial, "w", 0o600), autoClose: false });
    let count = 0;
    try {
      for (const one of named) {
        const lines =
          options.resolution === "samples"
            ? samples(history, one, fromMs, toMs)
            : rollUps(history, one, options.resolution, fromMs, toMs);
        for await (const line of lines) {
          const head = count === 0 && options.format === "csv" ? `${Object.keys(line).join(",")}\n` : "";
          const text =
            options.format === "csv"
              ? Object.values(line).map(csv).join(",")
              : printableJson(JSON.stringify(line, plain));
          count++;
          if (!target.write(`${head}${text}\n`)) await once(target, "drain");
          if (target.destroyed) return;
        }
      }
      if (out !== undefined) {
        const { fd } = target as unknown as { fd: number };
        await new Promise<void>((resolve, reject) => {
          target.once("error", reject);
          target.end(resolve);
        });
        fsyncSync(fd);
        closeSync(fd);
        renameSync(partial, out);
      }
    } catch (error) {
      if (out !== undefined) rmSync(partial, { force: true });
      throw error;
    }
    hint(cli, `${counted(count, "line")}${out === undefined ? "" : ` in ${out}`}`);
  });
}

async function* samples(
  history: History,
  { owner, series }: Named,
  fromMs: number,
  toMs: number,
): AsyncIterable<Line> {
  for await (const tick of history.ticks({ owner, fromMs, toMs })) {
    const value = tick.values[tick.series.indexOf(series)];
    if (value === undefined || Number.isNaN(value)) continue;
    yield { time: timeText(tick.atMs), owner, series, value };
  }
}

async function* rollUps(
  history: History,
  { owner, series }: Named,
  resolution: Resolution,
  fromMs: number,
  toMs: number,
): AsyncIterable<Line> {
  const widthMs = resolutionMs[resolution];
  const beginMs = Math.floor(fromMs / widthMs) * widthMs;
  const wanted = (name: string) => name === series;
  for await (const bucket of history.rollups({ owner, resolution, fromMs: beginMs, toMs, wanted })) {
    const [stats] = bucket.stats;
    if (stats === undefined || stats.count === 0) continue;
    const { lastMs, ...figures } = stats;
    yield { time: timeText(bucket.atMs), owner, series, ...figures, lastTime: timeText(lastMs) };
  }
}

function timeText(ms: number): string {
  return new Date(ms).toISOString();
}

function csv(value: string | number): string {
  const text = String(value);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** JSON has no infinities: they are written as texts. */
function plain(_key: string, value: unknown): unknown {
  return typeof value === "number" && !Number.isFinite(value) ? String(value) : value;
}
