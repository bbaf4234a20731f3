/** Computes the present result of each part of a condition, and the age of its inputs. Pure. */

import type { ExplainedInput, ExplainedPart } from "../domain/alerts/explanation.ts";
import type { Source } from "../domain/sources.ts";
import { formatDurationMs } from "../domain/text/duration.ts";
import { pickMarket, pickScope } from "./expression/nodes/fields.ts";
import { formatNumber } from "./format.ts";
import type { Compiled, ConditionRule, Read } from "./rule.ts";
import { type Env, isUnknown, type Unknown, type Value } from "./value.ts";
import type { Unit } from "./vocabulary/field-types.ts";

/** @param env environment of a judgement that was just made, including `value` */
export function explainParts(rule: ConditionRule, env: Env): readonly ExplainedPart[] {
  const expressions: [string, Compiled][] = [];
  if (rule.value) expressions.push(["value", rule.value]);
  for (const { severity, when, resolveWhen } of rule.levels) {
    const prefix = rule.levels.length > 1 ? `${severity}: ` : "";
    expressions.push([`${prefix}when`, when]);
    if (resolveWhen) expressions.push([`${prefix}resolveWhen`, resolveWhen]);
  }
  return expressions.flatMap(([label, compiled]) => partsOf(label, compiled, rule, env));
}

/** Every source of the rule, with its age. */
export function explainInputs(rule: ConditionRule, env: Env): readonly ExplainedInput[] {
  const inputs = new Map<string, ExplainedInput>();
  for (const read of rule.reads) {
    const owner = read.symbol === null ? read.scope : `market ${read.symbol}`;
    for (const source of read.sources) {
      const seenMs = factsOf(read, env)?.seenMs[source];
      const ageMs = seenMs === undefined ? null : ageOf(seenMs, env);
      const staleAfterMs = rule.staleAfterMs[source];
      const stale = ageMs === null || ageMs > staleAfterMs;
      inputs.set(`${owner}\n${source}`, { whose: owner, source, ageMs, staleAfterMs, stale });
    }
  }
  return [...inputs.values()];
}

function partsOf(label: string, { text, parts }: Compiled, rule: ConditionRule, env: Env): ExplainedPart[] {
  const valueUnit = unitOfValue(rule);
  const whole = shownText(text, 0, text.length);
  const seen = new Set<string>();
  /** Ends of the enclosing parts. */
  const around: number[] = [];
  return [...(parts ?? [])]
    .sort((a, b) => a.start - b.start || b.end - a.end)
    .flatMap(({ start, end, unit, run, reads }) => {
      const own = shownText(text, start, end);
      while (around.length > 0 && around.at(-1)! <= start) around.pop();
      const depth = around.length;
      if (seen.has(own)) return [];
      seen.add(own);
      around.push(end);
      const result = run(env);
      const unknown = isUnknown(result) ? reasonOf(result) : null;
      const isValue = own === "value" || (label === "value" && own === whole);
      const value = isUnknown(result) ? null : printed(result, unit === "none" && isValue ? valueUnit : unit);
      return [{ label, depth, text: own, value, unknown, ...agesOf(reads, rule, env) }];
    });
}

/** The unit of a rule's value, or if it has none, the unit in which the rule's messages print it. */
export function unitOfValue({ value, summary, description }: ConditionRule): Unit {
  if (value !== null && value.unit !== "none") return value.unit;
  const texts = `${summary.text} ${description?.text ?? ""}`;
  if (/\bpercent\((?:abs\(|-)?value\)/.test(texts)) return "ratio";
  return /\busd\((?:abs\(|-)?value\)/.test(texts) ? "usd" : "none";
}

/**
 * The text of a part, on one line. The bounds of a part that begins or ends with a part in parentheses exclude these parentheses;
 * they are added.
 */
function shownText(text: string, start: number, end: number): string {
  let [from, to] = [start, end];
  const { open, closed } = unmatched(text.slice(from, to));
  for (let rest = open; rest > 0 && to < text.length; to++) if (text[to] === ")") rest--;
  for (let rest = closed; rest > 0 && from > 0; from--) if (text[from - 1] === "(") rest--;
  return text.slice(from, to).replace(/\s+/g, " ").trim();
}

/** The number of unmatched parentheses outside of quotes. */
function unmatched(text: string): { readonly open: number; readonly closed: number } {
  let [open, closed] = [0, 0];
  for (const [sign] of text.matchAll(/"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[()]/g)) {
    if (sign === "(") open++;
    else if (sign === ")" && open > 0) open--;
    else if (sign === ")") closed++;
  }
  return { open, closed };
}

function reasonOf({ unknown, source, wallet, detail }: Unknown): ExplainedPart["unknown"] {
  return { reason: unknown, source, wallet, detail };
}

/** The age of the oldest input, and the input nearest to its maximum age, which differs by source. */
function agesOf(
  reads: readonly Read[],
  { staleAfterMs }: ConditionRule,
  env: Env,
): Pick<ExplainedPart, "ageMs" | "nearestToStale"> {
  const ages: { readonly source: Source; readonly ageMs: number }[] = [];
  for (const read of reads) {
    for (const source of read.sources) {
      const seenMs = factsOf(read, env)?.seenMs[source];
      if (seenMs !== undefined) ages.push({ source, ageMs: ageOf(seenMs, env) });
    }
  }
  const share = (one: (typeof ages)[number]) => one.ageMs / staleAfterMs[one.source];
  const [first, ...others] = ages;
  if (first === undefined) return { ageMs: null, nearestToStale: null };
  return {
    ageMs: ages.reduce((most, { ageMs }) => Math.max(most, ageMs), 0),
    nearestToStale: others.reduce((most, one) => (share(one) > share(most) ? one : most), first),
  };
}

/** The age of a reading, ms; 0 for a time in the future, which stands for a figure that needs no answer. */
function ageOf(seenMs: number, { nowMs }: Env): number {
  return Math.max(0, nowMs - seenMs);
}

function factsOf({ scope, symbol }: Read, env: Env) {
  return (symbol === null ? pickScope(scope) : pickMarket(symbol))(env);
}

function printed(value: Value, unit: Unit): string {
  if (typeof value === "number")
    return unit === "duration" ? formatDurationMs(value) : formatNumber(value, unit);
  if (typeof value === "boolean") return String(value);
  if (typeof value === "string") return JSON.stringify(value);
  return Array.isArray(value) ? `a list of ${value.length}` : "named values";
}
