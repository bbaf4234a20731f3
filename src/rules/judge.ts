/**
 * Computes a rule's conclusion about one subject, from one look at the facts. Pure: no clock, no state but the level that
 * stands already, which is handed in.
 *
 * Levels: a level that stands stays until its `resolveWhen` holds (without one: until its `when` does not); a higher
 * one is taken at once. Unknown moves nothing, with one exception: a higher level whose condition is known to hold.
 */
import { type Severity, severityRank } from "../domain/alert.ts";
import type { Source } from "../domain/sources.ts";
import type { ConditionRule, EventRule, Input, Judgement, Level } from "./rule.ts";
import { type Env, isUnknown, type Unknown } from "./value.ts";

/**
 * @param env facts of the subject and its ancestors; its `value` is overwritten.
 * @param current the level that stands (pending or firing), or null.
 */
export function judge(rule: ConditionRule, env: Env, current: Severity | null): Judgement {
  const dataAtMs = lookAtInputs(rule, env);
  const value = rule.value === null ? undefined : rule.value.run(env);
  env.value = value;
  const outcome = levelOf(rule.levels, env, current);
  // Messages are rendered later, from facts that may have aged: they look for themselves.
  env.allFresh = false;
  const shown = typeof value === "number" ? value : null;
  return isUnknown(outcome)
    ? { kind: "unknown", unknown: outcome, value: shown, dataAtMs }
    : { kind: "known", severity: outcome, value: shown, dataAtMs };
}

/** @returns the level that the facts call for, null for none, or why that cannot be said. */
function levelOf(levels: readonly Level[], env: Env, current: Severity | null): Severity | null | Unknown {
  const currentRank = current === null ? -1 : severityRank[current];
  let doubt: Unknown | null = null;
  for (let i = levels.length - 1; i >= 0; i--) {
    const level = levels[i]!;
    const rank = severityRank[level.severity];
    if (rank > currentRank) {
      const holds = level.when.run(env);
      if (holds === true) return level.severity;
      if (isUnknown(holds)) doubt ??= holds;
    } else if (doubt !== null) {
      break;
    } else {
      // The standing level and those under it: having come from above, each stays by its own `resolveWhen`.
      const stays = stands(level, env);
      if (stays === true) return level.severity;
      if (isUnknown(stays)) doubt = stays;
    }
  }
  return doubt;
}

function stands(level: Level, env: Env): boolean | Unknown {
  const holds = level.when.run(env);
  if (holds === true || level.resolveWhen === null) return holds;
  const resolved = level.resolveWhen.run(env);
  if (resolved === false) return true;
  // Neither side of the band decides while one of them is unknown.
  if (isUnknown(resolved)) return resolved;
  return isUnknown(holds) ? holds : false;
}

/**
 * The common case of `judge`, without its bookkeeping: no level stands, and all inputs are fresh (`env.allFresh` is set).
 * @returns whether it is known that no level holds; false says nothing
 */
export function nothingHolds({ value, levels }: ConditionRule, env: Env): boolean {
  if (value !== null) env.value = value.run(env);
  for (let i = 0; i < levels.length; i++) if (levels[i]!.when.run(env) !== false) return false;
  return true;
}

/** @returns until when all of these were seen lately enough, ms: before now where one is too old, -∞ where one never was seen */
export function freshUntilMs(inputs: readonly Input[], env: Env): number {
  let untilMs = Number.POSITIVE_INFINITY;
  for (let i = 0; i < inputs.length; i++) {
    const { facts, sources, staleAfterMs } = inputs[i]!;
    const seenMs = facts(env)?.seenMs;
    for (let j = 0; j < sources.length; j++) {
      const seen = seenMs?.[sources[j]!];
      if (seen === undefined) return Number.NEGATIVE_INFINITY;
      const until = seen + staleAfterMs[j]!;
      if (until < untilMs) untilMs = until;
    }
  }
  return untilMs;
}

/** @returns whether the rule matches this event; unknown counts as no match, with a reason to show. */
export function judgeEvent(rule: EventRule, env: Env): boolean | Unknown {
  return rule.when.run(env);
}

/**
 * Looks once at every source behind the rule. When all are fresh, which is nearly always, no field has to ask again;
 * and the first of them to become stale is the moment at which time alone may change the outcome.
 * @returns when the oldest of them was seen; `nowMs` where none has an age.
 */
function lookAtInputs(rule: ConditionRule, env: Env): number {
  const { nowMs } = env;
  const { inputs } = rule;
  let oldest = nowMs;
  let fresh = true;
  let freshUntil = Number.POSITIVE_INFINITY;
  for (let i = 0; i < inputs.length; i++) {
    const { facts, sources, staleAfterMs } = inputs[i]!;
    const seenMs = facts(env)?.seenMs;
    for (let j = 0; j < sources.length; j++) {
      const seen = seenMs?.[sources[j]!];
      if (seen === undefined) fresh = false;
      else {
        if (seen < oldest && !isConfiguration(sources[j]!)) oldest = seen;
        const until = seen + staleAfterMs[j]!;
        if (until < nowMs) fresh = false;
        else if (until < freshUntil) freshUntil = until;
      }
    }
  }
  env.allFresh = fresh;
  env.freshUntilMs = freshUntil;
  return oldest;
}

/**
 * A market's configuration and its hours go stale like everything else, but their age is not the age of a figure: margin
 * factors read ten minutes ago and marks of a second ago make a figure of a second ago.
 */
function isConfiguration(source: Source): boolean {
  return source === "marketConfig" || source === "calendars";
}
