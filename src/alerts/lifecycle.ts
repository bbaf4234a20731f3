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
import { type LevelState, type Severity, severityRank } from "../domain/alerts/alert.ts";

export interface LifecycleRule {
  /** Ascending by severity. */
  readonly levels: readonly { readonly severity: Severity }[];
  readonly forMs: number;
  readonly keepFiringForMs: number;
  /** Levels above this one may hold for an unexplained reason: they fire no sooner than `uncertainForMs`. */
  readonly certain?: Severity | null;
  /**
   * The same for the previous judgement: a level that was certain until now fires no sooner than `uncertainForMs` from
   * now. Absent: all were certain.
   */
  readonly certainBefore?: Severity | null | undefined;
}

export const uncertainForMs = 10_000;

export interface Lifecycle {
  readonly levels: readonly LevelState[];
  /** Time up to which the clocks have counted, ms. */
  readonly countedAtMs: number;
  /** True if the judgement at `countedAtMs` was unknown or missing: the time after it is not counted. */
  readonly isUnknown: boolean;
  /** The start of this run of the condition, ms; null while no level holds. */
  readonly sinceMs: number | null;
  /** The levels by the last judgement with fresh inputs, if stale judgements followed it; null: `levels` are these. */
  readonly fresh: readonly LevelState[] | null;
}

export type Judged =
  /** `old`: judged by stale inputs. Default: by fresh ones. */
  | { readonly known: true; readonly severity: Severity | null; readonly old?: boolean }
  /** `fromMs`: the previous judgement counts until then. Absent: the time after it does not count. */
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
    isUnknown: true,
    sinceMs: null,
    fresh: null,
  };
}

/** Returns the levels without the time that stale judgements counted; a restart continues from these. */
export function freshLevels({ levels, fresh }: Lifecycle): readonly LevelState[] {
  return fresh === null ? levels : levels.map((level, i) => (level.active ? level : fresh[i]!));
}

/** Returns the state with the time of non-firing levels above `certain` reset. @param certain null: all levels */
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

/** Returns the severity at which the alert fires now, or null. */
export function firingSeverity(levels: readonly LevelState[]): Severity | null {
  for (let i = levels.length - 1; i >= 0; i--) if (levels[i]!.active) return levels[i]!.severity;
  return null;
}

/** Returns the time for which a level has held, ms; up to now if the last judgement is known. */
export function heldMsOf(
  { levels, isUnknown, countedAtMs }: Lifecycle,
  severity: Severity,
  nowMs: number,
): number {
  const level = levels.find((one) => one.severity === severity);
  if (level === undefined || !level.holds) return 0;
  return level.heldMs + (isUnknown ? 0 : Math.max(0, nowMs - countedAtMs));
}

/** Returns true if a level is active and the last judgement, by fresh inputs, was that none holds. */
export function isGone({ levels, isUnknown, fresh }: Lifecycle): boolean {
  return (
    !isUnknown && fresh === null && levels.some(({ active }) => active) && !levels.some(({ holds }) => holds)
  );
}

/** Returns true if the last judgement, by fresh inputs, was that the firing level does not hold. */
export function isBetter({ levels, isUnknown, fresh }: Lifecycle): boolean {
  return !isUnknown && fresh === null && levels.findLast(({ active }) => active)?.holds === false;
}

/** Returns the time at which the alert ends if no level holds again, ms; null: a level holds, or this is unknown. */
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
    const levels = state.isUnknown ? state.levels : counted(state, Math.min(fromMs, nowMs), rule);
    return { state: { ...state, levels, countedAtMs: nowMs, isUnknown: true }, transition: "none" };
  }
  const { old = false } = judged;
  // It is unknown which levels held while the inputs were stale.
  const known = old || state.fresh === null ? state.levels : freshLevels(state);
  const elapsedMs =
    state.isUnknown || old !== (state.fresh !== null) ? 0 : Math.max(0, nowMs - state.countedAtMs);
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
    state: { levels, countedAtMs: nowMs, isUnknown: false, sinceMs, fresh: sinceMs === null ? null : fresh },
    transition: transition(before, after, state.sinceMs !== null, sinceMs !== null),
  };
}

/**
 * Counts the time up to `untilMs` under the previous judgement. An unknown judgement changes no level: a level whose
 * clock has run out changes with the next known judgement.
 */
function counted(
  { levels, countedAtMs, fresh }: Lifecycle,
  untilMs: number,
  rule: LifecycleRule,
): readonly LevelState[] {
  const elapsedMs = untilMs - countedAtMs;
  if (elapsedMs <= 0) return levels;
  return levels.map((level) => {
    // It is unknown whether this level holds with certainty.
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
  // A span counts for a clock only if the judgements at both of its ends agree.
  const spanMs = level.holds === holds ? elapsedMs : 0;
  if (holds) {
    const forMs = forMsOf(rule, level.severity);
    const becomesUncertain =
      !isCertain(rule.certain, level.severity) && isCertain(rule.certainBefore, level.severity);
    // Bounded, so that the value of a level that has fired does not change while nothing else does.
    const maxHeldMs = becomesUncertain && !level.active ? forMs - uncertainForMs : forMs;
    const heldMs = Math.min((level.holds ? level.heldMs : 0) + spanMs, maxHeldMs);
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

/** @param certain the highest certain level; null: none is certain; undefined: all are */
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
 * Returns the next time at which the state changes by time alone, with an unchanged judgement: the end of `for` or
 * `keepFiringFor` of a level. Null if no clock runs.
 */
export function nextDeadlineMs(state: Lifecycle, rule: LifecycleRule): number | null {
  if (state.isUnknown) return null;
  let restMs = Number.POSITIVE_INFINITY;
  for (const level of state.levels) {
    if (!level.active && level.holds) restMs = Math.min(restMs, forMsOf(rule, level.severity) - level.heldMs);
    if (level.active && !level.holds && state.fresh === null)
      restMs = Math.min(restMs, rule.keepFiringForMs - level.goneMs);
  }
  return Number.isFinite(restMs) ? state.countedAtMs + Math.max(0, Math.ceil(restMs)) : null;
}
