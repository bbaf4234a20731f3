/**
 * The data state of a rule for a subject: known, no data, or error. It is independent of the alert's state, which it neither
 * raises nor resolves.
 */
import type { RuleDataStates, UnjudgedSubject } from "../domain/status.ts";
import type { RuleSet, Unknown } from "../rules/index.ts";
import type { SubjectNode } from "../state/subjects.ts";
import { rulesOf } from "./conditions/subject-rules.ts";

/** Maximum number of subjects that are listed individually; all are counted. */
const maxListed = 1_000;

/** @param unknown reason why the last judgement was unknown; null: it was known */
export function dataStateOf(unknown: Unknown | null): "ok" | "noData" | "error" {
  if (unknown === null) return "ok";
  return unknown.unknown === "error" ? "error" : "noData";
}

/** The data states of all conditions: counted by rule, in the order of the rule files, and listed if they are not `ok`. */
export function dataStates(
  ruleSet: RuleSet,
  nodes: Iterable<SubjectNode>,
): { readonly ruleStates: readonly RuleDataStates[]; readonly unjudged: readonly UnjudgedSubject[] } {
  const counts = new Map(
    ruleSet.conditions.map(({ name, mode }) => [name, { rule: name, mode, ok: 0, noData: 0, error: 0 }]),
  );
  const unjudged: UnjudgedSubject[] = [];
  for (const node of nodes) {
    const { plan, instances } = rulesOf(node);
    // Quiet rules have no state: all are counted as known first, and those with a state are then corrected.
    for (const { rule } of plan) {
      const count = counts.get(rule.name);
      if (count) count.ok++;
    }
    for (const { rule, unknown, unknownSinceMs } of instances) {
      const state = dataStateOf(unknown);
      const count = counts.get(rule.name);
      if (count) {
        count.ok--;
        count[state]++;
      }
      if (unknown === null || state === "ok" || unjudged.length >= maxListed) continue;
      const source = unknown.unknown === "unset" ? "configuration" : unknown.source;
      unjudged.push({
        rule: rule.name,
        subject: node.name,
        state,
        source: state === "error" ? null : source,
        detail: unknown.detail,
        sinceMs: unknownSinceMs,
      });
    }
  }
  return { ruleStates: [...counts.values()], unjudged };
}
