/**
 * The life that alerts of a rule should have had, from the truth alone: a level is reached when its condition has held for the
 * rule's `for`, and left when the condition that ends it has held for `keepFiringFor`.
 */
import { type Context, type Model, rank, type Severity } from "./models.ts";

/** A level that should have been reported, or a recovery. */
export interface Due {
  readonly rule: string;
  readonly subject: string;
  /** Null: recovered. */
  readonly severity: Severity | null;
  readonly atMs: number;
  /** Until when it stays so, ms. */
  untilMs: number;
}

const gridMs = 500;

interface LevelState {
  active: boolean;
  heldSinceMs: number | null;
  goneSinceMs: number | null;
}

/** Conditions have to hold a little more clearly than their thresholds say, so that what is expected is beyond dispute. */
const strict = -0.005;

/** @param fromMs when the daemon began to watch */
export function dueOf(model: Model, context: Context, fromMs: number, toMs: number): readonly Due[] {
  const { trace } = context;
  const due: Due[] = [];
  const subjects = new Set<string>();
  for (const moment of trace.between(fromMs, toMs))
    for (const subject of model.subjects(context, moment)) subjects.add(subject);
  const times = new Set<number>();
  for (let ms = fromMs; ms <= toMs; ms += gridMs) times.add(ms);
  for (const { atMs } of trace.moments) if (atMs > fromMs && atMs <= toMs) times.add(atMs);
  const ordered = [...times].sort((a, b) => a - b);
  for (const subject of subjects) {
    let states: LevelState[] = [];
    let reported: Severity | null = null;
    let last: Due | null = null;
    const change = (severity: Severity | null, atMs: number) => {
      if (last) last.untilMs = atMs;
      last = { rule: model.rule, subject, severity, atMs, untilMs: toMs };
      due.push(last);
      reported = severity;
    };
    for (const atMs of ordered) {
      const levels = model.levels(context, trace.at(atMs), atMs, subject, strict);
      if (!levels) {
        // A subject that is gone ends its alert for another reason, which is no recovery.
        if (last) (last as Due).untilMs = Math.min((last as Due).untilMs, atMs);
        last = null;
        states = [];
        reported = null;
        continue;
      }
      let highest: Severity | null = null;
      for (const [index, { severity, on, off }] of levels.entries()) {
        states[index] ??= { active: false, heldSinceMs: null, goneSinceMs: null };
        const state = states[index];
        const holds = on || (state.active && !off);
        if (holds) {
          state.heldSinceMs ??= atMs;
          state.goneSinceMs = null;
          if (atMs - state.heldSinceMs >= model.forMs) state.active = true;
        } else {
          state.heldSinceMs = null;
          if (state.active) {
            state.goneSinceMs ??= atMs;
            if (atMs - state.goneSinceMs >= model.keepMs) state.active = false;
          }
        }
        if (state.active) highest = severity;
      }
      if (highest !== reported) change(highest, atMs);
    }
  }
  return due;
}

/** Returns true if a due entry says that things got worse or are over; a level that falls is no news that anybody waits for. */
export function isNews(due: Due, before: Due | undefined): boolean {
  if (due.severity === null) return true;
  return !before || before.severity === null || rank[due.severity] > rank[before.severity];
}
