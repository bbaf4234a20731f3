/** `perpwatch rules backtest`: what rules would have done over the recorded past. */
import { writeFileSync } from "node:fs";
import type { Command } from "commander";
import type { DaemonSettings } from "../../../daemon/settings.ts";
import { formatTime } from "../../../domain/text/time-text.ts";
import type { History } from "../../../history/index.ts";
import type { LoadInput, RuleSet } from "../../../rules/index.ts";
import { type Cli, CommandFailed, type CommonOptions, declare, print, printJson } from "../../command.ts";
import { loadSettings } from "../../load-settings.ts";
import { counted, paintFor } from "../../terminal/print.ts";
import { timeOf } from "../../terminal/values.ts";
import { comparisonText, reportText, type Shown } from "./backtest-report.ts";

const largestFile = 512 * 1_024;

interface BacktestOptions extends CommonOptions {
  readonly since: string;
  readonly until?: string;
  readonly compare?: string;
  readonly svg?: string;
  readonly wallet?: string;
}

export function backtestCommand(group: Command, cli: Cli): void {
  declare(group, {
    usage: "backtest [files...]",
    summary: "judge the recorded past by rules: when they would have fired, and who would have been told",
    about:
      "Without files: the rules of the configuration. Reads the database, also beside a running daemon, and changes\n" +
      "nothing. Where observations were recorded whole the result is exactly that of a live run; before that it rests on\n" +
      "samples, then on what is kept of minutes and hours, and says so. Messages are those of channels that accept each at\n" +
      "once: outages and rate limits of channels have no part in it.",
    examples: [
      "rules backtest ./my-rules.yaml --since 30d",
      "rules backtest --since 7d --compare ./other.yaml",
      "rules backtest --since 2026-01-01 --until 2026-01-08 --svg january.svg",
    ],
  })
    .option("--since <time>", "how far back, as a duration or a time", "30d")
    .option("--until <time>", "the end, as a duration before now or a time; default now")
    .option("--compare <file>", "rules to set beside these, over the same past")
    .option("--svg <file>", "draw it into this file")
    .option("--wallet <name>", "this wallet alone")
    .action((files: string[], options: BacktestOptions) => backtestRules(cli, files, options));
}

async function backtestRules(cli: Cli, files: readonly string[], options: BacktestOptions): Promise<void> {
  const { settings } = await loadSettings(cli, options.config);
  const nowMs = Date.now();
  const fromMs = timeOf("--since", options.since, nowMs);
  const toMs = options.until === undefined ? nowMs : timeOf("--until", options.until, nowMs);
  if (toMs <= fromMs) throw new CommandFailed("--until is not later than --since", 2);
  const wallets = settings.wallets.map(({ name }) => name);
  if (options.wallet !== undefined && !wallets.includes(options.wallet))
    throw new CommandFailed(`no wallet is called ${options.wallet}; there are ${wallets.join(", ")}`, 2);
  const [a, b] = await Promise.all([
    rulesOf(settings, files, nowMs),
    options.compare === undefined ? null : rulesOf(settings, [options.compare], nowMs),
  ]);
  const { openHistory } = await import("../../history-reading.ts");
  const history = await openHistory(settings.history.path);
  try {
    const span = { fromMs, toMs, wallet: options.wallet ?? null, nowMs };
    const one = await run(cli, settings, history, a, span);
    const other = b === null ? null : await run(cli, settings, history, b, span);
    const { compareRuns } = await import("../../../replay/compare-runs.ts");
    const comparison = other === null ? null : compareRuns(one.report, other.report);
    if (options.svg !== undefined) {
      const { drawBacktest } = await import("../../../replay/svg.ts");
      try {
        writeFileSync(options.svg, drawBacktest(one.report, one.lines, settings.timezone));
      } catch (error) {
        throw new CommandFailed(`${options.svg} cannot be written: ${String((error as Error).message)}`);
      }
    }
    if (options.json)
      return printJson(cli, {
        ...one.report,
        ...(other === null ? {} : { compared: { report: other.report, comparison } }),
      });
    const paint = paintFor(cli.out);
    const shown: Shown = { paint, timezone: settings.timezone };
    print(cli, reportText(one.report, shown));
    if (comparison !== null && other !== null)
      print(cli, `\n${comparisonText(comparison, one.report, other.report, options.compare!, shown)}`);
    if (options.svg !== undefined) print(cli, `\nDrawn into ${options.svg}.`);
  } finally {
    await history.close();
  }
}

interface Rules {
  readonly ruleSet: RuleSet;
  readonly rulesFor: (leastMs: number) => RuleSet;
}

