/**
 * History functions: `maxOver("trader.marginRatio", "1h")`. Path, window and filter are quoted literals, so that the windows of a
 * rule are known at load; the watch keeps exactly those.
 */
import type { ASTNode } from "@marcbachmann/cel-js";
import { formatDurationMs, parseDurationMs } from "../../../domain/text/duration.ts";
import type { Compiled, WindowFunction } from "../../rule.ts";
import { type Env, type Facts, Unknown } from "../../value.ts";
import type { RuleEventKind } from "../../vocabulary/field-types.ts";
import { maxWindowMs } from "../../windows/shape.ts";
import type { CompileFilter, ReportProblem } from "../context.ts";
import type { Names } from "../names.ts";
import type { Compiling } from "../node.ts";
import { resultType } from "./history-result.ts";
import { eventSeries, fieldSeries, type Series } from "./history-series.ts";

const ofFields = [
  "ago",
  "change",
  "changeRatio",
  "minOver",
  "maxOver",
  "avgOver",
  "stddevOver",
  "quantileOver",
  "zscore",
  "drawdown",
  "since",
  "seriesAge",
] as const;
const ofEvents = ["sumOver", "countOver"] as const;
export const historyNames: ReadonlySet<string> = new Set([...ofFields, ...ofEvents]);

/** Look-back period of these functions without a window: the history that a start reads for them. */
const lookBackMs: Readonly<Record<string, number>> = { since: 7 * 86_400_000, seriesAge: 86_400_000 };

const shortestWindowMs = 1_000;

/** @returns undefined if there was a mistake, which is reported */
export function historyFunction(
  name: string,
  args: readonly ASTNode[],
  { naming, gathered, report }: Names,
  countable: readonly RuleEventKind[],
  compileFilter: CompileFilter,
): Compiling | undefined {
  const fn = name as WindowFunction;
  const example = exampleOf(fn);
  let quantile: number | undefined;
  let rest = args;
  if (fn === "quantileOver") {
    quantile = share(args[1], report);
    rest = args.filter((_, index) => index !== 1);
    if (quantile === undefined && args.length > 1) return undefined;
  }
  const quoted = rest.map((arg) =>
    arg.op === "value" && typeof arg.args === "string" ? arg.args : undefined,
  );
  for (const [i, text] of quoted.entries())
    if (text === undefined) report({ start: rest[i]!.start, message: `${fn} takes quoted text: ${example}` });
  const [pathText, windowText, filterText] = quoted;
  const expected =
    fn === "quantileOver"
      ? "a path, a share and a window"
      : lookBackMs[fn] === undefined
        ? "a path and a window"
        : "a path";
  if (rest.length < (lookBackMs[fn] === undefined ? 2 : 1)) {
    report({ start: args[0]?.start ?? 0, message: `${fn} takes ${expected}: ${example}` });
    return undefined;
  }
  if (pathText === undefined || (windowText === undefined && rest.length > 1)) return undefined;
  const windowMs =
    windowText === undefined
      ? Math.min(lookBackMs[fn]!, gathered.maxWindowMs)
      : windowOf(fn, windowText, rest[1]!.start, gathered.maxWindowMs, report);
  const countsEvents = (ofEvents as readonly string[]).includes(fn);
  let filter: Compiled<boolean> | null = null;
  let series: Series | undefined;
  if (countsEvents) {
    series = eventSeries(fn, pathText, rest[0]!.start, countable, naming, gathered, report);
    if (rest[2] !== undefined && filterText !== undefined && series?.path.kind === "event") {
      // After the quote, where the filter's own text begins.
      const start = rest[2].start + 1;
      const kind = series.path.event as RuleEventKind;
      const compiled = compileFilter(
        filterText,
        "condition",
        { scopes: [], event: { kind, name: kind }, value: null, countable: null },
        gathered,
        (problem) => report({ ...problem, start: start + problem.start }),
      );
      if (compiled === undefined) return undefined;
      filter = compiled as Compiled<boolean>;
      series = { ...series, path: { ...series.path, filter } };
    }
  } else {
    if (rest[2] !== undefined) report({ start: rest[2].start, message: `${fn} takes no filter` });
    series = fieldSeries(fn, pathText, rest[0]!.start, naming, gathered, report);
  }
  if (series === undefined || windowMs === undefined) return undefined;

  const index = gathered.window({
    key: [fn, series.text, windowMs, series.staleAfterMs, filter?.text ?? quantile ?? ""].join("|"),
    fn,
    path: series.path,
    windowMs,
    staleAfterMs: series.staleAfterMs,
    ...(quantile === undefined ? {} : { quantile }),
  });
  // These change with time alone.
  if (fn === "since" || fn === "seriesAge") gathered.readsNow = true;
  const { pick, absent } = series;
  // A condition on the age of a series has to work when the series is too old for everything else.
  const fresh = fn === "seriesAge" ? null : series.fresh;
  const run = (env: Env) => {
    if (fresh !== null && env.allFresh !== true) {
      const facts: Facts | undefined = pick(env);
      // Another market by name may not exist; the markets of the subject's own data do.
      const problem = facts === undefined ? (absent?.(env) ?? null) : fresh(facts, env.nowMs);
      if (problem !== null) return problem;
    }
    const reading = env.window(index);
    return typeof reading === "number" && Number.isNaN(reading)
      ? new Unknown("nan", null, `${fn} of ${series.text} is not a number`)
      : reading;
  };
  return { type: resultType(fn, series), run };
}

function exampleOf(fn: WindowFunction): string {
  switch (fn) {
    case "countOver":
      return 'countOver("liquidation", "1h")';
    case "sumOver":
      return 'sumOver("funding.payment", "1h")';
    case "quantileOver":
      return 'quantileOver("market.fundingRate", 0.9, "7d")';
    case "since":
      return 'since("position.size")';
    case "seriesAge":
      return 'seriesAge("market.markPrice")';
    default:
      return `${fn}("trader.equity", "1h")`;
  }
}

/** The share of `quantileOver`: a literal number between 0 and 1. */
function share(arg: ASTNode | undefined, report: ReportProblem): number | undefined {
  if (arg === undefined) return undefined;
  const value = arg.op === "value" && ["number", "bigint"].includes(typeof arg.args) ? Number(arg.args) : -1;
  if (value >= 0 && value <= 1) return value;
  report({
    start: arg.start,
    message: `quantileOver takes a share between 0 and 1 second: ${exampleOf("quantileOver")}`,
  });
  return undefined;
}

function windowOf(
  fn: WindowFunction,
  text: string,
  start: number,
  maxMs: number,
  report: ReportProblem,
): number | "today" | undefined {
  if (text === "today" && lookBackMs[fn] === undefined) return text;
  const ms = parseDurationMs(text);
  if (ms === undefined) {
    report({
      start,
      message: `"${text}" is no window`,
      allowed: [...(lookBackMs[fn] === undefined ? ["today"] : []), "a duration such as 30s, 10m, 24h, 7d"],
    });
    return undefined;
  }
  if (ms < shortestWindowMs || ms > maxWindowMs) {
    report({ start, message: `the window ${text} is out of bounds`, allowed: ["1s to 32d"] });
    return undefined;
  }
  if (ms > maxMs) {
    const kept = formatDurationMs(maxMs);
    report({
      start,
      message: `the window ${text} is longer than history is kept: ${kept} (history.retention)`,
    });
    return undefined;
  }
  return ms;
}
