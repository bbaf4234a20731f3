/** Bounds on the number of messages: reminders keep their interval, and what is told as worse is worse. */
import type { Severity } from "../../src/domain/alerts/alert.ts";
import { builtInRules } from "../../src/domain/alerts/built-in.ts";
import { parseDurationMs } from "../../src/domain/text/duration.ts";
import type { Invariant } from "./invariants.ts";
import { predicates } from "./oracle/rules/index.ts";

/** A reminder is decided when it is due, and its message before it may have been late. */
const slackMs = 1_000;

/** The default of warnings, ms: nobody is reminded of them within a scenario. Infos are never reminded of. */
const warningsEveryMs = 3_600_000;

/** A reminder comes no sooner than the interval of its severity after the last word of that alert. */
export const remindedSeldom: Invariant = ({ log, sections }) => {
  const wrong: string[] = [];
  const { critical } = sections[0]!.remind as { readonly critical: { readonly every: string } };
  const everyMs: Readonly<Record<Severity, number>> = {
    critical: Number(parseDurationMs(critical.every)),
    warning: warningsEveryMs,
    info: Number.POSITIVE_INFINITY,
  };
  /** By alert, receiver and level. */
  const lastMs = new Map<string, number>();
  for (const { changes } of log.of("committed")) {
    const byChange = new Map(changes.alertChanges.map((change) => [change.id, change]));
    for (const { changeId, receiver, quiet } of changes.deliveryItems) {
      const change = byChange.get(changeId);
      // A quiet change of an incident puts no reminder off.
      if (change === undefined || quiet) continue;
      const { alertId, kind, atMs, alert } = change;
      const key = `${alertId} ${receiver} ${alert.severity}`;
      const known = lastMs.get(key);
      lastMs.set(key, atMs);
      if (kind !== "reminder" || known === undefined) continue;
      if (atMs - known < everyMs[alert.severity] - slackMs)
        wrong.push(`${receiver} is reminded of alert ${alertId} ${atMs - known} ms after it was reported`);
    }
  }
  return wrong;
};

const isBuiltIn = (rule: string): boolean => (builtInRules as readonly string[]).includes(rule);
/** Default of `worseBy`. */
const usualWorseBy = 0.2;
/** Values in doubles. */
const tiny = 1e-9;

/** An alert that is told as worse, or as changed, differs from what was told last by the share that the configuration names. */
export const worseIsWorse: Invariant = ({ log, sections }) => {
  const wrong: string[] = [];
  const { worseBy = usualWorseBy } = sections[0]!.remind as { readonly worseBy?: number };
  const told = new Map<number, number | null>();
  for (const { changes } of log.of("committed")) {
    const owed = new Set(changes.deliveryItems.map(({ changeId }) => changeId));
    for (const { id, alertId, kind, alert } of changes.alertChanges) {
      const last = told.get(alertId) ?? null;
      if (owed.has(id)) told.set(alertId, alert.value);
      // An alert about missing data gets worse by what it says.
      if (
        (kind !== "worsened" && kind !== "changed") ||
        last === null ||
        alert.value === null ||
        isBuiltIn(alert.rule)
      )
        continue;
      const { worst = Number.NaN } = predicates.find(({ rule }) => rule === alert.rule)?.worsens ?? {};
      const size = Number.isNaN(worst) ? Math.abs(last) : Math.max(worst - last, Math.abs(last) / 4);
      if (Math.abs(alert.value - last) < size * worseBy * (1 - tiny))
        wrong.push(`alert ${alertId} is told as ${kind}: ${last} before, ${alert.value} now`);
    }
  }
  return wrong;
};
