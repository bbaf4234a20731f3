/**
 * Selects the mention for a message: people are mentioned only when an alert fires, gets worse, is repeated, or a
 * position was taken by the exchange.
 */
import { type AlertChange, isTaking, type Severity, severities } from "../domain/alerts/alert.ts";
import type { Message } from "../domain/alerts/delivery.ts";

/** A channel's mentions by severity. */
export type MentionOfSeverity = { readonly [severity in Severity]?: string | undefined };

/** @returns the mention of the highest severity among the changes that mention people, or null */
export function mentionFor(message: Message, mentions: MentionOfSeverity | undefined): string | null {
  const { kind, quiet } = message.content;
  if (mentions === undefined || kind !== "alert" || quiet === true) return null;
  const loud = message.content.items.map(({ change }) => change).filter(mentionsPeople);
  const worst = severities.findLast((one) => loud.some(({ alert }) => alert.severity === one));
  return worst === undefined ? null : (mentions[worst] ?? null);
}

export function mentionsPeople({ kind, alert }: AlertChange): boolean {
  return (
    kind === "fired" ||
    kind === "rose" ||
    kind === "worsened" ||
    kind === "changed" ||
    kind === "reminder" ||
    kind === "escalated" ||
    // One mention per lost position; its effect on the account is not mentioned separately.
    (isTaking(alert.ending) && alert.symbol !== null)
  );
}
