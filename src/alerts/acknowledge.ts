/**
 * What it takes until a notification of the exchange counts as handled. Pure.
 *
 * Strictest first: `never`, `whenAcknowledged` (by a person), `whenDelivered`, `always`. The word comes from the rule,
 * else from `acknowledge.types`, else from `acknowledge.notifications`; with several matching rules the strictest wins.
 */
import { z } from "zod";
import type { AckWord } from "../domain/delivery.ts";

const strictness: readonly AckWord[] = ["never", "whenAcknowledged", "whenDelivered", "always"];

/** `acknowledge:` of the configuration. */
export const acknowledgeSettings = z.strictObject({
  notifications: z.enum(["whenHandled", "never"]).default("whenHandled"),
  unmatched: z.enum(["leave", "always"]).default("leave"),
  backlog: z.enum(["leave", "always"]).default("leave"),
  types: z.record(z.string(), z.enum(["never", "whenAcknowledged", "whenDelivered", "always"])).default({}),
});

export type AcknowledgeSettings = z.infer<typeof acknowledgeSettings>;

/** @param ruleWords the words of the rules that match, null where a rule has none; at least one. */
export function acknowledgeWord(
  settings: AcknowledgeSettings,
  notificationType: string,
  ruleWords: readonly (AckWord | null)[],
): AckWord {
  const byType = settings.types[notificationType];
  const fallback: AckWord = byType ?? (settings.notifications === "never" ? "never" : "whenDelivered");
  let strictest = strictness.length - 1;
  for (const word of ruleWords) strictest = Math.min(strictest, strictness.indexOf(word ?? fallback));
  return strictness[strictest]!;
}
