/** Updates clocks, data states and alerts of conditions with the results of judgements. */

import { step } from "../../alerts/lifecycle.ts";
import type { ChangesBuilder } from "../../domain/stored/changes-builder.ts";
import { stoodStillMs } from "../../domain/structures/deadlines.ts";
import type { Env } from "../../rules/index.ts";
import type { SubjectNode } from "../../state/subjects.ts";
import { unreadFigure } from "../known-figures.ts";
import { isUncertain, type Judged } from "./both-ends.ts";
import type { ConditionAlerts } from "./condition-alerts.ts";
import type { ConditionJudgements } from "./condition-judgements.ts";
import { type ConditionSchedule, driftMs } from "./condition-schedule.ts";
import type { ConditionTexts } from "./condition-texts.ts";
import type { Instance } from "./instance.ts";
import { judgeOld } from "./old-accounts.ts";
import type { RuleStateRows } from "./rule-state-rows.ts";
import { rulesOf } from "./subject-rules.ts";

export interface CourseOptions {
  /** Time until which a condition that holds at its first judgement counts as having held before the start, ms. */
  readonly firstLookUntilMs: number;
  /** Returns true while the first answers are awaited: after a start, or after the reload that added the rule. */
  readonly starting: (rule: string, atMs: number) => boolean;
  /** True if its account has just lost its last position to a liquidation. */
  readonly emptied: (instance: Instance) => boolean;
  /** See `Instance.heldSlot`: the slot for a condition of this subject that holds now. */
  readonly heldSlotOf: (node: SubjectNode) => number;
  /** See `Instance.heldEmptyMs`, likewise. */
  readonly heldEmptyMsOf: (node: SubjectNode) => number | null;
  /** Called for each judgement that became unknown or known: collects missing data. */
  readonly onDataState: (instance: Instance, builder: ChangesBuilder) => void;
  /** Called for a condition that holds, but has not held long enough to fire. */
  readonly onPending: (instance: Instance) => void;
}

interface CourseParts {
  readonly judgements: ConditionJudgements;
  readonly texts: ConditionTexts;
  readonly alerts: ConditionAlerts;
  readonly rows: RuleStateRows;
  readonly schedule: ConditionSchedule;
}

export class ConditionCourse {
  readonly #options: CourseOptions;
  readonly #parts: CourseParts;

  constructor(options: CourseOptions, parts: CourseParts) {
    this.#options = options;
    this.#parts = parts;
  }

  conclude(instance: Instance, env: Env, judged: Judged, builder: ChangesBuilder): void {
    if (judged.kind === "unknown") this.#keepLastSeen(instance, builder.atMs);
    const fresh = this.#withTexts(instance, env, judged);
    const turned = noteDataState(instance, fresh, builder);
    const old = fresh.kind === "unknown" ? this.#parts.judgements.byOld(instance, env, judgeOld) : null;
    this.#advance(instance, env, old ?? fresh, old !== null, builder);
    // A source that only texts read is no reason to judge.
    if (fresh !== judged) this.#parts.schedule.set(instance, builder.atMs + driftMs);
    else if (fresh.kind === "unknown" && old === null) {
      const oldMs = this.#parts.judgements.awaitedOldMs(instance, builder.atMs);
      if (oldMs !== null) this.#parts.schedule.set(instance, oldMs);
    }
    env.oldAccounts = false;
    // Last, since it may render texts of other rules of the subject.
    if (turned && instance.rule.mode === "live") this.#options.onDataState(instance, builder);
  }

