/** The texts of conditions: of those that hold, of those that ended, and of the last time at which one could be judged. */

import { firingSeverity } from "../../alerts/lifecycle.ts";
import type { AlertText } from "../../alerts/live-alert.ts";
import { coverOf, detailsOf } from "../../alerts/texts/details.ts";
import type { Severity } from "../../domain/alerts/alert.ts";
import type { TemplateFacts } from "../../domain/alerts/template-data.ts";
import type { ChangesBuilder } from "../../domain/stored/changes-builder.ts";
import type { Env, Judgement, WindowSpec } from "../../rules/index.ts";
import type { SubjectNode } from "../../state/subjects.ts";
import { endText, isUncertain, type Judged, unexplainedText } from "./both-ends.ts";
import type { ConditionJudgements } from "./condition-judgements.ts";
import type { Instance } from "./instance.ts";
import { judgeOld, labelled, restsOnOldPositions, showsOldPositions } from "./old-accounts.ts";
import { rulesOf } from "./subject-rules.ts";

export interface TextOptions {
  /** IANA name, for times in texts. */
  readonly timezone: string;
  /** Returns true if the figures of a subject are computed at the current marks, and not injected. */
  readonly isMarked: (node: SubjectNode) => boolean;
  readonly builder: () => ChangesBuilder;
  /** The facts of a judgement that channel templates use. */
  readonly facts: (env: Env) => TemplateFacts | undefined;
  /** The share of a window over events for which the history is complete, 0–1; null: not tracked. */
  readonly completeShare: (spec: WindowSpec, node: SubjectNode, nowMs: number) => number | null;
}

export class ConditionTexts {
  readonly #options: TextOptions;
  readonly #judgements: ConditionJudgements;

  constructor(options: TextOptions, judgements: ConditionJudgements) {
    this.#options = options;
    this.#judgements = judgements;
  }

  of({ rule, node, windows, lifecycle }: Instance, env: Env, judged: Judged): AlertText {
    const { nowMs } = env;
    const { oldAccounts = false } = env;
    // A text for an earlier time would state an age as of then.
    const isPresent = nowMs >= this.#options.builder().atMs;
    if (!oldAccounts && isPresent && this.#options.isMarked(node))
      env.oldAccounts = showsOldPositions(rule, env);
    const shareOf = (spec: WindowSpec, index: number): number =>
      (spec.path.kind === "event"
        ? this.#options.completeShare(spec, node, nowMs)
        : windows[index]?.coverage(nowMs)) ?? 1;
    const summaryOf = (): string => rule.summary.render(env);
    const descriptionOf = (): string => rule.description?.render(env) ?? "";
    const doubt = judged.doubt?.matters(() => `${summaryOf()}\n${descriptionOf()}`) ? judged.doubt : null;
    const open = doubt && unexplainedText(doubt);
    const uncertain = isUncertain(judged, firingSeverity(lifecycle.levels));
    const [summary, description] = [summaryOf(), descriptionOf()];
    // If neither the judgement nor the text depends on the range, no note about its ends is needed.
    if (doubt === null) judged.doubt?.leave();
    const text: AlertText = {
      summary: summary + (doubt ? ` (${uncertain ? open : endText(doubt)})` : ""),
      description: doubt ? `Not explained yet: ${open}. ${description}` : description,
      value: judged.value,
      dataAtMs: judged.dataAtMs,
      details: [...detailsOf(node.subject.scope, env, rule.staleAfterMs), ...coverOf(rule.windows, shareOf)],
      facts: this.#options.facts(env),
    };
    const shown = env.oldAccounts ? labelled(text, env, this.#options.timezone) : text;
    env.oldAccounts = oldAccounts;
    return shown;
  }

  /** @param otherwise the judgement to use if there is none by fresh figures */
  at(
    instance: Instance,
    nowMs: number,
    current: Severity | null,
    otherwise: (env: Env) => Judgement | null,
  ): AlertText | null {
    return this.#judgements.look(instance, nowMs, current, (judged, env) => {
      const found = judged.kind === "known" ? judged : otherwise(env);
      return found === null ? null : this.of(instance, env, found);
    });
  }

  /**
   * The text of an alert by the newest figures with which its rule could be judged; null: there are none. Used when a position
   * closed, whose facts are still those of its last reading, and when data became stale.
   */
  last(instance: Instance, nowMs: number): AlertText | null {
    // Windows look back from the present only.
    const times = instance.windows.length === 0 ? [nowMs, instance.knownAtMs] : [nowMs];
    for (const atMs of times) {
      if (Number.isNaN(atMs)) continue;
      const current = instance.alert?.alert.severity ?? null;
      const text = this.at(instance, atMs, current, (env) =>
        atMs === nowMs ? this.#judgements.byOld(instance, env, judgeOld) : null,
      );
      // The level can be known by fresh inputs while the figure in the text is too old.
      if (text === null || (text.value === null && instance.rule.value !== null)) continue;
      const { env } = instance.node;
      // Marks, and the figures that depend on them, changed after the last judgement.
      return !text.statesAge && atMs < nowMs && restsOnOldPositions(instance.rule, env)
        ? labelled(text, env, this.#options.timezone, nowMs)
        : text;
    }
    return null;
  }

  /** The present text of a rule that does not hold for a subject; null: it holds, cannot be judged, or does not apply. */
  ifEnded(node: SubjectNode, rule: string, nowMs: number): AlertText | null {
    const instance = rulesOf(node).named(rule);
    return instance === null ? null : this.recovered(instance, nowMs);
  }

  recovered(instance: Instance, nowMs: number): AlertText | null {
    const { node, index } = instance;
    const rules = rulesOf(node);
    // A reload may have replaced the rule.
    if (rules.plan[index]?.rule.fingerprint !== instance.rule.fingerprint) return null;
    const now = rules.instance(index);
    if (now.alert !== null) return null;
    return this.#judgements.look(now, nowMs, null, (judged, env) =>
      judged.kind === "known" && judged.severity === null ? this.of(now, env, judged) : null,
    );
  }

  /** True if a rule cannot be judged for a subject and has no alert for it. */
  isUnread(node: SubjectNode, rule: string, nowMs: number): boolean {
    const instance = rulesOf(node).named(rule);
    if (instance === null) return false;
    return (
      instance.alert === null &&
      this.#judgements.look(instance, nowMs, null, ({ kind }) => kind === "unknown")
    );
  }
}
