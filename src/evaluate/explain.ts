/** Explains the present judgement of a subject by a rule. Changes no state. */

import type { AlertBook } from "../alerts/alert-book.ts";
import { endsMs } from "../alerts/lifecycle.ts";
import type { LiveAlert } from "../alerts/live-alert.ts";
import { type BuiltInRule, builtInMeanings, isBuiltIn } from "../domain/alerts/built-in.ts";
import type {
  BuiltInExplanation,
  ExplainAnswer,
  ExplainedPart,
  Explanation,
} from "../domain/alerts/explanation.ts";
import { explainInputs, explainParts, judge, type RuleSet } from "../rules/index.ts";
import { isProfit } from "../state/needs.ts";
import type { Doubt } from "../state/profit/profit-doubt.ts";
import type { SubjectNode } from "../state/subjects.ts";
import type { WatchedWallet } from "../state/wallets/watched.ts";
import { unexplainedText } from "./conditions/both-ends.ts";
import type { Instance } from "./conditions/instance.ts";
import { rulesOf } from "./conditions/subject-rules.ts";

export interface ExplainParts {
  readonly ruleSet: RuleSet;
  readonly nodes: Iterable<SubjectNode>;
  readonly alerts: AlertBook;
  readonly wallet: (name: string) => WatchedWallet | undefined;
  /** The range of the profit of a subject; null: profit is known. */
  readonly doubtOf: (node: SubjectNode) => Doubt | null;
}

/** @param subject its full name, or `main/SOL` if only one account of the wallet has it; null: the only one that the rule judges */
export function explain(
  of: ExplainParts,
  rule: string,
  subject: string | null,
  nowMs: number,
): ExplainAnswer {
  const { conditions, events } = of.ruleSet;
  if (events.some((one) => one.name === rule)) return { kind: "eventRule" };
  if (isBuiltIn(rule)) return { kind: "builtIn", explanation: builtInOf(rule, of.alerts) };
  if (!conditions.some((one) => one.name === rule))
    return { kind: "noRule", known: [...conditions, ...events].map((one) => one.name) };
  const judged = [...of.nodes].flatMap((node) => {
    const instance = rulesOf(node).named(rule);
    return instance === null ? [] : [instance];
  });
  if (subject === null) {
    const [only, ...more] = judged;
    if (only !== undefined && more.length === 0)
      return { kind: "explained", explanation: explanationOf(only, of, nowMs) };
    return { kind: "noSubject", known: judged.map(({ node }) => node.name).sort() };
  }
  const named = judged.filter(({ node }) => node.name.toLowerCase() === subject.toLowerCase());
  const short = judged.filter(({ node }) => shortened(node.name).toLowerCase() === subject.toLowerCase());
  const instance = named[0] ?? (short.length === 1 ? short[0] : undefined);
  if (instance) return { kind: "explained", explanation: explanationOf(instance, of, nowMs) };
  const known = short.length > 1 ? short : judged;
  return { kind: "noSubject", known: known.map(({ node }) => node.name).sort() };
}

function builtInOf(rule: BuiltInRule, { live }: AlertBook): BuiltInExplanation {
  const firing = [...live.values()].map(({ alert }) => alert).filter((alert) => alert.rule === rule);
  const alerts = firing.map(({ id, subject, severity, summary }) => ({ id, subject, severity, summary }));
  return { rule, builtIn: true, meaning: builtInMeanings[rule], alerts };
}

function shortened(name: string): string {
  return name.replace(/\/\d+\.\d+(?=\/)/, "");
}

type Looked = Pick<Explanation, "unknown" | "unexplained" | "parts"> & {
  /** A `when` holds, or may hold. */
  readonly holds: boolean;
};

/** The parts of a rule at the present figures. */
function look({ rule, node, alert }: Instance): Looked {
  const { env } = node;
  const judged = judge(rule, env, alert?.alert.severity ?? null);
  const unknown = judged.kind === "unknown" ? judged.unknown.detail : null;
  const holds = rule.levels.some(({ when }) => when.run(env) !== false);
  return { unknown, unexplained: null, holds, parts: explainParts(rule, env) };
}

/** The parts at both ends of a profit range: a part that differs has both results. */
function lookAtBothEnds(instance: Instance, doubt: Doubt): Looked {
  doubt.assume(false);
  const worst = look(instance);
  doubt.assume(true);
  const best = look(instance);
  doubt.leave();
  const parts = worst.parts.map((part, i): ExplainedPart => {
    const other = best.parts[i];
    if (other === undefined || part.value === other.value) return part;
    if (part.value === null || other.value === null) return part.value === null ? part : other;
    return { ...part, value: `${other.value} or ${part.value}` };
  });
  const holds = worst.holds || best.holds;
  return { unknown: worst.unknown ?? best.unknown, unexplained: unexplainedText(doubt), holds, parts };
}

/** The alert of a condition that no longer holds and that has not ended yet; null: none. */
function endingOf({ rule, node }: Instance, { live }: AlertBook): LiveAlert | null {
  for (const one of live.values())
    if (one.endingWait !== null && one.alert.rule === rule.name && one.alert.subject === node.name)
      return one;
  return null;
}

function explanationOf(
  instance: Instance,
  { alerts, wallet, doubtOf }: ExplainParts,
  nowMs: number,
): Explanation {
  const { rule, node, lifecycle } = instance;
  const { env, subject } = node;
  const ending = instance.alert === null ? endingOf(instance, alerts) : null;
  const alert = (instance.alert ?? ending)?.alert ?? null;
  env.nowMs = nowMs;
  env.looked = instance.windows;
  const doubt = rule.reads.some(isProfit) ? doubtOf(node) : null;
  const { unknown, unexplained, holds, parts } =
    doubt === null ? look(instance) : lookAtBothEnds(instance, doubt);
  const of = "wallet" in subject ? subject.wallet : null;
  const labels = { ...(of === null ? {} : wallet(of)?.labels), ...rule.labels };
  const routed = {
    labels,
    rule: rule.name,
    subject: node.name,
    wallet: of,
    symbol: "symbol" in subject ? subject.symbol : null,
    severity: rule.levels.at(-1)!.severity,
  };
  return {
    rule: rule.name,
    subject: node.name,
    atMs: nowMs,
    mode: rule.mode,
    // Until the alert ends it is shown as firing.
    state: instance.alert
      ? "firing"
      : lifecycle.sinceMs !== null
        ? "pending"
        : ending
          ? "firing"
          : "inactive",
    sinceMs: lifecycle.sinceMs ?? ending?.alert.sinceMs ?? null,
    severity: alert?.severity ?? null,
    alertId: alert?.id ?? null,
    unknown,
    unexplained,
    forMs: rule.forMs,
    keepFiringForMs: rule.keepFiringForMs,
    ...(instance.alert === null || unknown !== null || holds
      ? {}
      : { gone: { endsMs: endsMs(lifecycle, rule) } }),
    ...(ending?.endingWait && { endingWait: ending.endingWait }),
    levels: lifecycle.levels,
    parts,
    inputs: explainInputs(rule, env),
    held:
      rule.mode === "shadow"
        ? []
        : alerts.whyHeld(alert ?? { ...routed, id: -1, severity: rule.levels.at(-1)!.severity }, nowMs),
    receivers: rule.mode === "shadow" ? [] : alerts.receivers(alert ?? routed),
  };
}
