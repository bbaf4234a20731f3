/**
 * The data state of a rule about a subject: can it be judged? It stands beside the state of its alert, which neither fires
 * nor resolves because of it.
 */
import type { RuleDataStates, UnjudgedSubject } from "../domain/status.ts";
import type { RuleSet, Unknown } from "../rules/index.ts";
import type { SubjectNode } from "../state/subjects.ts";
import { rulesOf } from "./conditions/subject-rules.ts";

/** Maximum number of subjects that are listed one by one; all are counted. */
const maxListed = 1_000;

/** @param unknown why the last judgement was unknown; null: it was known. */
export function dataStateOf(unknown: Unknown | null): "ok" | "noData" | "error" {
  if (unknown === null) return "ok";
  return unknown.unknown === "error" ? "error" : "noData";
}

/** Those of all conditions: counted by rule, in the order of the rule files, and listed where they are not `ok`. */
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
    // Of a rule that is quiet nothing is kept: all count as known first, and those of which something is are set right.
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
