/** The worst state of an alert that has improved since: its value, text and time. */
import { type Alert, severityRank } from "../../domain/alerts/alert.ts";
import type { ChangesBuilder } from "../../domain/stored/changes-builder.ts";

/** A firing alert, with a comparison of two values at a level; null if no direction is known to be worse. */
export interface Compared {
  alert: Alert;
  readonly isFurther: (severity: Alert["severity"], value: number, than: number) => boolean | null;
}

/**
 * Share by which a value has to be worse between two changes of an alert, so that a falling price does not change a row
 * each time.
 */
const worseBy = 0.05;

/** @param next the alert after a change @returns it with the previous worst state, if it is not the worst itself */
export function withWorst({ alert, isFurther }: Compared, next: Alert): Alert {
  const { severity, value, summary, dataAtMs, worst = { severity, value, summary, atMs: dataAtMs } } = alert;
  const { worst: _, ...rest } = next;
  // The texts of an end state the previous state or the end: they are not worse.
  if (next.state === "ended")
    return next.summary === worst.summary && next.value === worst.value ? rest : { ...rest, worst };
  const byLevel = severityRank[next.severity] - severityRank[worst.severity];
  const isFurtherBeyond =
    next.value === null || worst.value === null ? null : isFurther(worst.severity, next.value, worst.value);
  // Without a direction the newest text of a holding condition counts.
  const isWorst = byLevel > 0 || (byLevel === 0 && (isFurtherBeyond ?? true));
  return isWorst ? rest : { ...rest, worst };
}

/**
 * Notes the state of an alert between two changes.
 * @param value of a current judgement @param isMoved returns true if it is worse than a value by a share of that
 */
export function noteWorst(
  builder: ChangesBuilder,
  live: Compared,
  value: number,
  text: () => { readonly summary: string; readonly dataAtMs: number },
  isMoved: (than: number, share: number) => boolean,
): void {
  const { severity, worst } = live.alert;
  const than = worst === undefined ? live.alert.value : worst.value;
  if (than === null || (worst !== undefined && severityRank[worst.severity] > severityRank[severity])) return;
  if (!isMoved(than, worseBy)) return;
  const { summary, dataAtMs } = text();
  live.alert = { ...live.alert, worst: { severity, value, summary, atMs: dataAtMs } };
  builder.changes.alerts.push(live.alert);
}
