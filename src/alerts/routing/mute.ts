/** Calendar times at which a route is muted: nights, weekends. Pure: time is a parameter. */
import { z } from "zod";
import { type Severity, severities } from "../../domain/alerts/alert.ts";
import { covers as coversLevel } from "../reminders/quiet.ts";

const days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"] as const;
type Day = (typeof days)[number];

const clock = z
  .string()
  .regex(/^([01]\d|2[0-3]):[0-5]\d$|^24:00$/, "must be a time of day such as 22:00")
  .transform((text) => Number(text.slice(0, 2)) * 60 + Number(text.slice(3)));

const range = z.string().transform((text, context): readonly Day[] => {
  const [first, last, ...more] = text.toLowerCase().split("-");
  const from = days.indexOf(first as Day);
  const to = days.indexOf((last ?? first) as Day);
  if (from < 0 || to < 0 || more.length > 0) {
    context.addIssue({
      code: "custom",
      message: `must be a day or days: ${days.join(", ")}, mon-fri`,
      input: text,
    });
    return z.NEVER;
  }
  // fri-mon spans the weekend.
  const count = ((to - from + 7) % 7) + 1;
  return Array.from({ length: count }, (_, i) => days[(from + i) % 7]!);
});

/**
 * `{ days: [mon-fri], from: "22:00", to: "07:00" }`. An interval over midnight belongs to the day on which it begins.
 * Without days: every day; without times: the whole day. `upTo: critical` holds critical alerts too.
 */
const interval = z
  .strictObject({
    days: z
      .union([z.array(range).min(1), range.transform((one) => [one])])
      .transform((each) => [...new Set(each.flat())])
      .optional(),
    from: clock.optional(),
    to: clock.optional(),
    /** IANA name; default: that of the configuration. */
    timezone: z.string().optional(),
    /** The worst level that is held. */
    upTo: z.enum(severities).default("warning"),
  })
  .superRefine(({ from, to, timezone }, context) => {
    if ((from === undefined) !== (to === undefined))
      context.addIssue({ code: "custom", message: "from and to belong together" });
    if (from !== undefined && from === to)
      context.addIssue({
        code: "custom",
        message: "from and to are the same; leave both out for the whole day",
      });
    if (timezone !== undefined && !isZone(timezone))
      context.addIssue({
        code: "custom",
        path: ["timezone"],
        message: `"${timezone.slice(0, 60)}" is no time zone such as Europe/Berlin`,
      });
  });

/** `muteTimes:` of the configuration's routing, by name. */
export const muteTimesSettings = z.record(z.string(), z.array(interval).min(1));
export type MuteTimes = z.infer<typeof muteTimesSettings>;
export type MuteInterval = MuteTimes[string][number];

const minuteMs = 60_000;
const dayMinutes = 1_440;
/** Search limit: eight days cover every weekly pattern. */
const farthestMinutes = 8 * dayMinutes;

/** Returns the intervals that hold a level. */
export function intervalsFor(intervals: readonly MuteInterval[], level: Severity): readonly MuteInterval[] {
  return intervals.filter(({ upTo }) => coversLevel(upTo, level));
}

/** @param intervals those for the level, of `intervalsFor` */
export function isMute(intervals: readonly MuteInterval[], atMs: number, timezone: string): boolean {
  return intervals.some((one) => covers(one, atMs, one.timezone ?? timezone));
}

/**
 * Returns the end of these mute times, ms, to the minute; found by search, since days have 23, 24 or 25 hours.
 * @returns `atMs` if they are not mute now; null if they do not end within eight days
 */
export function muteEndMs(intervals: readonly MuteInterval[], atMs: number, timezone: string): number | null {
  if (!isMute(intervals, atMs, timezone)) return atMs;
  // First by quarters of an hour, then to the minute: a gap shorter than that between two intervals does not count.
  const firstMinute = Math.floor(atMs / minuteMs) + 1;
  for (let minute = firstMinute; minute < firstMinute + farthestMinutes; minute += 15) {
    if (isMute(intervals, minute * minuteMs, timezone)) continue;
    let end = minute;
    while (end > firstMinute && !isMute(intervals, (end - 1) * minuteMs, timezone)) end--;
    return end * minuteMs;
  }
  return null;
}

function covers({ days: on, from, to }: MuteInterval, atMs: number, timezone: string): boolean {
  const now = local(atMs, timezone);
  const dayBefore = days[(days.indexOf(now.day) + 6) % 7]!;
  const listed = (one: Day) => on === undefined || on.includes(one);
  if (from === undefined || to === undefined) return listed(now.day);
  if (from < to) return listed(now.day) && now.minute >= from && now.minute < to;
  return (listed(now.day) && now.minute >= from) || (listed(dayBefore) && now.minute < to);
}

const formats = new Map<string, Intl.DateTimeFormat>();

function local(atMs: number, timezone: string): { readonly day: Day; readonly minute: number } {
  let format = formats.get(timezone);
  if (!format) {
    format = new Intl.DateTimeFormat("en-US", {
      timeZone: timezone,
      hourCycle: "h23",
      weekday: "short",
      hour: "numeric",
      minute: "numeric",
    });
    formats.set(timezone, format);
  }
  const parts = Object.fromEntries(format.formatToParts(atMs).map(({ type, value }) => [type, value]));
  return {
    day: (parts.weekday ?? "").toLowerCase() as Day,
    minute: Number(parts.hour) * 60 + Number(parts.minute),
  };
}

function isZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
