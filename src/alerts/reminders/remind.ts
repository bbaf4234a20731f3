/**
 * Decides when a firing alert is notified again. Pure.
 *
 * Critical alerts are repeated at a steady interval until a person acknowledges, and again when that acknowledgement
 * lapses. Warnings back off, doubling up to a bound. Infos are not repeated. A clearly worse value is notified at once,
 * even if acknowledged: an acknowledgement covers the value that the person saw, and nothing worse.
 */
import { z } from "zod";
import type { Alert, Severity } from "../../domain/alerts/alert.ts";
import { formatDurationMs, parseDurationMs } from "../../domain/text/duration.ts";

const duration = z.string({ error: "expected a duration such as 5m or 1h" }).transform((text, context) => {
  const ms = parseDurationMs(text);
  if (ms !== undefined && ms > 0) return ms;
  context.addIssue({ code: "custom", message: `expected a duration such as 5m or 1h, found "${text}"` });
  return z.NEVER;
});

const pace = z.union([
  z.literal("never"),
  z
    .strictObject({ every: duration, upTo: duration.optional(), acknowledgedFor: duration.optional() })
    .refine(({ every, upTo }) => upTo === undefined || upTo >= every, {
      path: ["upTo"],
      message: "is what the pauses between reminders grow to: at least as long as every",
    }),
]);

/** `remind:` of the configuration. */
export const remindSettings = z.strictObject({
  critical: pace.default({ every: 300_000, acknowledgedFor: 3_600_000 }),
  warning: pace.default({ every: 3_600_000, upTo: 28_800_000 }),
  info: pace.default("never"),
  /**
   * Share by which the value has to be worse than at the last notification (of the distance to the `worst` of its
   * rule), or outside of the notified range if it has no direction; 0 turns it off.
   */
  worseBy: z.number().min(0).max(10).default(0.2),
});

export type RemindSettings = z.infer<typeof remindSettings>;

export interface Reminded {
  /** The time of the alert's last notification (fired, rose, reminded), ms. */
  readonly notifiedAtMs: number;
  /** Reminders since it fired or rose. */
  readonly count: number;
}

/** @returns the time of the next reminder, or null if there is none */
export function nextReminderMs(alert: Alert, reminded: Reminded, settings: RemindSettings): number | null {
  if (alert.event || alert.state !== "firing" || alert.shadow) return null;
  const pace = settings[alert.severity satisfies Severity];
  if (pace === "never") return null;
  if (alert.acknowledgedAtMs !== null) {
    return pace.acknowledgedFor === undefined ? null : alert.acknowledgedAtMs + pace.acknowledgedFor;
  }
  const everyMs =
    pace.upTo === undefined
      ? pace.every
      : Math.min(pace.every * 2 ** Math.min(reminded.count, 30), Math.max(pace.upTo, pace.every));
  return reminded.notifiedAtMs + everyMs;
}

/**
 * Returns true if a value is clearly worse than the last notified one. "Worse" is further in the direction that the
 * value took when the rule began to hold; a value is worse when smaller if the levels of its rule fall (distances),
 * else when larger.
 */
export function isWorse(
  notifiedValue: number | null,
  value: number | null,
  falling: boolean,
  worseBy: number,
  worst: number | null = null,
): boolean {
  if (worseBy <= 0 || notifiedValue === null || value === null) return false;
  const worsening = falling ? notifiedValue - value : value - notifiedValue;
  // Infinity is worse than any number, by any share of it.
  return (
    worsening > 0 &&
    (worsening === Number.POSITIVE_INFINITY ||
      worsening >= comparedSize(notifiedValue, falling, worst) * worseBy)
  );
}

/**
 * Minimum part of a value that counts beside the distance to the worst value: else nearly nothing would be news just
 * before it.
 */
const leastPart = 0.25;

/**
 * Returns the amount of which a share counts as clearly worse: the value itself, or its distance to the worst value of
 * its rule.
 * @param worst null: the rule names none
 */
export function comparedSize(value: number, falling: boolean, worst: number | null): number {
  const size = Math.abs(value);
  return worst === null ? size : Math.max(falling ? value - worst : worst - value, size * leastPart);
}

/** The values notified since the alert fired, changed its level or was acknowledged. */
export interface Notified {
  readonly last: number;
  readonly low: number;
  readonly high: number;
  /** The same since it fired. */
  readonly everLow: number;
  readonly everHigh: number;
}

/**
 * @param before undefined: it is the first
 * @param anew earlier notified values no longer count, except for the known sides of 0
 */
export function notifiedWith(value: number | null, before?: Notified | null, anew = false): Notified | null {
  if (value === null) return anew ? null : (before ?? null);
  const { everLow, everHigh } = before ?? { everLow: value, everHigh: value };
  const { low, high } = before && !anew ? before : { low: value, high: value };
  return {
    ...{ last: value, low: Math.min(low, value), high: Math.max(high, value) },
    ...{ everLow: Math.min(everLow, value), everHigh: Math.max(everHigh, value) },
  };
}

/** Returns true if values on both sides of 0 were notified. */
export function knowsBothSides(notified: Notified | null): boolean {
  return notified !== null && notified.everLow < 0 && notified.everHigh > 0;
}

/** Returns true if a value is outside of the notified range, by a share of its larger bound. */
export function isBeyond({ low, high }: Notified, value: number, by: number): boolean {
  const beyond = value > high ? value - high : low - value;
  if (!(beyond > 0)) return false;
  const sizes = [Math.abs(low), Math.abs(high)].filter(Number.isFinite);
  return beyond === Number.POSITIVE_INFINITY || beyond >= Math.max(0, ...sizes) * by;
}

/**
 * Returns the time for which an acknowledgement keeps an alert quiet, in words; undefined if there is nothing to keep
 * quiet.
 * @param compared the change of its value that is notified anyway, `either` on two sides of 0; null: none
 * @param worse the value from which it is worse: `falls below 3.3%`; left out if that is no single value, empty if it
 * is 0
 * @param value the covered value, shown if the one from which it is worse is not, or has a relevant sign
 */
export function quietIfAcknowledged(
  severity: Severity,
  compared: "worse" | "either" | "changed" | null,
  settings: RemindSettings,
  worse?: string,
  value?: string,
): string | undefined {
  const pace = settings[severity];
  if (pace === "never") return undefined;
  const share = `${Number((settings.worseBy * 100).toPrecision(3))}%`;
  const moves = compared === "changed" ? `changes by ${share}` : (worse ?? `gets worse by ${share}`);
  const isShown = value !== undefined && (moves !== worse || compared === "either");
  const named = isShown ? `its value (${value})` : "its value";
  const until = [
    ...(compared !== null && settings.worseBy > 0 && moves !== "" ? [`${named} ${moves}`] : []),
    ...(compared === "either" ? ["its sign changes"] : []),
    ...(severity === "critical" ? [] : ["its severity rises"]),
  ].join(" or ");
  const lapses = pace.acknowledgedFor === undefined ? "" : `for ${formatDurationMs(pace.acknowledgedFor)}`;
  if (until === "") return lapses || undefined;
  return `${lapses === "" ? "" : `${lapses}, `}unless ${until}`;
}
