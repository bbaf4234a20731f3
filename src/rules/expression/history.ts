/**
 * History functions: `maxOver("trader.marginRatio", "1h")`. The path, the window and the filter are quoted, so that
 * the windows a rule needs are known when it is loaded; the watch keeps exactly those.
 */
import type { ASTNode } from "@marcbachmann/cel-js";
import { formatDurationMs, parseDurationMs } from "../../domain/duration.ts";
import type { Source } from "../../domain/sources.ts";
import type { Scope } from "../../domain/subject.ts";
import { nearestName } from "../problem.ts";
import type { Compiled, ReadScope, WindowFunction, WindowPath } from "../rule.ts";
import { type Env, type Facts, Unknown } from "../value.ts";
import type { Range, RuleEventKind, Unit } from "../vocabulary/field-types.ts";
import { eventSources, eventVocabulary, vocabulary } from "../vocabulary.ts";
import { maxWindowMs } from "../windows/shape.ts";
import type { ExpressionProblem, Gathered, Naming } from "./context.ts";
import {
  type Absence,
  absence,
  type Freshness,
  freshness,
  isSlow,
  type Pick,
  pickMarket,
  pickScope,
} from "./fields.ts";
import type { Names } from "./names.ts";
import type { Compiling } from "./node.ts";
import { isScope, outOfSight } from "./out-of-sight.ts";
import { numberOf, rangeOf, type StaticType, typeOfField, unitOf } from "./types.ts";

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

/** The reach of these functions where the rule does not say: what a start reads of the past for them. */
const lookBackMs: Readonly<Record<string, number>> = { since: 7 * 86_400_000, seriesAge: 86_400_000 };

const shortestWindowMs = 1_000;
/** The time for which a sample of a figure without a source (perpwatch's own) stands. */
const ownFiguresMs = 60_000;

type Tell = (problem: ExpressionProblem) => void;
export type CompileFilter = (
  text: string,
  wanted: "condition" | "figure",
  naming: Naming,
  gathered: Gathered,
  report: Tell,
) => Compiled | undefined;

interface Series {
  readonly path: WindowPath;
  readonly type: StaticType;
  readonly staleAfterMs: number;
  readonly pick: Pick;
  readonly fresh: Freshness | null;
  /** For a market by name. */
  readonly absent?: Absence;
  readonly text: string;
}

