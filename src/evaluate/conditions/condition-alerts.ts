/** The alerts of conditions: raised, changed and ended by the clocks of their rules, and updated with their values. */

import type { AlertBook } from "../../alerts/alert-book.ts";
import { firingSeverity, isBetter, isGone } from "../../alerts/lifecycle.ts";
import type { AlertText, LiveAlert } from "../../alerts/live-alert.ts";
import { type Notified, notifiedWith } from "../../alerts/reminders/remind.ts";
import { comparisonOf, isFurther, movement } from "../../alerts/reminders/worsening.ts";
import { type LimitWords, limitWords } from "../../alerts/texts/limit-text.ts";
import { noteWorst } from "../../alerts/texts/worst.ts";
import { type Severity, severityRank } from "../../domain/alerts/alert.ts";
import type { ChangesBuilder } from "../../domain/stored/changes-builder.ts";
import type { Subject } from "../../domain/subject.ts";
import type { Env } from "../../rules/index.ts";
import type { ExplainedFlow } from "../../state/profit/changes/explained-flows.ts";
import type { WatchedWallet } from "../../state/wallets/watched.ts";
import type { Judged } from "./both-ends.ts";
import type { ConditionJudgements } from "./condition-judgements.ts";
import type { ConditionTexts } from "./condition-texts.ts";
import type { Instance } from "./instance.ts";
import { raisedByOld } from "./old-accounts.ts";

/** The last text of a condition that ended. */
export interface Recovered {
  readonly text: AlertText;
  /** Its text at a later time; null: it holds again, cannot be judged, or its subject no longer exists. */
  readonly textAt: (nowMs: number) => AlertText | null;
  /** The change of collateral that it held because of, if that was a flow; null: none. */
  readonly explained: ExplainedFlow | null;
}

export interface ConditionAlertOptions {
  readonly alerts: AlertBook;
  readonly wallet: (name: string) => WatchedWallet | undefined;
  /** Ends an alert whose condition ended, with the reason that the facts give ("recovered" by default). */
  readonly onRecovered: (
    instance: Instance,
    live: LiveAlert,
    recovered: Recovered,
    builder: ChangesBuilder,
  ) => void;
  /** Takes back an alert whose recovery was not reported yet, for a condition that fires again; null: none. */
  readonly takeBack: (instance: Instance, builder: ChangesBuilder) => LiveAlert | null;
}

export class ConditionAlerts {
  readonly #options: ConditionAlertOptions;
  readonly #judgements: ConditionJudgements;
  readonly #texts: ConditionTexts;

  constructor(options: ConditionAlertOptions, judgements: ConditionJudgements, texts: ConditionTexts) {
    this.#options = options;
    this.#judgements = judgements;
    this.#texts = texts;
  }

  /** Sets the time of the data that an alert was judged by, ms. */
  judged({ alert }: Instance, dataAtMs: number): void {
    if (alert !== null) this.#options.alerts.judged(alert, dataAtMs);
  }

  fire(instance: Instance, env: Env, judged: Judged, builder: ChangesBuilder): void {
    const { rule, node } = instance;
    const severity = firingSeverity(instance.lifecycle.levels)!;
    const subject = node.subject;
    const former = this.#options.takeBack(instance, builder);
    if (former !== null) {
      instance.alert = former;
      this.follow(instance, former);
      const before = former.alert.severity;
      const kind = severityRank[severity] > severityRank[before] ? "rose" : "fell";
      if (severity === before) this.refresh(instance, env, judged, builder);
      else
        this.#options.alerts.change(builder, former, kind, severity, this.#texts.of(instance, env, judged));
      return;
    }
    const wallet = "wallet" in subject ? subject.wallet : null;
    instance.alert = this.#options.alerts.fire(builder, {
      ...this.#texts.of(instance, env, judged),
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
    this.follow(instance, instance.alert);
  }

  change(instance: Instance, kind: "rose" | "fell", env: Env, judged: Judged, builder: ChangesBuilder): void {
    if (instance.alert === null) return;
    const severity = firingSeverity(instance.lifecycle.levels)!;
    const text = this.#texts.of(instance, env, judged);
    this.#options.alerts.change(builder, instance.alert, kind, severity, text);
  }

  /** @param explained see `Recovered` */
  recover(
    instance: Instance,
    env: Env,
    judged: Judged,
    explained: ExplainedFlow | null,
    builder: ChangesBuilder,
  ): void {
    if (instance.alert === null) return;
    const live = instance.alert;
    instance.alert = null;
    const text = this.#texts.of(instance, env, judged);
    const endedMs = builder.atMs;
    // Figures that arrived since may be too old by now. Windows look back from the present only.
    const textAt = (nowMs: number): AlertText | null =>
      this.#texts.recovered(instance, nowMs) ??
      (instance.windows.length === 0 ? this.#texts.recovered(instance, endedMs) : null);
    this.#options.onRecovered(instance, live, { text, textAt, explained }, builder);
  }

  /** Sends an update of an alert if its value got markedly worse, or changed markedly. */
  refresh(instance: Instance, env: Env, judged: Judged, builder: ChangesBuilder): void {
    if (instance.alert === null || judged.kind === "unknown") return;
    const { severity, value } = judged;
    const text = () => this.#texts.of(instance, env, judged);
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

  /** Links an alert with its instance while the alert is active. */
  follow(instance: Instance, alert: LiveAlert): void {
    alert.lasting = false;
    alert.isBetter = () =>
      instance.alert === alert && instance.unknown === null && isBetter(instance.lifecycle);
    alert.isGone = () => instance.alert === alert && instance.unknown === null && isGone(instance.lifecycle);
    alert.comparison = (level) => comparisonOf(instance.rule, level);
    alert.limit = (level, value) => this.#limitOf(instance, level, value);
    alert.isFurther = (level, value, than) => this.#isFurther(instance, level, value, than);
    alert.textNow = (nowMs) => {
      if (instance.alert !== alert) return null;
      return this.#texts.at(instance, nowMs, alert.alert.severity, (env) =>
        this.#judgements.byOld(instance, env, raisedByOld),
      );
    };
    alert.lastText = (nowMs) =>
      instance.alert === alert ? (this.#texts.last(instance, nowMs) ?? alert.lastSeen) : null;
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

  /** True if a value is worse than another at a level; null if the direction is not known. */
  #isFurther({ rule, node: { env } }: Instance, severity: Severity, value: number, than: number) {
    const { value: judged } = env;
    const further = isFurther(rule, severity, env, value, than);
    env.value = judged;
    return further;
  }

  /** The labels of an alert's subject: those of its wallet, or that of its book. */
  #labelsOf(subject: Subject): Readonly<Record<string, string>> {
    if (subject.scope === "book" && subject.label) return { [subject.label.name]: subject.label.value };
    return "wallet" in subject ? (this.#options.wallet(subject.wallet)?.labels ?? {}) : {};
  }
}
