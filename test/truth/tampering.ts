/** Logs of scenarios that were tampered with, and the checks of the oracle that find it. */
import type { AlertChange } from "../../src/domain/alert.ts";
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
        check === "owed" ? [] : `${check} ${rule}`,
      ),
    ),
  ];
}

/** @param rules those of the shipped rules that are judged; absent: all of them */
export function findingsIn(
  outcome: Outcome,
  change: (entry: Logged) => Logged,
  rules?: readonly string[],
): readonly Finding[] {
  const log = Object.create(outcome.log, { entries: { value: outcome.log.entries.map(change) } });
  return judge({ ...outcome, log }, rules).findings;
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
