/** Judgements of conditions: at the present or an earlier time, at both ends of a profit range, or by positions that are too old. */

import { type Lifecycle, withoutHeld } from "../../alerts/lifecycle.ts";
import type { Severity } from "../../domain/alerts/alert.ts";
import { type ConditionRule, type Env, type Judgement, judge, type RuleSet } from "../../rules/index.ts";
import { isProfit } from "../../state/needs.ts";
import type { ExplainedFlow } from "../../state/profit/changes/explained-flows.ts";
import type { Doubt } from "../../state/profit/profit-doubt.ts";
import type { SubjectNode } from "../../state/subjects.ts";
import { type Judged, judgeBothEnds } from "./both-ends.ts";
import type { Instance } from "./instance.ts";
import { type judgeOld, oldFromMs } from "./old-accounts.ts";

export interface JudgementOptions {
  readonly ruleSet: RuleSet;
  /** Returns true if the figures of a subject are computed at the current marks, and not injected. */
  readonly isMarked: (node: SubjectNode) => boolean;
  /** Time since which prices are read without a gap, ms. */
  readonly pricesSinceMs: () => number;
  /** The range of the profit that a rule of this subject reads; null: profit is known. */
  readonly doubtOf: (node: SubjectNode) => Doubt | null;
  /** The change of this subject's collateral that was explained as a flow after a time; null: none. */
  readonly explainedSince: (node: SubjectNode, ms: number, raisedMs: number) => ExplainedFlow | null;
}

export class ConditionJudgements {
  readonly #options: JudgementOptions;
  /** Rules that read the profit of wallets. */
  readonly #ofProfit: ReadonlySet<ConditionRule>;

  constructor(options: JudgementOptions) {
    this.#options = options;
    this.#ofProfit = new Set(options.ruleSet.conditions.filter((rule) => rule.reads.some(isProfit)));
  }

  doubtOf({ rule, node }: Instance): Doubt | null {
    return this.#ofProfit.has(rule) ? this.#options.doubtOf(node) : null;
  }

  /** Judges by the figures in `env`. The caller leaves the range after texts are rendered. */
  judge({ rule }: Instance, env: Env, current: Severity | null, doubt: Doubt | null): Judged {
    return doubt === null ? judge(rule, env, current) : judgeBothEnds(rule, env, current, doubt);
  }

  /**
   * Judges at another time, and calls `use` while the figures are those of the judgement. May be called during a judgement of the
   * same subject, whose figures are restored afterwards.
   */
  look<T>(
    instance: Instance,
    nowMs: number,
    current: Severity | null,
    use: (judged: Judged, env: Env) => T,
  ): T {
    const before = { ...instance.node.env };
    const env = envOf(instance, nowMs);
    const doubt = this.doubtOf(instance);
    const used = use(this.judge(instance, env, current, doubt), env);
    doubt?.leave();
    Object.assign(env, before);
    return used;
  }

  byOld(instance: Instance, env: Env, by: typeof judgeOld): Judgement | null {
    // While a change of collateral is not explained, old positions give no certain result.
    if (this.doubtOf(instance) !== null || !this.#options.isMarked(instance.node)) return null;
    return by(instance, env, this.#options.pricesSinceMs());
  }

  /** The time, ms, from which old positions may be used: prices may have moved before it, and not after; null: none is expected. */
  awaitedOldMs(instance: Instance, nowMs: number): number | null {
    const fromMs = oldFromMs(instance, this.#options.pricesSinceMs());
    if (fromMs === null || fromMs <= nowMs || !this.#options.isMarked(instance.node)) return null;
    return fromMs < (instance.timer?.dueMs ?? Number.POSITIVE_INFINITY) ? fromMs : null;
  }

  /**
   * The clocks before a judgement. Time for which levels held because of a change of collateral does not count if the change was
   * explained as a flow while the rule could not be judged.
   */
  countedOf({ lifecycle, rule, node, doubted, certain }: Instance, lastKnownMs: number): Lifecycle {
    if (!lifecycle.isUnknown || !doubted || !this.#ofProfit.has(rule)) return lifecycle;
    const sinceMs = Number.isNaN(lastKnownMs) ? lifecycle.sinceMs : lastKnownMs;
    if (sinceMs === null || this.#options.explainedSince(node, sinceMs, sinceMs) === null) return lifecycle;
    return withoutHeld(lifecycle, certain);
  }

  /** The flow that raised an alert, if it is explained now, or was while its rule could not be judged. */
  explained(instance: Instance, lastKnownMs: number, atMs: number): ExplainedFlow | null {
    const { rule, node, alert, outlivedMs } = instance;
    if (alert === null || !this.#ofProfit.has(rule)) return null;
    // After a start this is all that is known of earlier judgements.
    const judgedMs = Number.isNaN(lastKnownMs) ? outlivedMs : lastKnownMs;
    return this.#options.explainedSince(node, Math.min(judgedMs + 1, atMs), alert.alert.firedAtMs);
  }
}

/** The figures that an instance is judged by at a time. */
export function envOf(instance: Instance, nowMs: number): Env {
  const env = instance.node.env;
  env.nowMs = nowMs;
  env.oldAccounts = false;
  env.looked = instance.windows;
  return env;
}
