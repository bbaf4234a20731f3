/** Reads a condition rule from its mapping. */

import { type Severity, severities } from "../../domain/alerts/alert.ts";
import type { Checked } from "../expression/compile.ts";
import { Gathered, type Naming } from "../expression/context.ts";
import { farFromZeroIsWorse, higherIsWorse, lowerIsWorse } from "../expression/excess.ts";
import { inputsOf, isSlow } from "../expression/nodes/fields.ts";
import { rangeOf, type StaticType, unitOf } from "../expression/types.ts";
import { nearestName } from "../problem.ts";
import type { Compiled, ConditionRule, Level, Select } from "../rule.ts";
import { scopes } from "../vocabulary/field-types.ts";
import { countableEvents, visibleScopes } from "../vocabulary.ts";
import {
  fingerprintOf,
  type LoadContext,
  needsSession,
  readExpression,
  readLabels,
  readMode,
  readName,
  readRunbook,
  readSelect,
  readTemplate,
  refuseMarketLimits,
  staleness,
  warnOfLimits,
} from "./common.ts";
import type { Reader } from "./reader.ts";
import { notRising, overlapping } from "./rise.ts";
import { problemAt } from "./source.ts";

export const conditionKeys: readonly string[] = [
  "name",
  "scope",
  "select",
  "by",
  "value",
  "worse",
  "worst",
  "when",
  "resolveWhen",
  "severity",
  "levels",
  "target",
  "for",
  "keepFiringFor",
  "labels",
  "summary",
  "description",
  "runbook",
  "staleAfter",
  "noData",
  "mode",
];

const defaultKeepFiringMs = 60_000;

/** @returns undefined if there was a mistake; every mistake was reported */
export function readCondition(reader: Reader, context: LoadContext): ConditionRule | undefined {
  let wrong = false;
  const watched: LoadContext = {
    ...context,
    problem: (problem) => {
      wrong = true;
      context.problem(problem);
    },
  };
  reader.allow(conditionKeys);
  const mode = readMode(reader);
  const name = readName(reader);
  const scope = reader.oneOf("scope", scopes, true);
  if (scope === undefined) {
    reader.text("summary", true);
    if (!reader.has("levels")) reader.oneOf("severity", severities, true);
    return undefined;
  }
  const labels = readLabels(reader);
  const runbook = readRunbook(reader);
  const select = readSelect(
    reader,
    {
      wallet: scope === "position" || scope === "trader" || scope === "wallet" || scope === "book",
      symbol: scope === "position" || scope === "market" || scope === "book",
      pair: scope === "pair",
    },
    watched,
  );
  const by = scope === "book" ? readBy(reader, context) : null;
  if (scope !== "book" && reader.has("by"))
    reader.problem("by", { message: "by: belongs to rules of scope book" });
  const staleAfterMs = reader.durationMs("staleAfter", 1_000);
  const gathered = new Gathered(
    staleness(staleAfterMs, context.input.scheduleMs, context.input.stretchedAgesMs),
    context.input.retentionMs,
    context.values,
  );
  const bare: Naming = {
    scopes:
      by === null || by === "market"
        ? visibleScopes[scope]
        : visibleScopes.book.filter((one) => one !== "market"),
    event: null,
    value: null,
    countable: countableEvents[scope],
  };

  const value = readExpression(reader, "value", "figure", bare, gathered, watched);
  const valueReadsNow = gathered.readsNow || value?.type.kind === "duration";
  const worse = reader.oneOf("worse", ["higher", "lower", "away"] as const);
  if (worse !== undefined && !reader.has("value"))
    reader.problem("worse", { message: "worse: is the direction of the value: it needs one" });
  const worst = readWorst(reader, worse);
  const kind = value?.type.kind;
  // An invalid value counts as some number here, so that later mistakes are reported as well.
  const known = value === undefined ? { unit: "none" as const } : measureOf(value.type);
  const naming: Naming = !reader.has("value")
    ? bare
    : { ...bare, value: { kind: kind === "int" || kind === "duration" ? kind : "double", ...known } };
  const levels = readLevels(reader, naming, gathered, watched, value?.tree);
  // Fields in messages are no reason to judge, so only the conditions' reads count; the windows of messages are kept all the same.
  const reads = gathered.reads;
  const limits = gathered.neededLimits;
  const { readsNow, readsPresent } = gathered;
  const named = [...gathered.named];
  if (reader.has("target") && scope !== "position" && scope !== "trader")
    reader.problem("target", { message: "target: belongs to rules of scope position or trader" });
  const target = readExpression(reader, "target", "condition", naming, gathered, watched, value?.tree);
  const summary = readTemplate(reader, "summary", naming, gathered, watched);
  const description = readTemplate(reader, "description", naming, gathered, watched);
  if (
    worst !== null &&
    levels !== undefined &&
    withExcess(levels, worse).every(({ excess }) => excess === undefined)
  )
    reader.problem("worst", {
      message:
        "worst: no condition says in which direction the value gets worse; worse: higher or lower does",
    });
  if (by !== null && by !== "market" && select.symbol?.length !== 1) refuseNetSize(reader, gathered, watched);
  refuseMarketLimits(reader, select, gathered, watched);
  const forMs = reader.durationMs("for") ?? 0;
  const keepFiringForMs = reader.durationMs("keepFiringFor") ?? defaultKeepFiringMs;
  const noData = reader.oneOf("noData", ["alert", "keep"] as const);
  if (wrong || name === undefined || levels === undefined || summary === undefined) return undefined;
  if (by !== null) warnOfEmptyBook(reader, name, by, select, context);
  warnOfPace(reader, staleAfterMs, reads, context);
  warnOfLimits(reader, name, select, limits, context);

  const { file, line } = reader.place(null);
  return {
    kind: "condition",
    name,
    scope,
    by,
    select,
    levels: value === undefined ? levels : withExcess(levels, worse),
    value: (value as Compiled<number> | undefined) ?? null,
    worst,
    target: (target as Compiled<boolean> | undefined) ?? null,
    forMs,
    keepFiringForMs,
    noData: noData ?? (levels.some((level) => level.severity === "critical") ? "alert" : "keep"),
    labels,
    summary,
    description: description ?? null,
    runbook,
    reads,
    shows: gathered.reads,
    needsSession: needsSession(reads),
    inputs: inputsOf(reads, gathered.staleAfterMs),
    windows: gathered.windows,
    staleAfterMs: gathered.staleAfterMs,
    readsNow,
    valueReadsNow,
    readsPresent,
    mode,
    fingerprint: fingerprintOf([
      scope,
      value?.text ?? null,
      levels.map((level) => [level.severity, level.when.text, level.resolveWhen?.text ?? null]),
      // Another selection is another book.
      ...(by === null ? [] : [by, select]),
      ...(mode === "shadow" ? [mode] : []),
      ...(named.length > 0 ? [named] : []),
    ]),
    file,
    line,
  };
}

