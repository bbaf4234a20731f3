/**
 * Judges conditions: attaches the rules to the subjects that they select, asks them whenever something that they read
 * arrived or time alone can change the outcome, and turns what they conclude into the life of an alert.
 */

import type { AlertBook } from "../alerts/alert-book.ts";
import {
  firingSeverity,
  freshLevels,
  isBetter,
  isGone,
  type Lifecycle,
  type LifecycleRule,
  nextDeadlineMs,
  step,
  withoutHeld,
} from "../alerts/lifecycle.ts";
import type { AlertText, LiveAlert } from "../alerts/live-alert.ts";
import { type Notified, notifiedWith } from "../alerts/reminders/remind.ts";
import { comparisonOf, isFurther, movement } from "../alerts/reminders/worsening.ts";
import { coverOf, detailsOf } from "../alerts/texts/details.ts";
import { type LimitWords, limitWords } from "../alerts/texts/limit-text.ts";
import { noteWorst } from "../alerts/texts/worst.ts";
import { type RuleRow, type RuleState, type Severity, severityRank } from "../domain/alert.ts";
import type { ChangesBuilder } from "../domain/changes-builder.ts";
import { type Deadlines, stoodStillMs } from "../domain/deadlines.ts";
import { type Source, sources } from "../domain/sources.ts";
import type { Scope, Subject } from "../domain/subject.ts";
import type { TemplateFacts } from "../domain/template-data.ts";
import {
  type ConditionRule,
  type Env,
  freshUntilMs,
  type Judgement,
  judge,
  type RuleSet,
  type Window,
  type WindowPath,
  type WindowSpec,
} from "../rules/index.ts";
import type { ExplainedFlow } from "../state/profit/open-changes.ts";
import type { Doubt } from "../state/profit/profit.ts";
import { noWindows, type SubjectNode, windowsOf } from "../state/subjects.ts";
import { isProfit } from "../state/wants.ts";
import type { WatchedWallet } from "../state/watched.ts";
import type { WindowPlan } from "../state/windows/windows.ts";
import { endText, isUncertain, type Judged, judgeBothEnds, unexplainedText } from "./both-ends.ts";
import { Instance, noInstances, noViews, Timer } from "./instance.ts";
import { unreadFigure } from "./known-figures.ts";
import {
  judgeOld,
  labelled,
  oldFromMs,
  raisedByOld,
  restsOnOldPositions,
  showsOldPositions,
} from "./old-accounts.ts";
import { noPlan, Plans, staysQuiet } from "./plan.ts";
import { PresentWindow } from "./present-window.ts";
import { applies, judges } from "./selection.ts";
import type { Judging } from "./staleness.ts";
import { type Former, rulesOf, type SubjectRules } from "./subject-rules.ts";

/** Judging again at most this often for what drifts with time alone (`now`, window edges). */
const driftMs = 1_000;

export interface ConditionsOptions {
  /** IANA name, for times in texts. */
  readonly timezone: string;
  /** Returns true if the figures of a subject are computed at the current marks, and not given as such. */
  readonly isMarked: (node: SubjectNode) => boolean;
  /** Since when prices are read without a gap, ms. */
  readonly pricesSinceMs: () => number;
  readonly ruleSet: RuleSet;
  /** The windows of subjects that need none yet. */
  readonly windows: WindowPlan;
  readonly wallet: (name: string) => WatchedWallet | undefined;
  /** The node that owns a path in a rule of this subject: itself, an ancestor, or a market by name. */
  readonly owner: (
    node: SubjectNode,
    path: WindowPath & { readonly kind: "field" },
  ) => SubjectNode | undefined;
  readonly alerts: AlertBook;
  readonly deadlines: Deadlines;
  readonly builder: () => ChangesBuilder;
  /** The facts of a judgement that channel templates name. */
  readonly facts: (env: Env) => TemplateFacts | undefined;
  /** Until when what holds at its first judgement was so when watching began, ms. */
  readonly firstLookUntilMs: number;
  /** Returns true while the first answers are on their way: after a start, or after the reload that brought the rule. */
  readonly starting: (rule: string, atMs: number) => boolean;
  /** True if its account has just lost its last position to a liquidation. */
  readonly emptied: (instance: Instance) => boolean;
  /** See `Instance.heldSlot`: the slot for a condition of this subject that holds now. */
  readonly heldSlotOf: (node: SubjectNode) => number;
  /** See `Instance.heldEmptyMs`, likewise. */
  readonly heldEmptyMsOf: (node: SubjectNode) => number | null;
  /** The share of a window over events whose time is told, 0–1; null where nobody can say. */
  readonly toldShare: (spec: WindowSpec, node: SubjectNode, nowMs: number) => number | null;
  /** The doubt about the profit that a rule of this subject reads; null: there is none. */
  readonly doubtOf: (node: SubjectNode) => Doubt | null;
  /** The change of collateral of this subject that was explained as paid in or out from this time on; null: there is none. */
  readonly explainedSince: (node: SubjectNode, ms: number, raisedMs: number) => ExplainedFlow | null;
  /** Told of each judgement that turned unknown or known again: blindness is gathered from these. */
  readonly onSight: (instance: Instance, builder: ChangesBuilder) => void;
  /** It holds, and does not fire before it has held for a while. */
  readonly onPending: (instance: Instance) => void;
  /** Ends the alert of a position that is not the one of this name which stands now. */
  readonly onReplaced: (
    instance: Instance,
    live: LiveAlert,
    incarnation: string,
    builder: ChangesBuilder,
  ) => void;
  /** Ends an alert whose condition is gone, with the reason that the facts give ("recovered" unless they say otherwise). */
  readonly onRecovered: (
    instance: Instance,
    live: LiveAlert,
    recovered: Recovered,
    builder: ChangesBuilder,
  ) => void;
  /** Takes back the alert whose recovery was not told yet, for a condition that fires anew; null: there is none. */
  readonly takeBack: (instance: Instance, builder: ChangesBuilder) => LiveAlert | null;
}

