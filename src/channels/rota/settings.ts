/** A rota's entry under `channels:`: the people, and either turns or a calendar. Times are read later, in the rota's zone. */
import { z } from "zod";

const weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"] as const;
const turnPattern = /^(?:(Sun|Mon|Tue|Wed|Thu|Fri|Sat) )?([01]\d|2[0-3]):([0-5]\d)$/;

/** The start of each turn: a local time of day, of one weekday or of every day. */
export interface Turn {
  /** 0 is Sunday; null: every day. */
  readonly weekday: number | null;
  /** After local midnight, ms. */
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

/** A point in time as it is written: local time as if it were UTC, or an instant. */
export type Written =
  | { readonly wall: number; readonly instant?: undefined }
  | { readonly instant: number; readonly wall?: undefined };

const datePattern = /^\d{4}-\d\d-\d\d$/;
const localPattern = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)(?::00)?$/;
const instantPattern = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)(?::00)?(Z|[+-]\d\d:\d\d)$/;

/** @returns the ms of an ISO text; null where it is no date of the calendar */
function msOf(date: string, time: string, zone: string): number | null {
  const wall = Date.parse(`${date}T${time}:00Z`);
  // Date.parse takes 31 February for 3 March.
  if (!Number.isFinite(wall) || !new Date(wall).toISOString().startsWith(date)) return null;
  return Date.parse(`${date}T${time}:00${zone}`);
}

function written(text: string): Written | null {
  const [, day, time, zone] = instantPattern.exec(text) ?? localPattern.exec(text) ?? [];
  const ms = datePattern.test(text) ? msOf(text, "00:00", "Z") : day ? msOf(day, time!, zone ?? "Z") : null;
  if (ms === null || !Number.isFinite(ms)) return null;
  return zone === undefined ? { wall: ms } : { instant: ms };
}

const moment = z.string().transform((text, context): Written => {
  const found = written(text);
  if (found !== null) return found;
  const message = 'expected a date or a local time, such as 2026-12-24 or "2026-12-24 09:00"';
  context.addIssue({ code: "custom", message });
  return z.NEVER;
});

const person = z.string().min(1).max(64);

export const rotaSettings = z
  .strictObject({
    type: z.literal("rota"),
    /** Names of other channels, in the order of their turns. */
    people: z.array(person).min(1).max(100),
    /** Each turn begins then. */
    turn: turn.optional(),
    /** The first of `people` has the turn that begins on this day or next after it. */
    since: z
      .string()
      .refine(
        (text) => datePattern.test(text) && written(text) !== null,
        "expected a date, such as 2026-11-30",
      )
      .optional(),
    /** IANA name; default: the configuration's own. */
    timezone: z.string().min(1).optional(),
    /** The path of an iCal file in place of turns. */
    calendar: z.string().min(1).optional(),
    /** Somebody else is on duty in these times. */
    overrides: z
      .array(z.strictObject({ person, from: moment, to: moment }))
      .max(1_000)
      .default([]),
  })
  .superRefine(({ people, turn: given, calendar, since }, context) => {
    const issue = (path: string[], message: string) => context.addIssue({ code: "custom", path, message });
    if ((given === undefined) === (calendar === undefined))
      issue([], 'expected either turn, such as "Mon 09:00", or calendar, an iCal file');
    if (calendar !== undefined && since !== undefined) issue(["since"], "a calendar has its own dates");
    if (new Set(people).size < people.length) issue(["people"], "each person stands in the list once");
  });
export type RotaSettings = z.infer<typeof rotaSettings>;