function measureOf(type: StaticType): Pick<NonNullable<Naming["value"]>, "unit" | "range"> {
  return { unit: unitOf(type), range: rangeOf(type) };
}

/** Refuses to sum sizes of different markets. */
function refuseNetSize(reader: Reader, gathered: Gathered, context: LoadContext): void {
  if (!gathered.reads.some((read) => read.scope === "book" && read.field === "netSize")) return;
  context.problem(
    problemAt(reader.place("by"), {
      message: "book.netSize is of one market: write by: market, or select one symbol",
    }),
  );
}

/** `market`, `none`, or a label that some wallet has. */
function readBy(reader: Reader, { input: { wallets } }: LoadContext): string {
  const { text = "none" } = reader.text("by") ?? {};
  const labels = new Set(wallets.flatMap((wallet) => Object.keys(wallet.labels)));
  if (["market", "none"].includes(text) || labels.has(text) || wallets.length === 0) return text;
  const allowed = ["market", "none", ...labels];
  reader.problem("by", {
    message: `by: no wallet has the label ${text}`,
    allowed,
    nearest: nearestName(text, allowed),
  });
  return text;
}

function warnOfEmptyBook(
  reader: Reader,
  name: string,
  by: string,
  select: Select,
  context: LoadContext,
): void {
  const { wallets } = context.input;
  const isLabel = by !== "market" && by !== "none";
  const chosen = wallets.some(
    (wallet) =>
      (!isLabel || wallet.labels[by] !== undefined) &&
      (select.wallet === null || select.wallet.includes(wallet.name)) &&
      Object.entries(select.labels).every(([key, values]) => values.includes(wallet.labels[key] ?? "")),
  );
  if (chosen || wallets.length === 0) return;
  context.warn(
    problemAt(reader.place("select"), { message: `${name} selects no wallet: its book is empty` }),
  );
}

