/** Sections of the configuration that belong to no room: time zone, database, page, and the channels' references. */
import path from "node:path";
import { z } from "zod";
import { type ConfigSource, durationSetting } from "../config/index.ts";
import { nearestName } from "../domain/nearest.ts";
import { defaultRetention, type Retention } from "../history/maintenance.ts";

export interface Listen {
  readonly host: string;
  /** 0: a free one. */
  readonly port: number;
}

const defaultListen = "127.0.0.1:8787";

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
 * Events older than this when they are read are no news: a daemon that was down for a week still has to tell what happened
 * meanwhile.
 */
const shortestEventsMs = 7 * 86_400_000;
const eventsKept = kept.refine(
  (ms) => ms === null || ms >= shortestEventsMs,
  "has to be 7d or more, or forever",
);

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

/** The reach of history in any form, ms: no window of a rule can be longer. */
export function longestKept({ samplesMs, minutesMs, hoursMs }: Retention): number {
  return Math.max(...[samplesMs, minutesMs, hoursMs].map((ms) => ms ?? Number.POSITIVE_INFINITY));
}

const listen = z.string().transform((text, context): Listen | null => {
  if (text === "off") return null;
  const [, bracketed, plain, digits] = /^(?:\[([0-9a-fA-F:.]+)\]|([^\s:[\]/]+)):(\d{1,5})$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  const port = Number(digits);
  if (host !== undefined && port <= 65_535) return { host, port };
  context.addIssue({
    code: "custom",
    message: `expected HOST:PORT such as ${defaultListen} (port 0: a free one), or off`,
    input: text,
  });
  return z.NEVER;
});

const dashboardSettings = z.strictObject({ listen: listen.prefault(defaultListen) });
const loopback = /^(localhost|127(\.\d{1,3}){3}|::1)$/;

export function readDashboard(source: ConfigSource): Listen | null {
  const address = source.read(["dashboard"], dashboardSettings, {})?.listen ?? null;
  if (address !== null && !loopback.test(address.host)) {
    source.warn(
      ["dashboard", "listen"],
      "the status page is served to other machines, to anybody and without " +
        `a password. Keep it on ${defaultListen} unless something in front of it asks for one.`,
    );
  }
  return address;
}