  /** Keeps the last text of an alert that can no longer be judged: windows look back from the present only. */
  #keepLastSeen(instance: Instance, nowMs: number): void {
    const { alert, unknown, windows, staleMs } = instance;
    if (alert === null || unknown !== null || windows.length === 0) return;
    const wasFresh = nowMs >= staleMs && nowMs - staleMs <= stoodStillMs;
    alert.lastSeen = wasFresh
      ? this.#parts.texts.at(instance, staleMs - 1, alert.alert.severity, () => null)
      : null;
  }

  /** @param old judged by positions that are too old */
  #advance(instance: Instance, env: Env, judged: Judged, old: boolean, builder: ChangesBuilder): void {
    const { rule, node } = instance;
    const known = judged.kind === "known";
    const idle = instance.lifecycle.sinceMs === null;
    const lastKnownMs = instance.knownAtMs;
    if (known && !old) {
      instance.knownAtMs = builder.atMs;
      this.#parts.alerts.judged(instance, judged.dataAtMs);
    }
    const { heldSlot: lastHeldSlot, heldEmptyMs: lastHeldEmptyMs } = instance;
    if (known && judged.severity !== null) {
      instance.heldAtMs = builder.atMs;
      instance.heldSlot = this.#options.heldSlotOf(node);
      instance.heldEmptyMs = this.#options.heldEmptyMsOf(node);
    }
    if (known && !old && !instance.judged) {
      instance.judged = true;
      const atTheStart = node.first && builder.atMs <= this.#options.firstLookUntilMs;
      instance.alreadySo ||= atTheStart && judged.severity !== null && idle;
    }
    // The rule looks back to a time before the daemon ran: a condition that holds once it can be judged began in the meantime.
    if (!known && judged.unknown.unknown === "uncovered") instance.judged = true;
    // Nothing holds now or before: no clock runs.
    if (idle && (!known || judged.severity === null)) {
      if (rulesOf(instance.node).plan[instance.index]?.restless !== false)
        this.#parts.schedule.next(instance, env, rule);
      else this.#parts.schedule.rest(instance, env);
      return;
    }
    const before = known ? this.#parts.judgements.countedOf(instance, lastKnownMs) : instance.lifecycle;
    const { doubt } = judged;
    const certainBefore = instance.doubted ? instance.certain : undefined;
    if (known) {
      instance.doubted = doubt !== undefined && isUncertain(judged, judged.severity);
      instance.certain = instance.doubted ? doubt!.certain : null;
    }
    // A condition that a liquidation or an explained withdrawal ended cannot return a moment later, so its alert ends at once.
    const endedNow = known && !old && judged.severity === null;
    const explained = endedNow ? this.#parts.judgements.explained(instance, lastKnownMs, builder.atMs) : null;
    const outlived =
      known &&
      !old &&
      !endedNow &&
      this.#parts.judgements.explained(instance, lastKnownMs, builder.atMs) !== null;
    if (outlived) instance.outlivedMs = builder.atMs;
    const over = explained !== null || (endedNow && this.#options.emptied(instance));
    const terms = doubt === undefined ? rule : { ...rule, certain: doubt.certain, certainBefore };
    const { state, transition } = step(
      before,
      known ? { known, severity: judged.severity, old } : { known, ...countsUntil(instance, builder.atMs) },
      over ? { ...terms, keepFiringForMs: 0 } : terms,
      builder.atMs,
    );
    instance.lifecycle = state;
    switch (transition) {
      case "fired":
        this.#parts.alerts.fire(instance, env, judged, builder);
        break;
      case "rose":
      case "fell":
        this.#parts.alerts.change(instance, transition, env, judged, builder);
        break;
      case "ended":
        this.#parts.alerts.recover(instance, env, judged, explained, builder);
        instance.alreadySo = false;
        break;
      default: {
        if (transition === "pending") this.#options.onPending(instance);
        if (transition === "cleared") instance.alreadySo = false;
        // An alert on its way to a higher level is changed to that level, without a reminder shortly before.
        // The daemon's own figures (such as the wait of a message) grow continuously; the schedule sets the pace of reminders.
        const ofTheDaemon = node.subject.scope === "daemon";
        if (instance.alert && known && !ofTheDaemon && judged.severity === instance.alert.alert.severity) {
          this.#parts.alerts.refresh(instance, env, judged, builder);
        }
      }
    }
    const clocked = clocksRun(state) || clocksRun(before);
    const moved = before !== state && (transition !== "none" || clocked);
    const heldOtherwise = instance.heldSlot !== lastHeldSlot || instance.heldEmptyMs !== lastHeldEmptyMs;
    this.#parts.rows.store(instance, moved || outlived || heldOtherwise, builder);
    this.#parts.schedule.next(instance, env, terms, instance.unknown === null || old);
  }

  /** Delays a new alert until the figures in its texts were read, for some seconds after a start. */
  #withTexts(instance: Instance, env: Env, judged: Judged): Judged {
    if (judged.kind === "unknown" || judged.severity === null || instance.alert !== null) return judged;
    if (!this.#options.starting(instance.rule.name, env.nowMs)) return judged;
    const unknown = unreadFigure(instance.rule, env);
    if (unknown === null) return judged;
    const { value, dataAtMs } = judged;
    return { kind: "unknown", unknown, value, dataAtMs };
  }
}

/** @returns true if it became unknown, became known, or is unknown for another reason */
function noteDataState(instance: Instance, judged: Judged, builder: ChangesBuilder): boolean {
  const unknown = judged.kind === "unknown" ? judged.unknown : null;
  const { unknown: before } = instance;
  if (unknown === null && before === null) return false;
  const changed =
    before === null || unknown === null
      ? before !== unknown
      : before.source !== unknown.source ||
        before.unknown !== unknown.unknown ||
        before.wallet !== unknown.wallet;
  if (before === null) instance.unknownSinceMs = builder.atMs;
  instance.unknown = unknown;
  return changed;
}

/** The end of the time for which the judgement before an unknown one counts: none if the process was suspended. */
function countsUntil({ staleMs }: Instance, nowMs: number): { readonly fromMs?: number } {
  return nowMs - staleMs > stoodStillMs ? {} : { fromMs: staleMs - 1 };
}

/** True if a level is about to fire or to end: its clock has to be stored over a restart. */
function clocksRun(state: Instance["lifecycle"]): boolean {
  return state.levels.some((level) => (level.active ? !level.holds : level.holds));
}
