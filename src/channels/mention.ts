/** Decides whom a message calls: only when something began, got worse, is reminded of, or was taken by the exchange. */
import { type AlertChange, isTaking, type Severity, severities } from "../domain/alert.ts";
import type { Message } from "../domain/delivery.ts";

/** A channel's own way to write down whom to call, by severity. */
export type MentionOfSeverity = { readonly [severity in Severity]?: string | undefined };

/** @returns the mention of the worst that calls, or null */
export function loudest(message: Message, mentions: MentionOfSeverity | undefined): string | null {
  const { kind, quiet } = message.content;
  if (mentions === undefined || kind !== "alert" || quiet === true) return null;
  const loud = message.content.items.map(({ change }) => change).filter(calls);
  const worst = severities.findLast((one) => loud.some(({ alert }) => alert.severity === one));
  return worst === undefined ? null : (mentions[worst] ?? null);
}

export function calls({ kind, alert }: AlertChange): boolean {
  return (
    kind === "fired" ||
    kind === "rose" ||
    kind === "worsened" ||
    kind === "changed" ||
    kind === "reminder" ||
    kind === "escalated" ||
    // One call for each position that was lost; what that means for the account is no news of its own.
    (isTaking(alert.ending) && alert.symbol !== null)
  );
}
