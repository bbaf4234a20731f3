/**
 * Decides when a notification of the exchange counts as handled. Pure.
 *
 * Strictest first: `never`, `whenAcknowledged` (by a person), `whenDelivered`, `always`. The setting comes from the
 * rule, else from `acknowledge.types`, else from `acknowledge.notifications`; of several matching rules the strictest
 * wins.
 */
import { z } from "zod";
import type { AckWord } from "../domain/alerts/delivery.ts";
import { parseDurationMs } from "../domain/text/duration.ts";

const strictness: readonly AckWord[] = ["never", "whenAcknowledged", "whenDelivered", "always"];

/** `acknowledge:` of the configuration. */
const everyOrOff = z.string().transform((text, context): number | null => {
  if (text === "off") return null;
  const ms = parseDurationMs(text);
  if (ms !== undefined && ms >= 60_000 && ms <= 7 * 86_400_000) return ms;
  context.addIssue({
    code: "custom",
    message: "expected a duration from 1m to 7d such as 1h, or off",
    input: text,
  });
  return z.NEVER;
});

export const acknowledgeSettings = z.strictObject({
  notifications: z.enum(["whenHandled", "never"]).default("whenHandled"),
  unmatched: z.enum(["leave", "always"]).default("leave"),
  backlog: z.enum(["leave", "always"]).default("leave"),
  /** The interval at which the exchange's inbox is compared with what is stored, ms; null: only on request. */
  audit: everyOrOff.default(3_600_000),
  types: z.record(z.string(), z.enum(["never", "whenAcknowledged", "whenDelivered", "always"])).default({}),
});

export type AcknowledgeSettings = z.infer<typeof acknowledgeSettings>;

/** @param ruleWords the settings of the rules that match, null where a rule has none; at least one. */
export function acknowledgeWord(
  settings: AcknowledgeSettings,
  notificationType: string,
  ruleWords: readonly (AckWord | null)[],
): AckWord {
  // Types are named by the exchange: a name that every object has as a property is not a configured type.
  const byType = Object.hasOwn(settings.types, notificationType)
    ? settings.types[notificationType]
    : undefined;
  const fallback: AckWord = byType ?? (settings.notifications === "never" ? "never" : "whenDelivered");
  let strictest = strictness.length - 1;
  for (const word of ruleWords) strictest = Math.min(strictest, strictness.indexOf(word ?? fallback));
  return strictness[strictest]!;
}
