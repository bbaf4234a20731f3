/**
 * Decides the next state of one (rule, subject) from one judgement. Pure.
 *
 * Every level of a rule has two clocks. `heldMs` runs while the judged level is known to be at or above it, and
 * activates the level at `for`; `goneMs` runs while it is known to be below, and releases the level at `keepFiringFor`.
 * A known judgement counts until its inputs are stale. The time from then to the next known judgement counts for neither
 * clock and resets neither. A judgement by stale inputs (`old`) activates levels whose time it completes and takes none back; its
 * time is forgotten with the next judgement by fresh ones. The alert's severity is the highest active level:
 *
 *   none active ──a level held for `for`──► fired ──higher one──► rose ──it was gone──► fell ──none active──► ended
 */
import { type LevelState, type Severity, severityRank } from "../domain/alert.ts";

export interface LifecycleRule {
  /** Ascending by severity. */
  readonly levels: readonly { readonly severity: Severity }[];
  readonly forMs: number;
  readonly keepFiringForMs: number;
  /** Levels above this one may hold because of something that is not explained: they fire no sooner than `uncertainForMs`. */
  readonly certain?: Severity | null;
  /** The same of the judgement before: a level that was certain until now fires no sooner than so long from now. Absent: all were. */
  readonly certainBefore?: Severity | null | undefined;
}

export const uncertainForMs = 10_000;

export interface Lifecycle {
  readonly levels: readonly LevelState[];
  /** Until when time is counted, ms. */
  readonly countedAtMs: number;
  /** The judgement at `countedAtMs` was unknown, or there was none yet: the time that follows it is not counted. */
  readonly blind: boolean;
  /** The beginning of this run of the condition; null while nothing holds. */
  readonly sinceMs: number | null;
  /** The levels by the last judgement by fresh inputs, where old judgements followed it; null: `levels` are these. */
  readonly fresh: readonly LevelState[] | null;
}

export type Judged =
  /** `old`: by inputs that are stale. Default: by fresh ones. */
  | { readonly known: true; readonly severity: Severity | null; readonly old?: boolean }
  /** `fromMs`: the judgement before counts until then. Absent: nothing after it counts. */
  | { readonly known: false; readonly fromMs?: number };

export type Transition = "none" | "pending" | "cleared" | "fired" | "rose" | "fell" | "ended";

export function newLifecycle(rule: LifecycleRule, nowMs: number): Lifecycle {
  return {
    levels: rule.levels.map(({ severity }) => ({
      severity,
      active: false,
      holds: false,
      heldMs: 0,
      goneMs: 0,
    })),
    countedAtMs: nowMs,
    blind: true,
    sinceMs: null,
    fresh: null,
  };
}

/** The levels without the time that old judgements counted: those that a restart goes on with. */
export function freshLevels({ levels, fresh }: Lifecycle): readonly LevelState[] {
  return fresh === null ? levels : levels.map((level, i) => (level.active ? level : fresh[i]!));
}

/** The state without the time that levels above this one held which do not fire. @param certain null: of all levels */
export function withoutHeld(state: Lifecycle, certain: Severity | null): Lifecycle {
  const rank = certain === null ? -1 : severityRank[certain];
  const cleared = (levels: readonly LevelState[]) =>
    levels.map((level) =>
      level.active || severityRank[level.severity] <= rank ? level : { ...level, holds: false, heldMs: 0 },
    );
  const levels = cleared(state.levels);
  const goesOn = levels.some(({ active, holds }) => active || holds);
  const fresh = state.fresh && goesOn ? cleared(state.fresh) : null;
  return { ...state, levels, fresh, sinceMs: goesOn ? state.sinceMs : null };
}

/** The severity at which the alert fires now, or null. */
export function firingSeverity(levels: readonly LevelState[]): Severity | null {
  for (let i = levels.length - 1; i >= 0; i--) if (levels[i]!.active) return levels[i]!.severity;
  return null;
}

/** The time for which a level has held, ms: up to now where the last judgement is known. */
export function heldMsOf(
  { levels, blind, countedAtMs }: Lifecycle,
  severity: Severity,
  nowMs: number,
): number {
  const level = levels.find((one) => one.severity === severity);
  if (level === undefined || !level.holds) return 0;
  return level.heldMs + (blind ? 0 : Math.max(0, nowMs - countedAtMs));
}

/** True if some level is active and the last judgement, by fresh inputs, was that none holds. */
export function isGone({ levels, blind, fresh }: Lifecycle): boolean {
  return (
    !blind && fresh === null && levels.some(({ active }) => active) && !levels.some(({ holds }) => holds)
  );
}

/** True if the last judgement, by fresh inputs, was that the level at which it fires does not hold. */
export function isBetter({ levels, blind, fresh }: Lifecycle): boolean {
  return !blind && fresh === null && levels.findLast(({ active }) => active)?.holds === false;
}

/** The time at which it ends if nothing of it holds again, ms; null: something holds, or nobody knows. */
export function endsMs(
  state: Lifecycle,
  { keepFiringForMs }: Pick<LifecycleRule, "keepFiringForMs">,
): number | null {
  if (!isGone(state)) return null;
  const leastGoneMs = Math.min(...state.levels.flatMap(({ active, goneMs }) => (active ? [goneMs] : [])));
  return state.countedAtMs + Math.max(0, keepFiringForMs - leastGoneMs);
}

