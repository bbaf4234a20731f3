/** What rules need beyond what is read for everybody: what nobody looks at is not asked for. */
import type { RuleSet } from "../rules/index.ts";

export interface Needs {
  /** Some rule asks or tells how long orders have rested. */
  readonly orderAges: boolean;
  /** Some rule reads or tells the profit of today. */
  readonly midnight: boolean;
  /** Some rule reads or tells how far our equity is from the exchange's. */
  readonly equityCheck: boolean;
}

export function needsOf(ruleSet: RuleSet): Needs {
  const shown = [...ruleSet.conditions, ...ruleSet.events].flatMap((rule) => rule.shows);
  return {
    orderAges: shown.some(({ awaits }) => awaits === "orders"),
    midnight: shown.some(({ awaits }) => awaits === "portfolio"),
    equityCheck: shown.some(({ sources }) => sources.includes("portfolio")),
  };
}
