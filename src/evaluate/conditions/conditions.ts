/**
 * Judges conditions: attaches rules to the subjects that they select, judges them whenever an input arrives or time alone can
 * change the result, and updates clocks and alerts with the result.
 */

import type { AlertText, LiveAlert } from "../../alerts/live-alert.ts";
import type { RuleRow } from "../../domain/alerts/alert.ts";
import type { Source } from "../../domain/sources.ts";
import type { ChangesBuilder } from "../../domain/stored/changes-builder.ts";
import type { Deadlines } from "../../domain/structures/deadlines.ts";
import type { Scope } from "../../domain/subject.ts";
import { type ConditionRule, freshUntilMs } from "../../rules/index.ts";
import type { SubjectNode } from "../../state/subjects.ts";
import { judges } from "../selection.ts";
import { type ConditionAlertOptions, ConditionAlerts } from "./condition-alerts.ts";
import { ConditionCourse, type CourseOptions } from "./condition-course.ts";
import { ConditionJudgements, envOf, type JudgementOptions } from "./condition-judgements.ts";
import { ConditionSchedule, driftMs } from "./condition-schedule.ts";
import { ConditionTexts, type TextOptions } from "./condition-texts.ts";
import { Instance, judgedAs, noInstances, noViews } from "./instance.ts";
import { noPlan, Plans, staysQuiet } from "./plan.ts";
import { RuleStateRows } from "./rule-state-rows.ts";
import { RuleViews, type ViewOptions } from "./rule-views.ts";
import { isSameJudging } from "./same-judging.ts";
import { bitsOf, sourceBit } from "./source-bits.ts";
import type { Judging } from "./staleness.ts";
import { type Former, rulesOf, type SubjectRules } from "./subject-rules.ts";

export interface ConditionsOptions
  extends ViewOptions,
    JudgementOptions,
    TextOptions,
    ConditionAlertOptions,
    CourseOptions {
  readonly deadlines: Deadlines;
  /** Ends the alert of a position if another position now has its name. */
  readonly onReplaced: (
    instance: Instance,
    live: LiveAlert,
    incarnation: string,
    builder: ChangesBuilder,
  ) => void;
}

export class Conditions {
  readonly #options: ConditionsOptions;
  readonly rows = new RuleStateRows();
  readonly texts: ConditionTexts;
  readonly #byScope = new Map<Scope, readonly ConditionRule[]>();
  readonly #plans: Plans;
  /** Counts judgements of subjects; see `Look`. */
  #turn = 0;
  readonly #judging: Judging<SubjectRules>;
  readonly #views: RuleViews;
  readonly #schedule: ConditionSchedule;
  readonly #judgements: ConditionJudgements;
  readonly #alerts: ConditionAlerts;
  readonly #course: ConditionCourse;