/** @throws {CommandFailed} status 2, with every mistake */
export async function rulesOf(
  settings: DaemonSettings,
  files: readonly string[],
  nowMs: number,
): Promise<Rules> {
  const { readTextFile } = await import("../../../config/index.ts");
  const { formatProblem, loadRules } = await import("../../../rules/index.ts");
  const { realSchedulesMs } = await import("../../../collect/schedule/demand.ts");
  const { plannedPerSecond } = await import("../../../exchange/settings.ts");
  const configured = JSON.parse(settings.ruleSetText) as Pick<LoadInput, "files" | "overrides">;
  const texts =
    files.length === 0
      ? configured
      : {
          files: files.map((name) => {
            const read = readTextFile(name, { largestBytes: largestFile, from: "anyones" });
            if ("wrong" in read) throw new CommandFailed(`${name} ${read.wrong}`, 2);
            return { name, text: read.text };
          }),
          overrides: {},
        };
  const wallets = settings.wallets.map(({ name, labels, limits, key, pdaIndices }) => ({
    name,
    labels,
    limits,
    watchOnly: key === null,
    pdaIndices,
  }));
  const usual = realSchedulesMs({
    settings: settings.schedules,
    requestsPerSecond: plannedPerSecond(settings.exchange),
    wallets,
    nowMs,
    streams: settings.exchange.streams !== "off",
  });
  const rulesFor = (leastMs: number): RuleSet => {
    const scheduleMs = Object.fromEntries(
      Object.entries(usual).map(([source, ms]) => [source, Math.max(ms, leastMs)]),
    ) as typeof usual;
    const loaded = loadRules({
      ...texts,
      scheduleMs,
      wallets,
      pairs: settings.pairs,
      timezone: settings.timezone,
    });
    if ("ruleSet" in loaded) return loaded.ruleSet;
    const { problems } = loaded;
    const error = `${counted(problems.length, "mistake")} in rules`;
    throw new CommandFailed(`${error}\n${problems.map(formatProblem).join("\n")}`, 2, {
      ok: false,
      error,
      problems,
    });
  };
  return { ruleSet: files.length === 0 ? settings.ruleSet : rulesFor(0), rulesFor };
}

interface Asked {
  readonly fromMs: number;
  readonly toMs: number;
  readonly wallet: string | null;
  readonly nowMs: number;
}

async function run(
  cli: Cli,
  settings: DaemonSettings,
  history: History,
  { ruleSet, rulesFor }: Rules,
  { fromMs, toMs, wallet, nowMs }: Asked,
) {
  const { backtest, NothingKept } = await import("../../../replay/backtest.ts");
  const { reportOf } = await import("../../../replay/report.ts");
  const { ValueLines } = await import("../../../replay/svg.ts");
  const { watchSettingsOf } = await import("../../../daemon/settings/watch.ts");
  const { leadOf } = await import("../../../channels/message/lead.ts");
  const { capacitiesOf } = await import("../../../channels/registry.ts");
  const all = watchSettingsOf(settings, settings, nowMs);
  const lines = new ValueLines(ruleSet, { fromMs, toMs });
  const progress = progressOn(cli, fromMs, toMs);
  try {
    const ran = await backtest({
      settings: {
        ...all,
        ruleSet,
        wallets: all.wallets.filter(({ name }) => wallet === null || name === wallet),
      },
      rulesFor,
      history,
      fromMs,
      toMs,
      onProgress: progress.at,
      onChanges: (changes) => lines.take(changes),
      capacities: capacitiesOf(settings.channels),
    });
    const rules = new Set([...ruleSet.conditions, ...ruleSet.events].map(({ name }) => name));
    return {
      lines,
      report: reportOf({ ran, rules, timezone: settings.timezone, lead: leadOf }),
    };
  } catch (error) {
    if (error instanceof NothingKept)
      throw new CommandFailed(`history holds nothing from ${formatTime(fromMs, settings.timezone)} on`);
    throw error;
  } finally {
    progress.done();
  }
}

/** A line on a terminal that says how far it is; elsewhere nothing. */
export function progressOn(cli: Cli, fromMs: number, toMs: number) {
  const shows = cli.err.isTTY === true;
  return {
    at: (atMs: number): void => {
      if (!shows) return;
      const share = Math.min(1, Math.max(0, (atMs - fromMs) / (toMs - fromMs)));
      cli.err.write(`\r${Math.floor(share * 100)}% ${formatTime(atMs)}`);
    },
    done: (): void => {
      if (shows) cli.err.write("\r\u001b[K");
    },
  };
}