/** The last text of a condition that is gone. */
export interface Recovered {
  readonly text: AlertText;
  /** Its text at a later time: null once it holds again, cannot be judged, or what it is about is gone. */
  readonly textAt: (nowMs: number) => AlertText | null;
  /** It held because of a change of collateral that was paid in or out; null: it did not. */
  readonly explained: ExplainedFlow | null;
}

export class Conditions {
  readonly #options: ConditionsOptions;
  readonly #byScope = new Map<Scope, readonly ConditionRule[]>();
  /** Windows over the series of each scope, whichever subjects look through them. */
  readonly #series = new Map<Scope, { readonly rule: ConditionRule; readonly spec: WindowSpec }[]>();
  readonly #plans: Plans;
  /** Rules that read the profit of wallets. */
  readonly #ofProfit: ReadonlySet<ConditionRule>;
  /** Counts judgings of subjects; see `Look`. */
  #turn = 0;
  readonly #due = (instance: Instance): void => this.judge(instance, this.#options.builder());
  readonly #judging: Judging<SubjectRules>;
  /** States found in history that no subject has claimed yet. */
  readonly #restored = new Map<string, { readonly state: RuleState; readonly alert: LiveAlert | null }>();
  /**
   * Instances by the row of history that they own: a position that flipped or reopened takes over the row of the one before
   * it.
   */
  readonly #rows = new Map<string, Instance>();

