/** Logs of scenarios that were tampered with, and the checks of the oracle that find it. */
import type { AlertChange } from "../../src/domain/alerts/alert.ts";
import type { Observation } from "../../src/domain/observation.ts";
import type { Logged } from "./log.ts";
import type { Finding } from "./oracle/finding.ts";
import { judge } from "./oracle/judge.ts";
import type { Outcome } from "./scenario.ts";

/**
 * Names of the checks that fail in a log made of that of an outcome, each with its rule. Without the check that each change is owed
 * to its receivers: most of what is put in place of a change is owed to nobody.
 */
export function brokenIn(
  outcome: Outcome,
  change: (entry: Logged) => Logged,
  rules?: readonly string[],
): readonly string[] {
  return [
    ...new Set(
      findingsIn(outcome, change, rules).flatMap(({ check, rule }) =>
        // A message may list an alert that was taken out.
        check === "owed" || (check === "figures" && rule === "") ? [] : `${check} ${rule}`,
      ),
    ),
  ];
}

/** @param rules those of the shipped rules that are judged; absent: those whose changes were tampered with, or all if something else was */
export function findingsIn(
  outcome: Outcome,
  change: (entry: Logged) => Logged,
  rules?: readonly string[],
): readonly Finding[] {
  const { entries: before } = outcome.log;
  const entries = before.map(change);
  const log = Object.create(outcome.log, { entries: { value: entries } });
  return judge({ ...outcome, log }, rules ?? rulesBetween(before, entries)).findings;
}

/** The rules of the alert changes in which two logs differ; undefined: they differ in something else, or in nothing. */
function rulesBetween(some: readonly Logged[], others: readonly Logged[]): readonly string[] | undefined {
  const rules = new Set<string>();
  for (const [index, one] of some.entries()) {
    const other = others[index]!;
    if (one === other) continue;
    if (one.kind !== "committed" || other.kind !== "committed") return undefined;
    const [of, ofOther] = [one.changes, other.changes];
    const areSame = of.observations.every((observation, i) => observation === ofOther.observations[i]);
    if (!areSame || of.observations.length !== ofOther.observations.length) return undefined;
    const kept = new Set(of.alertChanges);
    const keptOther = new Set(ofOther.alertChanges);
    for (const { alert } of of.alertChanges.filter((step) => !keptOther.has(step))) rules.add(alert.rule);
    for (const { alert } of ofOther.alertChanges.filter((step) => !kept.has(step))) rules.add(alert.rule);
  }
  return rules.size > 0 ? [...rules] : undefined;
}

/** Puts others in the place of changes of alerts; null: none. */
export const changed =
  (of: (change: AlertChange) => AlertChange | readonly AlertChange[] | null) =>
  (entry: Logged): Logged =>
    entry.kind === "committed"
      ? {
          ...entry,
          changes: {
            ...entry.changes,
            alertChanges: entry.changes.alertChanges.flatMap((one) => of(one) ?? []),
          },
        }
      : entry;

export const observed =
  (of: (observation: Observation) => Observation) =>
  (entry: Logged): Logged =>
    entry.kind === "committed"
      ? { ...entry, changes: { ...entry.changes, observations: entry.changes.observations.map(of) } }
      : entry;

/** Takes observations out. */
export const unobserved =
  (isOut: (observation: Observation) => boolean) =>
  (entry: Logged): Logged =>
    entry.kind === "committed"
      ? {
          ...entry,
          changes: {
            ...entry.changes,
            observations: entry.changes.observations.filter((one) => !isOut(one)),
          },
        }
      : entry;

export const isOf = ({ kind, alert }: AlertChange, step: AlertChange["kind"], rule: string) =>
  kind === step && alert.rule === rule;
