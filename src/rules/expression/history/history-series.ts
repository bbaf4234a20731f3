/** The series that a history function reads: of a field, of a named value, or of events. */

import type { Source } from "../../../domain/sources.ts";
import type { Scope } from "../../../domain/subject.ts";
import { nearestName } from "../../problem.ts";
import type { ReadScope, WindowFunction, WindowPath } from "../../rule.ts";
import type { RuleEventKind } from "../../vocabulary/field-types.ts";
import { eventSources, eventVocabulary, vocabulary } from "../../vocabulary.ts";
import type { Gathered, Naming, ReportProblem } from "../context.ts";
import type { Names } from "../names.ts";
import {
  type Absence,
  absence,
  type Freshness,
  freshness,
  isSlow,
  type Pick,
  pickMarket,
  pickScope,
} from "../nodes/fields.ts";
import { isScope, notVisible } from "../not-visible.ts";
import { numberOf, type StaticType, typeOfField } from "../types.ts";

/** Time for which a sample of a figure without a source (perpwatch's own) is valid, ms. */
const ownFiguresMs = 60_000;

export interface Series {
  readonly path: WindowPath;
  readonly type: StaticType;
  readonly staleAfterMs: number;
  readonly pick: Pick;
  readonly fresh: Freshness | null;
  /** For a market by name. */
  readonly absent?: Absence;
  readonly text: string;
}

export function fieldSeries(
  fn: WindowFunction,
  text: string,
  start: number,
  naming: Naming,
  gathered: Gathered,
  report: ReportProblem,
): Series | undefined {
  const visible = naming.scopes;
  // Positions within the quotes.
  const at = start + 1;
  const named = /^(?:(\w+)\[([^\]]+)\]\.)?value\.(\w+)$/.exec(text);
  if (named !== null) {
    const [, owner = null, symbol = null, name = ""] = named;
    return valueSeries(fn, text, at, name, owner, symbol, naming, gathered, report);
  }
  const match = /^(\w+)(?:\[([^\]]+)\])?\.(\w+)$/.exec(text);
  if (match === null) {
    report({
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
    report({
      start: at,
      message: elsewhere
        ? notVisible(text, owner, known, naming, true)
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
    report({
      start: at + text.length - name.length,
      message: `${owner}.${name} is no series of numbers`,
      allowed: names,
      nearest: nearestName(name, names),
    });
    return undefined;
  }
  gathered.read(scope, field, symbol);
  const behind = fn === "drawdown" && (scope === "wallet" || scope === "trader") && name !== "equity";
  // The slowest source sets the interval of a field's series (profit changes when flows are read); supplementary sources do not.
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
  report: ReportProblem,
): Series | undefined {
  const found = gathered.values.find(name);
  if (found === undefined || typeof found === "string" || "circle" in found) {
    const allowed = gathered.values.names.map((one) => `value.${one}`);
    const nearest = nearestName(`value.${name}`, allowed);
    if (found === undefined) report({ start: at, message: `no value is called ${name}`, allowed, nearest });
    else report({ start: at, message: `${text} is wrong`, reportedElsewhere: true });
    return undefined;
  }
  const { scope } = found;
  const ofMarket = owner === "market" && symbol !== null && scope === "market";
  if (owner === null ? !naming.scopes.includes(scope) : !ofMarket) {
    const message =
      owner === null
        ? notVisible(text, scope, null, naming, true)
        : `${fn} knows no series ${text} here: it belongs to a ${scope}`;
    report({ start: at, message });
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

export function eventSeries(
  fn: WindowFunction,
  text: string,
  start: number,
  countable: readonly RuleEventKind[],
  { scopes: [own] }: Names["naming"],
  gathered: Gathered,
  report: ReportProblem,
): Series | undefined {
  const at = start + 1;
  const [kindText = "", fieldText, ...rest] = text.split(".");
  const kind = countable.find((candidate) => candidate === kindText);
  if (kind === undefined || rest.length > 0) {
    report({
      start: at,
      message: `${fn} knows no events "${kindText}" here`,
      allowed: countable,
      nearest: nearestName(kindText, countable),
    });
    return undefined;
  }
  if (fn === "countOver" && fieldText !== undefined) {
    report({ start: at + kind.length, message: `countOver counts events: "${kind}" without a field` });
    return undefined;
  }
  const numbers = eventVocabulary[kind].filter((field) => field.type === "number");
  const field = numbers.find((candidate) => candidate.name === fieldText);
  if (fn === "sumOver" && field === undefined) {
    const names = numbers.map((candidate) => `${kind}.${candidate.name}`);
    report({
      start: at,
      message: `sumOver adds up numbers of events, "${text}" is none`,
      allowed: names,
      nearest: nearestName(text, names),
    });
    return undefined;
  }
  const source = eventSources[kind];
  // The scope whose reading of that source gives the age of the events.
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
    // History was read back before, so a source that was not read since the start does not invalidate the sum.
    // For a book a part may be missing if some members were not read.
    fresh: freshness(text, [source], gathered.staleAfterMs, scope === "book" ? "missing" : "fine"),
  };
}