  constructor(options: ConditionsOptions) {
    this.#options = options;
    this.#judging = {
      deadlines: options.deadlines,
      judgeStale: (of, nowMs) => this.#judgeStale(of, nowMs),
      firstStaleMs: (of) => this.#firstStaleMs(of),
    };
    for (const rule of options.ruleSet.conditions) {
      this.#byScope.set(rule.scope, [...(this.#byScope.get(rule.scope) ?? []), rule]);
      for (const spec of rule.windows) {
        if (spec.path.kind !== "field" || spec.path.scope === rule.scope) continue;
        const { scope } = spec.path;
        this.#series.set(scope, [...(this.#series.get(scope) ?? []), { rule, spec }]);
      }
    }
    this.#ofProfit = new Set(options.ruleSet.conditions.filter((rule) => rule.reads.some(isProfit)));
    this.#plans = new Plans(options.ruleSet.conditions, ({ reads }) =>
      bitsOf(reads.flatMap(({ sources: read }) => read)),
    );
  }

  restore(state: RuleState, alert: LiveAlert | null): void {
    this.#restored.set(`${state.rule}\n${state.subject}`, { state, alert });
  }

  /** True if no subject has taken this state up since the start. */
  unclaimed(state: RuleState): boolean {
    return this.#restored.has(`${state.rule}\n${state.subject}`);
  }

  forget(state: RuleState): void {
    this.#restored.delete(`${state.rule}\n${state.subject}`);
  }

  /** Gives a subject the rules that select it. */
  attach(node: SubjectNode, builder: ChangesBuilder): void {
    this.#prepare(node);
    const own = rulesOf(node);
    own.staleness.keep(this.#judging);
    const all = this.#byScope.get(node.subject.scope) ?? [];
    const rules = all.filter((rule) => judges(rule, node.subject, this.#options.wallet));
    own.views = rules.map((rule) => this.#viewOf(rule, node));
    own.instances = rules.map((rule, i) => new Instance(rule, node, own.views[i]!, i));
    own.plan = this.#plans.of(rules);
    for (const instance of own.instances) {
      this.#claim(instance, builder);
      if (own.former && this.#goOn(instance, own.former, builder)) continue;
      // Judged once even when nothing of what it reads ever arrives: then it is blind, and somebody has to say so.
      this.#setTimer(instance, own.former ? builder.atMs : builder.atMs + driftMs);
    }
    if (own.former === null) return;
    own.former = null;
    own.instances = own.instances.filter(({ index }) => !own.quiet.has(index));
    own.staleness.noted(this.#firstStaleMs(own));
  }

  /** After a reload: a rule whose condition is as it was goes on with its clocks and its data state. */
  #goOn(instance: Instance, { plan, instances, quiet }: Former, builder: ChangesBuilder): boolean {
    const { rule } = instance;
    // Nearly always the rules are the same.
    const index =
      plan[instance.index]?.rule.name === rule.name
        ? instance.index
        : plan.findIndex((one) => one.rule.name === rule.name);
    const was = plan[index]?.rule;
    if (was?.fingerprint !== rule.fingerprint) return false;
    const before = instances.find((one) => one.index === index);
    if (before === undefined) instance.judged = quiet.has(index);
    else instance.goOn(before);
    if (instance.unknown !== null && rule.mode === "live") this.#options.onSight(instance, builder);
    // With other times or ages it may say something else at once.
    if (!isSameJudging(was, rule)) return false;
    if (quiet.has(index)) rulesOf(instance.node).quiet.set(instance.index, true);
    else if (before?.timer && Number.isFinite(before.timer.dueMs))
      this.#setTimer(instance, before.timer.dueMs);
    return true;
  }

  /** The windows through which a rule looks back from this subject. */
  #viewOf(rule: ConditionRule, node: SubjectNode): readonly Window[] {
    if (rule.windows.length === 0) return noWindows;
    return rule.windows.map((spec) => {
      const { path } = spec;
      const owner = path.kind === "event" ? node : (this.#options.owner(node, path) ?? node);
      const window = windowsOf(owner, this.#options.windows).of(spec);
      if (path.kind === "event" || !isProfit(path)) return window;
      return new PresentWindow(window, owner.facts, path.field, path.companion);
    });
  }

  /**
   * Makes the windows through which others will look at this subject (a position at its market), before its past is fed
   * to them: those others appear later.
   */
  #prepare(node: SubjectNode): void {
    const { subject } = node;
    for (const { rule, spec } of this.#series.get(subject.scope) ?? []) {
      const symbol = spec.path.kind === "field" ? spec.path.symbol : null;
      if (symbol !== null && subject.scope === "market" && symbol.toUpperCase() !== subject.symbol) continue;
      const { needsSession } = rule;
      const select = { ...rule.select, symbol: null };
      if ("wallet" in subject && !applies({ select, needsSession }, subject, this.#options.wallet)) continue;
      windowsOf(node, this.#options.windows).of(spec);
    }
  }

  /**
   * Takes the rules off a subject that is gone. `end` ends each alert that it had raised; the rows of those stay in
   * history until `released` is called for them, so that a restart in between ends them too.
   */
  detach(
    node: SubjectNode,
    builder: ChangesBuilder,
    end: (instance: Instance, live: LiveAlert, row: RuleRow, last: AlertText | null) => void,
  ): void {
    const own = rulesOf(node);
    for (const instance of own.instances) {
      this.#stopTimer(instance);
      if (instance.unknown) {
        instance.unknown = null;
        if (instance.rule.mode === "live") this.#options.onSight(instance, builder);
      }
      const row = { rule: instance.rule.name, subject: node.name };
      if (instance.alert) {
        if (instance.stored) this.#rows.delete(rowName(row));
        end(instance, instance.alert, row, this.#lastText(instance, builder.atMs));
        instance.alert = null;
      } else this.#drop(instance, builder);
    }
    own.instances = noInstances;
    own.views = noViews;
    own.plan = noPlan;
  }

  released(row: RuleRow, builder: ChangesBuilder): void {
    if (!this.#rows.has(rowName(row))) builder.changes.ruleStatesGone.push(row);
  }

  /** Judges what a subject's rules make of an arrival from `source`, or from all of these at once. */
  judgeNode(node: SubjectNode, source: Source | readonly Source[] | null, builder: ChangesBuilder): void {
    const own = rulesOf(node);
    if (own.plan.length === 0) return;
    const asked = source === null ? -1 : typeof source === "string" ? sourceBit(source) : bitsOf(source);
    const { views, plan, quiet } = own;
    const { env, windows } = node;
    const { atMs } = builder;
    const turn = ++this.#turn;
    const held = windows !== null && atMs <= windows.heldUntilMs;
    let lookedBack = false;
    let staleMs = Number.POSITIVE_INFINITY;
    env.nowMs = atMs;
    for (let i = 0; i < plan.length; i++) {
      const planned = plan[i]!;
      if ((planned.sources & asked) === 0 && source !== null) continue;
      if (quiet.has(i)) {
        if (planned.looksBackOnly) {
          lookedBack = true;
          const untilMs = planned.look.untilMs(env, turn);
          if (held && untilMs >= atMs) {
            staleMs = Math.min(staleMs, untilMs + 1);
            continue;
          }
        }
        if (planned.looksBack) env.looked = views[i]!;
        if (staysQuiet(planned, env, turn)) {
          staleMs = Math.min(staleMs, planned.look.untilMs(env, turn) + 1);
          continue;
        }
      }
      this.judge(own.rouse(i), builder);
    }
    own.staleness.noted(staleMs);
    if (lookedBack && !held) this.#noteHeld(own, asked, atMs);
  }

  #firstStaleMs({ instances, plan, quiet, node: { env } }: SubjectRules): number {
    const turn = ++this.#turn;
    let firstMs = Number.POSITIVE_INFINITY;
    for (let i = 0; i < plan.length; i++)
      if (quiet.has(i)) firstMs = Math.min(firstMs, plan[i]!.look.untilMs(env, turn) + 1);
    for (const { index, staleMs } of instances) if (!quiet.has(index) && staleMs < firstMs) firstMs = staleMs;
    return firstMs;
  }

  /** Judges by those rules of a subject that rest on something stale by now. */
  #judgeStale(own: SubjectRules, nowMs: number): void {
    const builder = this.#options.builder();
    for (let i = 0; i < own.plan.length; i++) {
      const { rule } = own.plan[i]!;
      const staleMs = own.quiet.has(i)
        ? freshUntilMs(rule.inputs, own.node.env) + 1
        : own.instance(i).staleMs;
      if (staleMs <= nowMs) this.judge(own.rouse(i), builder);
    }
  }

  /** Notes until when its windows hold, where all that was quiet because of them was looked at just now. */
  #noteHeld({ views, plan, quiet, node }: SubjectRules, asked: number, atMs: number): void {
    const { windows } = node;
    if (windows === null) return;
    let untilMs = Number.POSITIVE_INFINITY;
    for (let i = 0; i < plan.length; i++) {
      const { looksBackOnly, sources: read } = plan[i]!;
      if (!looksBackOnly || !quiet.has(i)) continue;
      if ((read & asked) === 0) return;
      for (const window of views[i]!)
        untilMs = Math.min(untilMs, window.holdsUntilMs?.(atMs) ?? Number.NEGATIVE_INFINITY);
    }
    windows.heldUntilMs = untilMs;
  }

  judge(instance: Instance, builder: ChangesBuilder): void {
    rulesOf(instance.node).quiet.set(instance.index, false);
    const env = this.#envOf(instance, builder.atMs);
    const current = instance.lifecycle.sinceMs === null ? null : (instance.alert?.alert.severity ?? null);
    const doubt = this.#doubtOf(instance);
    if (doubt === null) {
      this.#conclude(instance, env, judge(instance.rule, env, current), builder);
      return;
    }
    this.#conclude(instance, env, judgeBothEnds(instance.rule, env, current, doubt), builder);
    doubt.leave();
  }

  /**
   * Judges at another moment, and uses the judgement while the figures are those that it was made by. Whoever asks may be amid
   * a judgement of the same subject, whose figures stand again afterwards.
   */
  #look<T>(
    instance: Instance,
    nowMs: number,
    current: Severity | null,
    use: (judged: Judged, env: Env) => T,
  ): T {
    const before = { ...instance.node.env };
    const env = this.#envOf(instance, nowMs);
    const doubt = this.#doubtOf(instance);
    const judged =
      doubt === null ? judge(instance.rule, env, current) : judgeBothEnds(instance.rule, env, current, doubt);
    const used = use(judged, env);
    doubt?.leave();
    Object.assign(env, before);
    return used;
  }

  #doubtOf({ rule, node }: Instance): Doubt | null {
    return this.#ofProfit.has(rule) ? this.#options.doubtOf(node) : null;
  }

  #conclude(instance: Instance, env: Env, judged: Judged, builder: ChangesBuilder): void {
    if (judged.kind === "unknown") this.#keepLastSeen(instance, builder.atMs);
    const fresh = this.#withTexts(instance, env, judged);
    const turned = this.#noteSight(instance, fresh, builder);
    const old = fresh.kind === "unknown" ? this.#judgedOld(instance, env, judgeOld) : null;
    this.#advance(instance, env, old ?? fresh, old !== null, builder);
    // Arrivals of what only texts name are no reason to judge.
    if (fresh !== judged) this.#setTimer(instance, builder.atMs + driftMs);
    else if (fresh.kind === "unknown" && old === null) this.#awaitOld(instance, builder.atMs);
    env.oldAccounts = false;
    // Last, since texts of other rules of the subject may be written by it.
    if (turned && instance.rule.mode === "live") this.#options.onSight(instance, builder);
  }

  /** Keeps the last text of an alert that can be judged no longer: windows look back from the present only. */
  #keepLastSeen(instance: Instance, nowMs: number): void {
    const { alert, unknown, windows, staleMs } = instance;
    if (alert === null || unknown !== null || windows.length === 0) return;
    const wasFresh = nowMs >= staleMs && nowMs - staleMs <= stoodStillMs;
    alert.lastSeen = wasFresh ? this.#textAt(instance, staleMs - 1, alert.alert.severity, () => null) : null;
  }

  #judgedOld(instance: Instance, env: Env, by: typeof judgeOld): Judgement | null {
    // While a change of collateral is not explained, old positions say nothing certain.
    if (this.#doubtOf(instance) !== null || !this.#options.isMarked(instance.node)) return null;
    return by(instance, env, this.#options.pricesSinceMs());
  }

  /** Judges again when old positions may be judged by: prices may have moved until then, and not after. */
  #awaitOld(instance: Instance, nowMs: number): void {
    const fromMs = oldFromMs(instance, this.#options.pricesSinceMs());
    if (fromMs === null || fromMs <= nowMs || !this.#options.isMarked(instance.node)) return;
    if (fromMs < (instance.timer?.dueMs ?? Number.POSITIVE_INFINITY)) this.#setTimer(instance, fromMs);
  }

  /** @param old judged by positions that are too old */
  #advance(instance: Instance, env: Env, judged: Judged, old: boolean, builder: ChangesBuilder): void {
    const { rule, node } = instance;
    const known = judged.kind === "known";
    const idle = instance.lifecycle.sinceMs === null;
    const lastKnownMs = instance.knownAtMs;
    if (known && !old) {
      instance.knownAtMs = builder.atMs;
      if (instance.alert !== null) this.#options.alerts.judged(instance.alert, judged.dataAtMs);
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
    // It looks back to a time that was not watched: what holds once it can be judged came about meanwhile.
    if (!known && judged.unknown.unknown === "uncovered") instance.judged = true;
    // Nothing holds and nothing did: no clock runs, whatever the time.
    if (idle && (!known || judged.severity === null)) {
      if (rulesOf(instance.node).plan[instance.index]?.restless !== false)
        this.#schedule(instance, env, rule);
      else this.#rest(instance, env);
      return;
    }
    const before = known ? this.#countedOf(instance, lastKnownMs) : instance.lifecycle;
    const { doubt } = judged;
    const certainBefore = instance.doubted ? instance.certain : undefined;
    if (known) {
      instance.doubted = doubt !== undefined && isUncertain(judged, judged.severity);
      instance.certain = instance.doubted ? doubt!.certain : null;
    }
    // What a liquidation left nothing of cannot come back a moment later: nobody waits whether it does.
    // Nor can what held because of a withdrawal that is explained now.
    const goneNow = known && !old && judged.severity === null;
    const explained = goneNow ? this.#explained(instance, lastKnownMs, builder.atMs) : null;
    const outlived =
      known && !old && !goneNow && this.#explained(instance, lastKnownMs, builder.atMs) !== null;
    if (outlived) instance.outlivedMs = builder.atMs;
    const over = explained !== null || (goneNow && this.#options.emptied(instance));
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
        this.#fire(instance, env, judged, builder);
        break;
      case "rose":
      case "fell":
        if (instance.alert) {
          const severity = firingSeverity(state.levels)!;
          this.#options.alerts.change(
            builder,
            instance.alert,
            transition,
            severity,
            this.#textOf(instance, env, judged),
          );
        }
        break;
      case "ended":
        if (instance.alert) {
          const live = instance.alert;
          instance.alert = null;
          const text = this.#textOf(instance, env, judged);
          const endedMs = builder.atMs;
          // Figures that arrived since may be too old by now. Windows look back from the present only.
          const textAt = (nowMs: number): AlertText | null =>
            this.#recoveredText(instance, nowMs) ??
            (instance.windows.length === 0 ? this.#recoveredText(instance, endedMs) : null);
          this.#options.onRecovered(instance, live, { text, textAt, explained }, builder);
        }
        instance.alreadySo = false;
        break;
      default: {
        if (transition === "pending") this.#options.onPending(instance);
        if (transition === "cleared") instance.alreadySo = false;
        // On its way to a higher level it is told as that, not as a reminder a moment before.
        // The daemon's own figures (how long a message waits) grow by themselves: their pace is the schedule's.
        const ofTheDaemon = node.subject.scope === "daemon";
        if (instance.alert && known && !ofTheDaemon && judged.severity === instance.alert.alert.severity) {
          this.#refresh(instance, env, judged, builder);
        }
      }
    }
    const clocked = clocksRun(state) || clocksRun(before);
    const moved = before !== state && (transition !== "none" || clocked);
    const heldOtherwise = instance.heldSlot !== lastHeldSlot || instance.heldEmptyMs !== lastHeldEmptyMs;
    this.#store(instance, moved || outlived || heldOtherwise, builder);
    this.#schedule(instance, env, terms, instance.unknown === null || old);
  }

  /**
   * The clocks before a judgement. Time that levels held because of a change of collateral counts for nothing where that was
   * explained as paid in or out while the rule could not be judged.
   */
  #countedOf({ lifecycle, rule, node, doubted, certain }: Instance, lastKnownMs: number): Lifecycle {
    if (!lifecycle.blind || !doubted || !this.#ofProfit.has(rule)) return lifecycle;
    const sinceMs = Number.isNaN(lastKnownMs) ? lifecycle.sinceMs : lastKnownMs;
    if (sinceMs === null || this.#options.explainedSince(node, sinceMs, sinceMs) === null) return lifecycle;
    return withoutHeld(lifecycle, certain);
  }

  /** The flow that an alert was raised by, where that is explained at this moment, or was while its rule could not be judged. */
  #explained(instance: Instance, lastKnownMs: number, atMs: number): ExplainedFlow | null {
    const { rule, node, alert, outlivedMs } = instance;
    if (alert === null || !this.#ofProfit.has(rule)) return null;
    // After a start that is all that is known of the judgements before it.
    const judgedMs = Number.isNaN(lastKnownMs) ? outlivedMs : lastKnownMs;
    return this.#options.explainedSince(node, Math.min(judgedMs + 1, atMs), alert.alert.firedAtMs);
  }

  /** Waits with a new alert until the figures that its texts name were read, for some seconds after a start. */
  #withTexts(instance: Instance, env: Env, judged: Judged): Judged {
    if (judged.kind === "unknown" || judged.severity === null || instance.alert !== null) return judged;
    if (!this.#options.starting(instance.rule.name, env.nowMs)) return judged;
    const unknown = unreadFigure(instance.rule, env);
    if (unknown === null) return judged;
    const { value, dataAtMs } = judged;
    return { kind: "unknown", unknown, value, dataAtMs };
  }

  /**
   * The text of an alert by the newest figures with which its rule could be judged; null where there are none. For the end
   * of a position, whose facts are still those of its last sight, and for what went stale.
   */
  #lastText(instance: Instance, nowMs: number): AlertText | null {
    // Windows look back from the present only.
    const times = instance.windows.length === 0 ? [nowMs, instance.knownAtMs] : [nowMs];
    for (const atMs of times) {
      if (Number.isNaN(atMs)) continue;
      const current = instance.alert?.alert.severity ?? null;
      const text = this.#textAt(instance, atMs, current, (env) =>
        atMs === nowMs ? this.#judgedOld(instance, env, judgeOld) : null,
      );
      // A level may be known to stand by what is not too old while the figure that the text is about is.
      if (text === null || (text.value === null && instance.rule.value !== null)) continue;
      const { env } = instance.node;
      // The marks moved on since it could be judged, and the figures with them.
      return !text.statesAge && atMs < nowMs && restsOnOldPositions(instance.rule, env)
        ? labelled(text, env, this.#options.timezone, nowMs)
        : text;
    }
    return null;
  }

  /** @param otherwise the judgement to use where there is none by figures that are fresh */
  #textAt(
    instance: Instance,
    nowMs: number,
    current: Severity | null,
    otherwise: (env: Env) => Judgement | null,
  ): AlertText | null {
    return this.#look(instance, nowMs, current, (judged, env) => {
      const found = judged.kind === "known" ? judged : otherwise(env);
      return found === null ? null : this.#textOf(instance, env, found);
    });
  }

  /** The present text of a rule that does not hold of a subject; null: it holds, or cannot be judged, or not of this subject. */
  textIfGone(node: SubjectNode, rule: string, nowMs: number): AlertText | null {
    const instance = rulesOf(node).named(rule);
    return instance === null ? null : this.#recoveredText(instance, nowMs);
  }

  /** True while a condition, as it was last judged, is on its way to firing. @param as of `judgedAs` */
  isPending(node: SubjectNode, rule: string, as: string): boolean {
    const instance = rulesOf(node).named(rule);
    if (instance === null) return false;
    return instance.lifecycle.sinceMs !== null && instance.alert === null && judgedAs(instance) === as;
  }

  /** True if a rule of a subject, which has no alert of it, cannot be judged. */
  isUnread(node: SubjectNode, rule: string, nowMs: number): boolean {
    const instance = rulesOf(node).named(rule);
    if (instance === null) return false;
    return instance.alert === null && this.#look(instance, nowMs, null, ({ kind }) => kind === "unknown");
  }

  #recoveredText(instance: Instance, nowMs: number): AlertText | null {
    const { node, index } = instance;
    const rules = rulesOf(node);
    // A reload may have put another rule in its place.
    if (rules.plan[index]?.rule.fingerprint !== instance.rule.fingerprint) return null;
    const now = rules.instance(index);
    if (now.alert !== null) return null;
    return this.#look(now, nowMs, null, (judged, env) =>
      judged.kind === "known" && judged.severity === null ? this.#textOf(now, env, judged) : null,
    );
  }

  #envOf(instance: Instance, nowMs: number): Env {
    const env = instance.node.env;
    env.nowMs = nowMs;
    env.oldAccounts = false;
    env.looked = instance.windows;
    return env;
  }

  #fire(instance: Instance, env: Env, judged: Judged, builder: ChangesBuilder): void {
    const { rule, node } = instance;
    const severity = firingSeverity(instance.lifecycle.levels)!;
    const subject = node.subject;
    const former = this.#options.takeBack(instance, builder);
    if (former !== null) {
      instance.alert = former;
      this.#follow(instance, former);
      const before = former.alert.severity;
      const kind = severityRank[severity] > severityRank[before] ? "rose" : "fell";
      if (severity === before) this.#refresh(instance, env, judged, builder);
      else this.#options.alerts.change(builder, former, kind, severity, this.#textOf(instance, env, judged));
      return;
    }
    const wallet = "wallet" in subject ? subject.wallet : null;
    instance.alert = this.#options.alerts.fire(builder, {
      ...this.#textOf(instance, env, judged),
      judged: true,
      rule: rule.name,
      subject: node.name,
      wallet,
      symbol: "symbol" in subject ? subject.symbol : null,
      labels: { ...this.#labelsOf(subject), ...rule.labels },
      severity,
      sinceMs: instance.lifecycle.sinceMs ?? builder.atMs,
      alreadySo: instance.alreadySo,
      runbook: rule.runbook,
      happenedMs: null,
      shadow: rule.mode === "shadow",
      comparison: (severity) => comparisonOf(rule, severity),
      limit: (severity, value) => this.#limitOf(instance, severity, value),
    });
    this.#follow(instance, instance.alert);
  }

  #limitOf(instance: Instance, severity: Severity, value: number | null): LimitWords | null {
    const { rule, node } = instance;
    const { env } = node;
    return limitWords(rule, severity, value, {
      isFurther: (one, than) => this.#isFurther(instance, severity, one, than),
      isWorse: (one, than, by) => {
        const { value: judged } = env;
        const moved = movement(rule, severity, env, notifiedWith(than)!, one, by, false);
        env.value = judged;
        return moved === "worsened";
      },
    });
  }

  /** True if a value is worse than another at a level; null where no direction is known. */
  #isFurther({ rule, node: { env } }: Instance, severity: Severity, value: number, than: number) {
    const { value: judged } = env;
    const further = isFurther(rule, severity, env, value, than);
    env.value = judged;
    return further;
  }

  /** Labels that an alert has of its subject: those of its wallet, or the one that its book is of. */
  #labelsOf(subject: Subject): Readonly<Record<string, string>> {
    if (subject.scope === "book" && subject.label) return { [subject.label.name]: subject.label.value };
    return "wallet" in subject ? (this.#options.wallet(subject.wallet)?.labels ?? {}) : {};
  }

  #textOf({ rule, node, windows, lifecycle }: Instance, env: Env, judged: Judged): AlertText {
    const { nowMs } = env;
    const { oldAccounts = false } = env;
    // A text of an earlier moment would state the age of then.
    const isPresent = nowMs >= this.#options.builder().atMs;
    if (!oldAccounts && isPresent && this.#options.isMarked(node))
      env.oldAccounts = showsOldPositions(rule, env);
    const shareOf = (spec: WindowSpec, index: number): number =>
      (spec.path.kind === "event"
        ? this.#options.toldShare(spec, node, nowMs)
        : windows[index]?.coverage(nowMs)) ?? 1;
    const summaryOf = (): string => rule.summary.render(env);
    const descriptionOf = (): string => rule.description?.render(env) ?? "";
    const doubt = judged.doubt?.matters(() => `${summaryOf()}\n${descriptionOf()}`) ? judged.doubt : null;
    const open = doubt && unexplainedText(doubt);
    const uncertain = isUncertain(judged, firingSeverity(lifecycle.levels));
    const [summary, description] = [summaryOf(), descriptionOf()];
    // Where neither the judgement nor the text depends on it, nothing says of which end its figures are.
    if (doubt === null) judged.doubt?.leave();
    const text: AlertText = {
      summary: summary + (doubt ? ` (${uncertain ? open : endText(doubt)})` : ""),
      description: doubt ? `Not explained yet: ${open}. ${description}` : description,
      value: judged.value,
      dataAtMs: judged.dataAtMs,
      details: [...detailsOf(node.subject.scope, env, rule.staleAfterMs), ...coverOf(rule.windows, shareOf)],
      facts: this.#options.facts(env),
    };
    const told = env.oldAccounts ? labelled(text, env, this.#options.timezone) : text;
    env.oldAccounts = oldAccounts;
    return told;
  }

  /** Has its alert told again where the value got markedly worse, or markedly another one. */
  #refresh(instance: Instance, env: Env, judged: Judged, builder: ChangesBuilder): void {
    if (instance.alert === null || judged.kind === "unknown") return;
    const { severity, value } = judged;
    const text = () => this.#textOf(instance, env, judged);
    const moves = (notified: Notified, worseBy: number, mayReturn = false) => {
      if (severity === null || value === null) return null;
      const moved = movement(instance.rule, severity, env, notified, value, worseBy, mayReturn);
      env.value = value;
      return moved;
    };
    this.#options.alerts.refresh(builder, instance.alert, text, moves);
    if (severity === null || value === null) return;
    noteWorst(builder, instance.alert, value, text, (than, share) => {
      return moves(notifiedWith(than)!, share) === "worsened";
    });
  }

  /** Lets an alert speak for its instance while it stands. */
  #follow(instance: Instance, alert: LiveAlert): void {
    alert.lasting = false;
    alert.isBetter = () =>
      instance.alert === alert && instance.unknown === null && isBetter(instance.lifecycle);
    alert.isGone = () => instance.alert === alert && instance.unknown === null && isGone(instance.lifecycle);
    alert.comparison = (level) => comparisonOf(instance.rule, level);
    alert.limit = (level, value) => this.#limitOf(instance, level, value);
    alert.isFurther = (level, value, than) => this.#isFurther(instance, level, value, than);
    alert.textNow = (nowMs) => {
      if (instance.alert !== alert) return null;
      return this.#textAt(instance, nowMs, alert.alert.severity, (env) =>
        this.#judgedOld(instance, env, raisedByOld),
      );
    };
    alert.lastText = (nowMs) =>
      instance.alert === alert ? (this.#lastText(instance, nowMs) ?? alert.lastSeen) : null;
  }

  /** @returns true if it turned unknown, known again, or unknown for another reason */
  #noteSight(instance: Instance, judged: Judged, builder: ChangesBuilder): boolean {
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

  /** No clock of it runs and nothing that it reads drifts: only that its data get stale can change anything. */
  #rest(instance: Instance, env: Env): void {
    const { rule, node, index } = instance;
    const { windows } = node;
    const rules = rulesOf(node);
    const known = instance.unknown === null;
    const staleMs = known ? staleFromMs(env) : Number.POSITIVE_INFINITY;
    this.#stopTimer(instance);
    // What is known while something behind it is stale has another moment than that of its inputs.
    if (known && freshUntilMs(rule.inputs, env) >= env.nowMs) {
      rules.quiet.set(index, true);
      // Those that were quiet before hold until another moment than this one does.
      if (windows !== null) windows.heldUntilMs = Number.NEGATIVE_INFINITY;
      // It makes another timer when it is roused: this one would stand in the heap for as long as its clock might have run.
      if (rules.rest(instance) && instance.timer !== null) this.#options.deadlines.drop(instance.timer);
    } else instance.staleMs = staleMs;
    rules.staleness.noted(staleMs);
  }

  /**
   * @param terms of the rule, as the last judgement has them
   * @param known it was judged, by whatever is behind it
   */
  #schedule(instance: Instance, env: Env, terms: LifecycleRule, known = instance.unknown === null): void {
    const { rule } = instance;
    let dueMs = nextDeadlineMs(instance.lifecycle, terms) ?? Number.POSITIVE_INFINITY;
    let staleMs = Number.POSITIVE_INFINITY;
    if (known) {
      staleMs = staleFromMs(env);
    }
    // What time moves is unknown until something arrives, but for what nothing is behind that could.
    if (rule.readsNow && (instance.unknown === null || rule.inputs.length === 0))
      dueMs = Math.min(dueMs, env.nowMs + driftMs);
    for (let i = 0; i < instance.windows.length; i++) {
      if (rule.windows[i]!.path.kind !== "event") continue;
      const edgeMs = instance.windows[i]!.nextEdgeMs(env.nowMs);
      if (edgeMs !== null) dueMs = Math.min(dueMs, Math.max(edgeMs, env.nowMs + driftMs));
    }
    instance.staleMs = staleMs;
    rulesOf(instance.node).staleness.noted(staleMs);
    if (dueMs <= env.nowMs) dueMs = env.nowMs + 1;
    if (Number.isFinite(dueMs)) this.#setTimer(instance, dueMs);
    else this.#stopTimer(instance);
  }

  #setTimer(instance: Instance, dueMs: number): void {
    instance.timer ??= new Timer(instance, this.#due);
    this.#options.deadlines.set(instance.timer, dueMs);
    instance.order = instance.timer.order;
  }

  #stopTimer({ timer }: Instance): void {
    if (timer !== null) this.#options.deadlines.cancel(timer);
  }

  #claim(instance: Instance, builder: ChangesBuilder): void {
    const { rule, node } = instance;
    const key = `${rule.name}\n${node.name}`;
    const found = this.#restored.get(key);
    if (!found) return;
    this.#restored.delete(key);
    instance.stored = true;
    this.#rows.set(key, instance);
    const { state, alert } = found;
    const sameRule = state.fingerprint === rule.fingerprint;
    if (!sameRule || state.incarnation !== node.incarnation) {
      this.#drop(instance, builder);
      if (alert && sameRule) this.#options.onReplaced(instance, alert, state.incarnation, builder);
      else if (alert) this.#options.alerts.end(builder, alert, "ruleChanged", null);
      return;
    }
    instance.lifecycle = {
      levels: state.levels,
      countedAtMs: builder.atMs,
      blind: true,
      sinceMs: state.sinceMs,
      fresh: null,
    };
    instance.alert = alert;
    instance.alreadySo = state.alreadySo;
    instance.heldSlot = state.heldSlot ?? 0;
    instance.heldEmptyMs = state.heldEmptyMs ?? null;
    instance.doubted = state.doubted ?? false;
    instance.certain = state.certain ?? null;
    if (state.outlivedMs !== undefined) instance.outlivedMs = state.outlivedMs;
    if (alert) this.#follow(instance, alert);
  }

  #store(instance: Instance, changed: boolean, builder: ChangesBuilder): void {
    const { lifecycle, rule, node } = instance;
    if (lifecycle.sinceMs === null) {
      this.#drop(instance, builder);
      return;
    }
    if (!changed && instance.stored) return;
    if (!instance.stored) this.#rows.set(rowName({ rule: rule.name, subject: node.name }), instance);
    instance.stored = true;
    builder.changes.ruleStates.push({
      rule: rule.name,
      subject: node.name,
      fingerprint: rule.fingerprint,
      incarnation: node.incarnation,
      levels: freshLevels(lifecycle),
      sinceMs: lifecycle.sinceMs,
      alertId: instance.alert?.alert.id ?? null,
      alreadySo: instance.alreadySo,
      ...(instance.heldSlot > 0 ? { heldSlot: instance.heldSlot } : {}),
      ...(instance.heldEmptyMs === null ? {} : { heldEmptyMs: instance.heldEmptyMs }),
      ...(instance.doubted ? { doubted: true } : {}),
      ...(instance.certain === null ? {} : { certain: instance.certain }),
      ...(Number.isFinite(instance.outlivedMs) ? { outlivedMs: instance.outlivedMs } : {}),
    });
  }

  #drop(instance: Instance, builder: ChangesBuilder): void {
    if (!instance.stored) return;
    instance.stored = false;
    const row = { rule: instance.rule.name, subject: instance.node.name };
    this.#rows.delete(rowName(row));
    builder.changes.ruleStatesGone.push(row);
  }
}