/** `1` or `100%`; null: absent. */
function readWorst(reader: Reader, worse: keyof typeof statedDirections | undefined): number | null {
  const found = reader.text("worst");
  if (found === undefined) return null;
  if (!reader.has("value"))
    reader.problem("worst", { message: "worst: is the worst that the value can be: it needs one" });
  if (worse === "away")
    reader.problem("worst", {
      message: "worst: belongs to a value that gets worse on one side: not to worse: away",
    });
  const [, digits, percent] = /^(-?\d{1,15}(?:\.\d{1,15})?)(%?)$/.exec(found.text) ?? [];
  if (digits === undefined)
    reader.problem("worst", { message: `${found.text} is no number such as these`, allowed: ["1", "100%"] });
  return digits === undefined ? null : Number(digits) / (percent === "" ? 1 : 100);
}

const statedDirections = { higher: higherIsWorse, lower: lowerIsWorse, away: farFromZeroIsWorse } as const;

/**
 * The direction in which the value gets worse at each level: as the rule states it, as its condition gives it, opposite to
 * `resolveWhen`, or towards the next level.
 */
function withExcess(levels: readonly Level[], worse: keyof typeof statedDirections | undefined): Level[] {
  const stated = worse && statedDirections[worse];
  const side = worse === "away" ? ({ isEitherSide: true } as const) : {};
  let above: Level["excess"];
  return levels
    .toReversed()
    .map((level) => {
      const back = level.resolveWhen?.excess;
      const excess = stated ?? level.when.excess ?? (back && ((env) => -back(env))) ?? above;
      above = excess;
      return excess === undefined ? level : { ...level, excess, ...side };
    })
    .toReversed();
}

/** Reads `levels:` with a `value:`, or the short form with `when:` and `severity:`. */
function readLevels(
  reader: Reader,
  naming: Naming,
  gathered: Gathered,
  context: LoadContext,
  value: Checked["tree"] | undefined,
): Level[] | undefined {
  const condition = (from: Reader, key: string) =>
    readExpression(from, key, "condition", naming, gathered, context, value) as Compiled<boolean> | undefined;
  if (!reader.has("levels")) {
    const severity = reader.oneOf("severity", severities, true);
    reader.text("when", true);
    const when = condition(reader, "when");
    const resolveWhen = condition(reader, "resolveWhen");
    if (severity === undefined || when === undefined) return undefined;
    const level: Level = { severity, when, resolveWhen: resolveWhen ?? null };
    reportOverlap(reader, level, context);
    return [level];
  }
  for (const key of ["when", "resolveWhen", "severity"])
    if (reader.has(key))
      reader.problem(key, { message: `${key} stands inside of the levels when there are levels` });
  if (!reader.has("value"))
    reader.problem("levels", {
      message: "levels need a value: it is what they compare and what messages show",
    });
  const map = reader.map("levels");
  if (map === undefined) return undefined;
  map.allow(severities);
  const levels: Level[] = [];
  for (const severity of severities as readonly Severity[]) {
    if (!map.has(severity)) continue;
    const level = map.map(severity);
    if (level === undefined) continue;
    level.allow(["when", "resolveWhen"]);
    level.text("when", true);
    const when = condition(level, "when");
    const resolveWhen = condition(level, "resolveWhen");
    if (when === undefined) continue;
    const read: Level = { severity, when, resolveWhen: resolveWhen ?? null };
    reportOverlap(level, read, context);
    const below = levels.at(-1);
    const message = below === undefined ? null : notRising(below, read);
    if (message !== null) context.problem(problemAt(level.place("when"), { message }));
    levels.push(read);
  }
  if (map.keys.length === 0) reader.problem("levels", { message: "levels are empty", allowed: severities });
  return levels.length > 0 ? levels : undefined;
}

function reportOverlap(reader: Reader, level: Level, context: LoadContext): void {
  const message = overlapping(level);
  if (message !== null) context.problem(problemAt(reader.place("resolveWhen"), { message }));
}

/** A `staleAfter` below the interval of a source would leave the rule without data; it is raised, with a warning. */
function warnOfPace(
  reader: Reader,
  staleAfterMs: number | undefined,
  reads: ConditionRule["reads"],
  context: LoadContext,
): void {
  if (staleAfterMs === undefined) return;
  const { scheduleMs } = context.input;
  // Some sources are read rarely on purpose, and are not meant by `staleAfter`.
  const paced = new Set(reads.flatMap((read) => read.sources).filter((source) => !isSlow(source)));
  const slow = [...paced].filter((source) => scheduleMs[source] > staleAfterMs);
  if (slow.length === 0) return;
  context.warn(
    problemAt(reader.place("staleAfter"), {
      message: `staleAfter is shorter than the schedule of ${slow.join(", ")}: those keep three times their schedule`,
    }),
  );
}
