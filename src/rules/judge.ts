/**
 * Computes a rule's conclusion about one subject from its facts. Pure: no clock, and no state except the current level, which is a
 * parameter.
 *
 * Levels: a level stays until its `resolveWhen` holds (without one: until its `when` does not hold); a higher one is taken at once.
 * Unknown changes nothing, with one exception: a higher level whose condition is known to hold.
 */
import { type Severity, severityRank } from "../domain/alerts/alert.ts";
import type { Source } from "../domain/sources.ts";
import type { ConditionRule, EventRule, Input, Judgement, Level } from "./rule.ts";
import { type Env, isUnknown, type Unknown } from "./value.ts";

/**
 * @param env facts of the subject and its ancestors; its `value` is overwritten
 * @param current the current level (pending or firing), or null
 */
export function judge(rule: ConditionRule, env: Env, current: Severity | null): Judgement {
  const dataAtMs = lookAtInputs(rule, env);
  const value = rule.value === null ? undefined : rule.value.run(env);
  env.value = value;
  const outcome = levelOf(rule.levels, env, current);
  // Messages are rendered later, from facts that may be stale by then, and check them again.
  env.allFresh = false;
  const shown = typeof value === "number" ? value : null;
  return isUnknown(outcome)
    ? { kind: "unknown", unknown: outcome, value: shown, dataAtMs }
    : { kind: "known", severity: outcome, value: shown, dataAtMs };
}

/** @returns the level that the facts give, null for none, or the reason why it is unknown */
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
      // The current level and those below it: after a higher level, each stays until its own `resolveWhen`.
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
  // While one limit of the band is unknown, neither limit decides.
  if (isUnknown(resolved)) return resolved;
  return isUnknown(holds) ? holds : false;
}

/**
 * The most frequent case of `judge`, without its overhead: there is no current level, and all inputs are fresh (`env.allFresh` is set).
 * @returns true if no level is known to hold; false if this is not known
 */
export function nothingHolds({ value, levels }: ConditionRule, env: Env): boolean {
  if (value !== null) env.value = value.run(env);
  for (let i = 0; i < levels.length; i++) if (levels[i]!.when.run(env) !== false) return false;
  return true;
}

/** @returns the time until which all of these are fresh, ms: before now if one is stale, -∞ if one was never read */
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

/** @returns true if the rule matches this event; unknown counts as no match, with a reason for display */
export function judgeEvent(rule: EventRule, env: Env): boolean | Unknown {
  return rule.when.run(env);
}

/**
 * Checks the age of every source of the rule once. If all are fresh, which is nearly always so, fields need no check of their own, and
 * the time at which the first of them becomes stale is the next time at which the result may change without data.
 * @returns the time of the oldest reading, ms; `nowMs` if none has an age
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
 * True for a market's configuration and its hours. They become stale like other sources, but do not count for the age of a figure:
 * with margin factors read ten minutes ago and marks read a second ago, the figure is a second old.
 */
function isConfiguration(source: Source): boolean {
  return source === "marketConfig" || source === "calendars";
}