/** The end of the time for which the judgement before an unknown one counts: nothing where the process stood still. */
function countsUntil({ staleMs }: Instance, nowMs: number): { readonly fromMs?: number } {
  return nowMs - staleMs > stoodStillMs ? {} : { fromMs: staleMs - 1 };
}

/** True if two rules of one condition judge with the same times. */
function isSameJudging(one: ConditionRule, other: ConditionRule): boolean {
  return one === other || timesOf(one) === timesOf(other);
}

const times = new WeakMap<ConditionRule, string>();

function timesOf(rule: ConditionRule): string {
  const known = times.get(rule);
  if (known !== undefined) return known;
  const { forMs, keepFiringForMs, staleAfterMs, noData, windows } = rule;
  const text = JSON.stringify([forMs, keepFiringForMs, staleAfterMs, noData, windows.map(({ key }) => key)]);
  times.set(rule, text);
  return text;
}

/** One past the last moment at which all that counts now still does. */
function staleFromMs({ freshUntilMs, nowMs }: Env): number {
  return Math.max((freshUntilMs ?? Number.POSITIVE_INFINITY) + 1, nowMs + 1);
}

function rowName({ rule, subject }: RuleRow): string {
  return `${rule}\n${subject}`;
}

function bitsOf(read: readonly Source[]): number {
  return read.reduce((bits, source) => bits | sourceBit(source), 0);
}

const sourceBits: ReadonlyMap<Source, number> = new Map(sources.map((source, i) => [source, 1 << i]));

function sourceBit(source: Source): number {
  return sourceBits.get(source)!;
}

/** The identity of a condition: another rule of its name, another mode or another position of its subject has another one. */
export function judgedAs({ rule, node }: Pick<Instance, "rule" | "node">): string {
  return `${rule.mode} ${rule.fingerprint} ${node.incarnation}`;
}

/** Some level is on its way into or out of firing: its clock has to survive a restart. */
function clocksRun(state: Instance["lifecycle"]): boolean {
  return state.levels.some((level) => (level.active ? !level.holds : level.holds));
}