  constructor(options: ConditionsOptions) {
    this.#options = options;
    this.#judging = {
      deadlines: options.deadlines,
      judgeStale: (of, nowMs) => this.#judgeStale(of, nowMs),
      firstStaleMs: (of) => this.#firstStaleMs(of),
    };
    for (const rule of options.ruleSet.conditions)
      this.#byScope.set(rule.scope, [...(this.#byScope.get(rule.scope) ?? []), rule]);
    this.#plans = new Plans(options.ruleSet.conditions, ({ reads }) =>
      bitsOf(reads.flatMap(({ sources: read }) => read)),
    );
    this.#views = new RuleViews(options);
    this.#schedule = new ConditionSchedule(options.deadlines, (instance) =>
      this.judge(instance, options.builder()),
    );
    const judgements = new ConditionJudgements(options);
    this.texts = new ConditionTexts(options, judgements);
    const alerts = new ConditionAlerts(options, judgements, this.texts);
    const { rows, texts } = this;
    const parts = { judgements, texts, alerts, rows, schedule: this.#schedule };
    this.#course = new ConditionCourse(options, parts);
    this.#judgements = judgements;
    this.#alerts = alerts;
  }

  /** Attaches the rules that select a subject. */
  attach(node: SubjectNode, builder: ChangesBuilder): void {
    this.#views.prepare(node);
    const own = rulesOf(node);
    own.staleness.keep(this.#judging);
    const all = this.#byScope.get(node.subject.scope) ?? [];
    const rules = all.filter((rule) => judges(rule, node.subject, this.#options.wallet));
    own.views = rules.map((rule) => this.#views.of(rule, node));
    own.instances = rules.map((rule, i) => new Instance(rule, node, own.views[i]!, i));
    own.plan = this.#plans.of(rules);
    for (const instance of own.instances) {
      this.#claim(instance, builder);
      if (own.former && this.#goOn(instance, own.former, builder)) continue;
      // Judged once even if none of its inputs ever arrives, so that the missing data are reported.
      this.#schedule.set(instance, own.former ? builder.atMs : builder.atMs + driftMs);
    }
    if (own.former === null) return;
    own.former = null;
    own.instances = own.instances.filter(({ index }) => !own.quiet.has(index));
    own.staleness.noted(this.#firstStaleMs(own));
  }

  /** After a reload: a rule with an unchanged condition keeps its clocks and its data state. */
  #goOn(instance: Instance, { plan, instances, quiet }: Former, builder: ChangesBuilder): boolean {
    const { rule } = instance;
    // The rules are nearly always the same.
    const index =
      plan[instance.index]?.rule.name === rule.name
        ? instance.index
        : plan.findIndex((one) => one.rule.name === rule.name);
    const was = plan[index]?.rule;
    if (was?.fingerprint !== rule.fingerprint) return false;
    const before = instances.find((one) => one.index === index);
    if (before === undefined) instance.judged = quiet.has(index);
    else instance.goOn(before);
    if (instance.unknown !== null && rule.mode === "live") this.#options.onDataState(instance, builder);
    // With other durations or ages the result may change at once.
    if (!isSameJudging(was, rule)) return false;
    if (quiet.has(index)) rulesOf(instance.node).quiet.set(instance.index, true);
    else if (before?.timer && Number.isFinite(before.timer.dueMs))
      this.#schedule.set(instance, before.timer.dueMs);
    return true;
  }

  #claim(instance: Instance, builder: ChangesBuilder): void {
    const found = this.rows.claim(instance);
    if (found === undefined) return;
    const { rule, node } = instance;
    const { state, alert } = found;
    const sameRule = state.fingerprint === rule.fingerprint;
    if (!sameRule || state.incarnation !== node.incarnation) {
      this.rows.drop(instance, builder);
      if (alert && sameRule) this.#options.onReplaced(instance, alert, state.incarnation, builder);
      else if (alert) this.#options.alerts.end(builder, alert, "ruleChanged", null);
      return;
    }
    instance.lifecycle = {
      levels: state.levels,
      countedAtMs: builder.atMs,
      isUnknown: true,
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
    if (alert) this.#alerts.follow(instance, alert);
  }

  /**
   * Removes the rules of a subject that no longer exists. `end` ends each alert that they had raised; the rows of those stay in
   * history until `released` is called for them, so that a restart in between ends them too.
   */
  detach(
    node: SubjectNode,
    builder: ChangesBuilder,
    end: (instance: Instance, live: LiveAlert, row: RuleRow, last: AlertText | null) => void,
  ): void {
    const own = rulesOf(node);
    for (const instance of own.instances) {
      this.#schedule.stop(instance);
      if (instance.unknown) {
        instance.unknown = null;
        if (instance.rule.mode === "live") this.#options.onDataState(instance, builder);
      }
      const row = { rule: instance.rule.name, subject: node.name };
      if (instance.alert) {
        this.rows.leave(instance);
        end(instance, instance.alert, row, this.texts.last(instance, builder.atMs));
        instance.alert = null;
      } else this.rows.drop(instance, builder);
    }
    own.instances = noInstances;
    own.views = noViews;
    own.plan = noPlan;
  }

  /** Judges the rules of a subject that read `source`, or any of these sources. */
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

  /** Judges those rules of a subject that have a stale input. */
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

  /** Notes the time until which its windows stay the same, if all rules that are quiet because of them were just checked. */
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
    const env = envOf(instance, builder.atMs);
    const current = instance.lifecycle.sinceMs === null ? null : (instance.alert?.alert.severity ?? null);
    const doubt = this.#judgements.doubtOf(instance);
    this.#course.conclude(instance, env, this.#judgements.judge(instance, env, current, doubt), builder);
    doubt?.leave();
  }

  /** True if a condition is pending: it holds and has not held long enough to fire. @param as see `judgedAs` */
  isPending(node: SubjectNode, rule: string, as: string): boolean {
    const instance = rulesOf(node).named(rule);
    if (instance === null) return false;
    return instance.lifecycle.sinceMs !== null && instance.alert === null && judgedAs(instance) === as;
  }
}