export function step(
  state: Lifecycle,
  judged: Judged,
  rule: LifecycleRule,
  nowMs: number,
): { readonly state: Lifecycle; readonly transition: Transition } {
  if (!judged.known) {
    const { fromMs = state.countedAtMs } = judged;
    const levels = state.blind ? state.levels : counted(state, Math.min(fromMs, nowMs), rule);
    return { state: { ...state, levels, countedAtMs: nowMs, blind: true }, transition: "none" };
  }
  const { old = false } = judged;
  // Nobody knows what held while the inputs were stale.
  const known = old || state.fresh === null ? state.levels : freshLevels(state);
  const elapsedMs =
    state.blind || old !== (state.fresh !== null) ? 0 : Math.max(0, nowMs - state.countedAtMs);
  const rank = judged.severity === null ? -1 : severityRank[judged.severity];
  const before = firingSeverity(known);
  const levels = known.map((level) => {
    const holds = severityRank[level.severity] <= rank;
    return old && level.active && !holds ? level : stepLevel(level, holds, elapsedMs, rule);
  });
  const after = firingSeverity(levels);
  const fresh = old ? (state.fresh ?? state.levels) : null;
  const holds = rank >= 0 || fresh?.some((level) => level.holds);
  const sinceMs = holds || after !== null ? (state.sinceMs ?? nowMs) : null;
  return {
    state: { levels, countedAtMs: nowMs, blind: false, sinceMs, fresh: sinceMs === null ? null : fresh },
    transition: transition(before, after, state.sinceMs !== null, sinceMs !== null),
  };
}

/**
 * The levels after the time up to `untilMs`, with the judgement as it was. An unknown judgement moves no level: one whose
 * clock has run out moves with the next known judgement.
 */
function counted(
  { levels, countedAtMs, fresh }: Lifecycle,
  untilMs: number,
  rule: LifecycleRule,
): readonly LevelState[] {
  const elapsedMs = untilMs - countedAtMs;
  if (elapsedMs <= 0) return levels;
  return levels.map((level) => {
    // Nobody knows now whether it holds for certain.
    if (level.holds) {
      const forMs = level.active ? rule.forMs : Math.max(rule.forMs, uncertainForMs);
      return { ...level, heldMs: Math.min(level.heldMs + elapsedMs, forMs) };
    }
    return level.active && fresh === null
      ? { ...level, goneMs: Math.min(level.goneMs + elapsedMs, rule.keepFiringForMs) }
      : level;
  });
}

function stepLevel(level: LevelState, holds: boolean, elapsedMs: number, rule: LifecycleRule): LevelState {
  // A span counts for a clock only when both of its ends say the same.
  const spanMs = level.holds === holds ? elapsedMs : 0;
  if (holds) {
    const forMs = forMsOf(rule, level.severity);
    const becomesUncertain =
      !isCertain(rule.certain, level.severity) && isCertain(rule.certainBefore, level.severity);
    // Bounded, so that a level that has fired stays the same value while nothing changes.
    const mostMs = becomesUncertain && !level.active ? forMs - uncertainForMs : forMs;
    const heldMs = Math.min((level.holds ? level.heldMs : 0) + spanMs, mostMs);
    return {
      severity: level.severity,
      active: level.active || heldMs >= forMs,
      holds,
      heldMs,
      goneMs: 0,
    };
  }
  const goneMs = level.active ? (level.holds ? 0 : level.goneMs) + spanMs : 0;
  const active = level.active && goneMs < rule.keepFiringForMs;
  return { severity: level.severity, active, holds, heldMs: 0, goneMs: active ? goneMs : 0 };
}

function forMsOf({ forMs, certain }: LifecycleRule, severity: Severity): number {
  return isCertain(certain, severity) ? forMs : Math.max(forMs, uncertainForMs);
}

/** @param certain the highest level that is certain; null: none is; undefined: all are */
function isCertain(certain: Severity | null | undefined, severity: Severity): boolean {
  return certain === undefined || (certain !== null && severityRank[severity] <= severityRank[certain]);
}

function transition(
  before: Severity | null,
  after: Severity | null,
  held: boolean,
  holds: boolean,
): Transition {
  if (before === null && after !== null) return "fired";
  if (before !== null && after === null) return "ended";
  if (before !== null && after !== null && before !== after) {
    return severityRank[after] > severityRank[before] ? "rose" : "fell";
  }
  if (after === null && !held && holds) return "pending";
  if (after === null && held && !holds) return "cleared";
  return "none";
}

/**
 * The time at which time alone changes the state next, provided that the judgement stays as it is: the end of `for` or of
 * `keepFiringFor` of some level. Null when no clock runs.
 */
export function nextDeadlineMs(state: Lifecycle, rule: LifecycleRule): number | null {
  if (state.blind) return null;
  let restMs = Number.POSITIVE_INFINITY;
  for (const level of state.levels) {
    if (!level.active && level.holds) restMs = Math.min(restMs, forMsOf(rule, level.severity) - level.heldMs);
    if (level.active && !level.holds && state.fresh === null)
      restMs = Math.min(restMs, rule.keepFiringForMs - level.goneMs);
  }
  return Number.isFinite(restMs) ? state.countedAtMs + Math.max(0, Math.ceil(restMs)) : null;
}
