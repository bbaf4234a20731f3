import type { ConditionRule, EventRule, RuleSet } from "../rules/index.ts";

/** Makes all rules live, so that a rule in shadow mode is evaluated as if it sent messages. */
export function asLive(ruleSet: RuleSet): RuleSet {
  const live = <R extends ConditionRule | EventRule>(rule: R): R => ({ ...rule, mode: "live" });
  return { ...ruleSet, conditions: ruleSet.conditions.map(live), events: ruleSet.events.map(live) };
}
