import type { ConditionRule, EventRule, RuleSet } from "../rules/index.ts";

/** A rule in shadow mode is judged as if it were not: what it would do is the question. */
export function asLive(ruleSet: RuleSet): RuleSet {
  const live = <R extends ConditionRule | EventRule>(rule: R): R => ({ ...rule, mode: "live" });
  return { ...ruleSet, conditions: ruleSet.conditions.map(live), events: ruleSet.events.map(live) };
}
