/**
 * A rota's entry under `channels:`: the people, and turns or a calendar. Local times are converted later, in the rota's
 * zone.
 */
import { z } from "zod";

const weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"] as const;
const turnPattern = /^(?:(Sun|Mon|Tue|Wed|Thu|Fri|Sat) )?([01]\d|2[0-3]):([0-5]\d)$/;

/** The start of turns: a local time, on one weekday or every day. */
export interface Turn {
  /** 0 is Sunday; null: every day. */
  readonly weekday: number | null;
  /** ms after local midnight. */
  readonly atMs: number;
}

const turn = z
  .string()
  .regex(turnPattern, 'expected a weekday and a time, such as "Mon 09:00", or a time alone for each day')
  .transform((text): Turn => {
    const [, day, hours, minutes] = turnPattern.exec(text)!;
    const weekday = day === undefined ? null : weekdays.indexOf(day as (typeof weekdays)[number]);
    return { weekday, atMs: (Number(hours) * 60 + Number(minutes)) * 60_000 };
  });

/** A time in the configuration: a local time (stored as if it were UTC), or an instant; ms. */
export type WrittenTime =
  | { readonly wall: number; readonly instant?: undefined }
  | { readonly instant: number; readonly wall?: undefined };

const datePattern = /^\d{4}-\d\d-\d\d$/;
const localPattern = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)(?::00)?$/;
const instantPattern = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)(?::00)?(Z|[+-]\d\d:\d\d)$/;

/** @returns the ms of an ISO text; null for a date that does not exist */
function msOf(date: string, time: string, zone: string): number | null {
  const wall = Date.parse(`${date}T${time}:00Z`);
  // Date.parse turns 31 February into 3 March.
  if (!Number.isFinite(wall) || !new Date(wall).toISOString().startsWith(date)) return null;
  return Date.parse(`${date}T${time}:00${zone}`);
}

function parseWritten(text: string): WrittenTime | null {
  const [, day, time, zone] = instantPattern.exec(text) ?? localPattern.exec(text) ?? [];
  const ms = datePattern.test(text) ? msOf(text, "00:00", "Z") : day ? msOf(day, time!, zone ?? "Z") : null;
  if (ms === null || !Number.isFinite(ms)) return null;
  return zone === undefined ? { wall: ms } : { instant: ms };
}

const moment = z.string().transform((text, context): WrittenTime => {
  const found = parseWritten(text);
  if (found !== null) return found;
  const message = 'expected a date or a local time, such as 2026-12-24 or "2026-12-24 09:00"';
  context.addIssue({ code: "custom", message });
  return z.NEVER;
});

const person = z.string().min(1).max(64);

export const rotaSettings = z
  .strictObject({
    type: z.literal("rota"),
    /** Names of other channels, in the order of turns. */
    people: z.array(person).min(1).max(100),
    /** Start of each turn. */
    turn: turn.optional(),
    /** Start of the first person's turn: this day, or the first turn after it. */
    since: z
      .string()
      .refine(
        (text) => datePattern.test(text) && parseWritten(text) !== null,
        "expected a date, such as 2026-11-30",
      )
      .optional(),
    /** IANA name; default: the configuration's time zone. */
    timezone: z.string().min(1).optional(),
    /** Path of an iCal file, in place of turns. */
    calendar: z.string().min(1).optional(),
    /** Times in which somebody else is on duty. */
    overrides: z
      .array(z.strictObject({ person, from: moment, to: moment }))
      .max(1_000)
      .default([]),
  })
  .superRefine(({ people, turn: turnSetting, calendar, since }, context) => {
    const issue = (path: string[], message: string) => context.addIssue({ code: "custom", path, message });
    if ((turnSetting === undefined) === (calendar === undefined))
      issue([], 'expected either turn, such as "Mon 09:00", or calendar, an iCal file');
    if (calendar !== undefined && since !== undefined) issue(["since"], "a calendar has its own dates");
    if (new Set(people).size < people.length) issue(["people"], "each person may be listed only once");
  });
export type RotaSettings = z.infer<typeof rotaSettings>;
