/** The sections `timezone` and `history`. */
import path from "node:path";
import { z } from "zod";
import { type ConfigSource, durationSetting } from "../../config/index.ts";
import { nearestName } from "../../domain/text/nearest.ts";
import { defaultRetention, type Retention } from "../../history/maintenance.ts";

/** @returns an IANA name. */
export function readTimezone(source: ConfigSource): string {
  const name = source.read(["timezone"], z.string(), "UTC") ?? "UTC";
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone;
  } catch {
    if (!source.isBroken(["timezone"])) {
      const nearest = nearestName(name, Intl.supportedValuesOf("timeZone"));
      const shown = source.hide(name).slice(0, 60);
      source.problem(["timezone"], `expected a time zone such as UTC or Europe/Berlin, found "${shown}"`, {
        nearest,
      });
    }
    return "UTC";
  }
}

const kept = z.union([z.literal("forever").transform(() => null), durationSetting]);

/**
 * Older events count as old at their first reading. A daemon that was down for a week still has to report the events of
 * that time.
 */
const minEventsMs = 7 * 86_400_000;
const eventsKept = kept.refine((ms) => ms === null || ms >= minEventsMs, "has to be 7d or more, or forever");

const historySettings = z.strictObject({
  path: z.string().min(1).default("./data/perpwatch.db"),
  retention: z
    .strictObject({
      samples: kept.optional(),
      minutes: kept.optional(),
      hours: kept.optional(),
      payloads: kept.optional(),
      failedReads: kept.optional(),
      events: eventsKept.optional(),
    })
    .default({}),
});

export function readHistory(source: ConfigSource): { path: string; retention: Retention } | undefined {
  const found = source.read(["history"], historySettings, {});
  if (found === undefined) return undefined;
  const { samples, minutes, hours, payloads, failedReads, events } = found.retention;
  const or = (given: number | null | undefined, usual: number | null) =>
    given === undefined ? usual : given;
  return {
    path: path.normalize(source.resolve(found.path)),
    retention: {
      samplesMs: or(samples, defaultRetention.samplesMs),
      minutesMs: or(minutes, defaultRetention.minutesMs),
      hoursMs: or(hours, defaultRetention.hoursMs),
      payloadsMs: or(payloads, defaultRetention.payloadsMs),
      failedReadsMs: or(failedReads, defaultRetention.failedReadsMs),
      eventsMs: or(events, defaultRetention.eventsMs),
    },
  };
}

/** The reach of history in any resolution, ms: no window of a rule can be longer. */
export function longestKept({ samplesMs, minutesMs, hoursMs }: Retention): number {
  return Math.max(...[samplesMs, minutesMs, hoursMs].map((ms) => ms ?? Number.POSITIVE_INFINITY));
}