/** @returns undefined when something was wrong, and told. */
export function historyFunction(
  name: string,
  args: readonly ASTNode[],
  { naming, gathered, tell }: Names,
  countable: readonly RuleEventKind[],
  compileFilter: CompileFilter,
): Compiling | undefined {
  const fn = name as WindowFunction;
  const example = exampleOf(fn);
  let quantile: number | undefined;
  let rest = args;
  if (fn === "quantileOver") {
    quantile = share(args[1], tell);
    rest = args.filter((_, index) => index !== 1);
    if (quantile === undefined && args.length > 1) return undefined;
  }
  const quoted = rest.map((arg) =>
    arg.op === "value" && typeof arg.args === "string" ? arg.args : undefined,
  );
  for (const [i, text] of quoted.entries())
    if (text === undefined) tell({ start: rest[i]!.start, message: `${fn} takes quoted text: ${example}` });
  const [pathText, windowText, filterText] = quoted;
  const wants =
    fn === "quantileOver"
      ? "a path, a share and a window"
      : lookBackMs[fn] === undefined
        ? "a path and a window"
        : "a path";
  if (rest.length < (lookBackMs[fn] === undefined ? 2 : 1)) {
    tell({ start: args[0]?.start ?? 0, message: `${fn} takes ${wants}: ${example}` });
    return undefined;
  }
  if (pathText === undefined || (windowText === undefined && rest.length > 1)) return undefined;
  const windowMs =
    windowText === undefined
      ? Math.min(lookBackMs[fn]!, gathered.maxWindowMs)
      : windowOf(fn, windowText, rest[1]!.start, gathered.maxWindowMs, tell);
  const countsEvents = (ofEvents as readonly string[]).includes(fn);
  let filter: Compiled<boolean> | null = null;
  let series: Series | undefined;
  if (countsEvents) {
    series = eventSeries(fn, pathText, rest[0]!.start, countable, naming, gathered, tell);
    if (rest[2] !== undefined && filterText !== undefined && series?.path.kind === "event") {
      // One past the quote: where the filter's own text begins.
      const start = rest[2].start + 1;
      const kind = series.path.event as RuleEventKind;
      const compiled = compileFilter(
        filterText,
        "condition",
        { scopes: [], event: { kind, name: kind }, value: null, countable: null },
        gathered,
        (problem) => tell({ ...problem, start: start + problem.start }),
      );
      if (compiled === undefined) return undefined;
      filter = compiled as Compiled<boolean>;
      series = { ...series, path: { ...series.path, filter } };
    }
  } else {
    if (rest[2] !== undefined) tell({ start: rest[2].start, message: `${fn} takes no filter` });
    series = fieldSeries(fn, pathText, rest[0]!.start, naming, gathered, tell);
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
  // Time alone moves them.
  if (fn === "since" || fn === "seriesAge") gathered.readsNow = true;
  const { pick, absent } = series;
  // What asks how old a series is wants to know just when it is too old for everything else.
  const fresh = fn === "seriesAge" ? null : series.fresh;
  const run = (env: Env) => {
    if (fresh !== null && env.allFresh !== true) {
      const facts: Facts | undefined = pick(env);
      // Another market by name may not exist; what the subject's own are about does.
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

/** The share of `quantileOver`: a number between 0 and 1, written out. */
function share(arg: ASTNode | undefined, tell: Tell): number | undefined {
  if (arg === undefined) return undefined;
  const value = arg.op === "value" && ["number", "bigint"].includes(typeof arg.args) ? Number(arg.args) : -1;
  if (value >= 0 && value <= 1) return value;
  tell({
    start: arg.start,
    message: `quantileOver takes a share between 0 and 1 second: ${exampleOf("quantileOver")}`,
  });
  return undefined;
}

function resultType(fn: WindowFunction, { type: series, path }: Series): StaticType {
  if (fn === "since" || fn === "seriesAge") return { kind: "duration" };
  const unit: Unit =
    fn === "countOver"
      ? "count"
      : fn === "drawdown" || fn === "changeRatio"
        ? "ratio"
        : fn === "zscore"
          ? "none"
          : series.kind === "double"
            ? series.unit
            : "none";
  return numberOf("double", unit, resultRange(fn, series, path));
}

const shares: Range = { least: 0, most: 1 };
const growth: Range = { least: -1, most: 10 };

/** The range of what a function gives; undefined where nothing is certain of it. */
function resultRange(fn: WindowFunction, series: StaticType, path: WindowPath): Range | undefined {
  switch (fn) {
    case "drawdown":
      return shares;
    case "changeRatio":
      // Profit and net figures change their sign, and by any multiple.
      return unitOf(series) === "price" || (path.kind === "field" && path.field === "equity")
        ? growth
        : undefined;
    case "ago":
    case "minOver":
    case "maxOver":
    case "avgOver":
    case "quantileOver":
      return rangeOf(series);
    default:
      return undefined;
  }
}

function windowOf(
  fn: WindowFunction,
  text: string,
  start: number,
  longestMs: number,
  tell: Tell,
): number | "today" | undefined {
  if (text === "today" && lookBackMs[fn] === undefined) return text;
  const ms = parseDurationMs(text);
  if (ms === undefined) {
    tell({
      start,
      message: `"${text}" is no window`,
      allowed: [...(lookBackMs[fn] === undefined ? ["today"] : []), "a duration such as 30s, 10m, 24h, 7d"],
    });
    return undefined;
  }
  if (ms < shortestWindowMs || ms > maxWindowMs) {
    tell({ start, message: `the window ${text} is out of bounds`, allowed: ["1s to 32d"] });
    return undefined;
  }
  if (ms > longestMs) {
    const kept = formatDurationMs(longestMs);
    tell({
      start,
      message: `the window ${text} is longer than history is kept: ${kept} (history.retention)`,
    });
    return undefined;
  }
  return ms;
}

function fieldSeries(
  fn: WindowFunction,
  text: string,
  start: number,
  naming: Naming,
  gathered: Gathered,
  tell: Tell,
): Series | undefined {
  const visible = naming.scopes;
  // Positions are told inside the quotes.
  const at = start + 1;
  const named = /^(?:(\w+)\[([^\]]+)\]\.)?value\.(\w+)$/.exec(text);
  if (named !== null) {
    const [, owner = null, symbol = null, name = ""] = named;
    return valueSeries(fn, text, at, name, owner, symbol, naming, gathered, tell);
  }
  const match = /^(\w+)(?:\[([^\]]+)\])?\.(\w+)$/.exec(text);
  if (match === null) {
    tell({
      start: at,
      message: `"${text}" is no path`,
      allowed: ["trader.equity", "market.markPrice", "market[BTC].markPrice", "value.basis"],
    });
    return undefined;
  }
  const [, owner = "", symbol = null, name = ""] = match;
  const allowedOwners: readonly string[] = symbol === null ? visible : ["market"];
  if (!allowedOwners.includes(owner)) {
    const elsewhere = symbol === null && isScope(owner);
    const known = elsewhere && vocabulary[owner].some((field) => field.name === name) ? name : null;
    tell({
      start: at,
      message: elsewhere
        ? outOfSight(text, owner, known, naming, true)
        : `${fn} knows no series of ${owner} here`,
      allowed: allowedOwners.map((scope) => `${scope}.…`),
      nearest: elsewhere ? null : nearestName(owner, allowedOwners),
    });
    return undefined;
  }
  const scope = owner as Scope;
  const series = vocabulary[scope].filter((field) => field.type === "number" && field.derived === undefined);
  const field = series.find((candidate) => candidate.name === name);
  if (field === undefined) {
    const names = series.map((candidate) => candidate.name);
    tell({
      start: at + text.length - name.length,
      message: `${owner}.${name} is no series of numbers`,
      allowed: names,
      nearest: nearestName(name, names),
    });
    return undefined;
  }
  gathered.read(scope, field, symbol);
  const behind = fn === "drawdown" && (scope === "wallet" || scope === "trader") && name !== "equity";
  // The slowest source sets a field's pace (profit moves when flows are read); what only adds to it does not.
  const paces = field.sources.filter((source, index) => index === 0 || !isSlow(source));
  return {
    text,
    path: { kind: "field", scope, field: name, symbol, companion: behind ? "equity" : null },
    type: typeOfField(field),
    staleAfterMs:
      paces.length === 0 ? ownFiguresMs : Math.max(...paces.map((source) => gathered.staleAfterMs[source])),
    pick: symbol === null ? pickScope(scope) : pickMarket(symbol),
    fresh: freshness(text, field.sources, gathered.staleAfterMs),
    ...(symbol === null ? {} : { absent: absence(text, "market", symbol) }),
  };
}

/** The history of a named value: `value.basis`, `market[BTC].value.basis`. */
function valueSeries(
  fn: WindowFunction,
  text: string,
  at: number,
  name: string,
  owner: string | null,
  symbol: string | null,
  naming: Naming,
  gathered: Gathered,
  tell: Tell,
): Series | undefined {
  const found = gathered.values.find(name);
  if (found === undefined || typeof found === "string" || "circle" in found) {
    const allowed = gathered.values.names.map((one) => `value.${one}`);
    const nearest = nearestName(`value.${name}`, allowed);
    if (found === undefined) tell({ start: at, message: `no value is called ${name}`, allowed, nearest });
    else tell({ start: at, message: `${text} is wrong`, toldElsewhere: true });
    return undefined;
  }
  const { scope } = found;
  const ofMarket = owner === "market" && symbol !== null && scope === "market";
  if (owner === null ? !naming.scopes.includes(scope) : !ofMarket) {
    const message =
      owner === null
        ? outOfSight(text, scope, null, naming, true)
        : `${fn} knows no series ${text} here: it belongs to a ${scope}`;
    tell({ start: at, message });
    return undefined;
  }
  gathered.named.set(name, found.text);
  const sources = new Set<Source>();
  for (const read of found.reads) {
    const own = read.scope === "market" && read.symbol === null ? symbol : read.symbol;
    if (read.scope === scope && read.symbol === null) for (const source of read.sources) sources.add(source);
    gathered.readOf({ ...read, symbol: own });
  }
  const paces = [...sources].filter((source) => !isSlow(source));
  return {
    text,
    path: { kind: "field", scope, field: `value.${name}`, symbol, companion: null },
    type: numberOf("double", found.unit, found.range),
    staleAfterMs:
      paces.length === 0 ? ownFiguresMs : Math.max(...paces.map((source) => gathered.staleAfterMs[source])),
    pick: symbol === null ? pickScope(scope) : pickMarket(symbol),
    fresh: freshness(text, [...sources], gathered.staleAfterMs),
    ...(symbol === null ? {} : { absent: absence(text, "market", symbol) }),
  };
}

function eventSeries(
  fn: WindowFunction,
  text: string,
  start: number,
  countable: readonly RuleEventKind[],
  { scopes: [own] }: Names["naming"],
  gathered: Gathered,
  tell: Tell,
): Series | undefined {
  const at = start + 1;
  const [kindText = "", fieldText, ...rest] = text.split(".");
  const kind = countable.find((candidate) => candidate === kindText);
  if (kind === undefined || rest.length > 0) {
    tell({
      start: at,
      message: `${fn} knows no events "${kindText}" here`,
      allowed: countable,
      nearest: nearestName(kindText, countable),
    });
    return undefined;
  }
  if (fn === "countOver" && fieldText !== undefined) {
    tell({ start: at + kind.length, message: `countOver counts events: "${kind}" without a field` });
    return undefined;
  }
  const numbers = eventVocabulary[kind].filter((field) => field.type === "number");
  const field = numbers.find((candidate) => candidate.name === fieldText);
  if (fn === "sumOver" && field === undefined) {
    const names = numbers.map((candidate) => `${kind}.${candidate.name}`);
    tell({
      start: at,
      message: `sumOver adds up numbers of events, "${text}" is none`,
      allowed: names,
      nearest: nearestName(text, names),
    });
    return undefined;
  }
  const source = eventSources[kind];
  // Whose reading of that source tells how fresh the events are.
  const scope: ReadScope =
    kind === "exchangeStatus"
      ? "exchange"
      : kind === "marketChange"
        ? "market"
        : own === "book"
          ? "book"
          : "wallet";
  gathered.readEvents(scope, kind, source);
  return {
    text,
    path: { kind: "event", event: kind, field: field?.name ?? null, filter: null },
    type: { kind: "double", unit: field?.unit ?? "count" },
    staleAfterMs: gathered.staleAfterMs[source],
    pick: pickScope(scope),
    // History was read back before: not having asked yet since the start is no reason to doubt the sum.
    // A part may be missing where not all members of a book were asked.
    fresh: freshness(text, [source], gathered.staleAfterMs, scope === "book" ? "missing" : "fine"),
  };
}
