/** The worst that an alert came to, where it stands better since: its value, its text, and the time of them. */
import { type Alert, severityRank } from "../../domain/alert.ts";
import type { ChangesBuilder } from "../../domain/changes-builder.ts";

/** An alert that fires, with a comparison of two values at a level; null where no direction is known to be worse. */
export interface Compared {
  alert: Alert;
  readonly isFurther: (severity: Alert["severity"], value: number, than: number) => boolean | null;
}

/** Between steps in an alert's life a value counts as worse by this share, so that a price that falls changes no row each time. */
const worseBy = 0.05;

/** @param next the alert after a step in its life   @returns it with the worst of before, where it is not the worst itself */
export function withWorst({ alert, isFurther }: Compared, next: Alert): Alert {
  const { severity, value, summary, dataAtMs, worst = { severity, value, summary, atMs: dataAtMs } } = alert;
  const { worst: _, ...rest } = next;
  // The texts of an end say how it stood before, or that it is over: nothing of it is worse.
  if (next.state === "ended")
    return next.summary === worst.summary && next.value === worst.value ? rest : { ...rest, worst };
  const byLevel = severityRank[next.severity] - severityRank[worst.severity];
  const isFurtherBeyond =
    next.value === null || worst.value === null ? null : isFurther(worst.severity, next.value, worst.value);
  // Without a direction the newest text of a condition that holds counts.
  const isWorst = byLevel > 0 || (byLevel === 0 && (isFurtherBeyond ?? true));
  return isWorst ? rest : { ...rest, worst };
}

/**
 * Takes what an alert came to between two steps in its life.
 * @param value of a judgement of now   @param isMoved true if it is worse than a value by a share of that
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
