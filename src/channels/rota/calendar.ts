/**
 * Parses the events of an iCal file (RFC 5545), as far as an on-call plan needs them: VEVENT with SUMMARY, DTSTART and
 * DTEND in UTC, in a named zone or as whole days, and RRULE by days or weeks. Anything unsupported that could change
 * who is on duty is a mistake with its line. Pure.
 */
import { cleanLine, shorten } from "../message/text.ts";
import { type CalendarEvent, instantOf, type WallTime } from "./plan.ts";

export interface CalendarMistake {
  /** 1-based. */
  readonly line: number;
  readonly message: string;
}

export interface Calendar {
  readonly events: readonly CalendarEvent[];
  readonly mistakes: readonly CalendarMistake[];
}

/** A property with its parameters, unfolded. */
interface Property {
  readonly line: number;
  readonly name: string;
  readonly params: ReadonlyMap<string, string>;
  readonly value: string;
}

interface Moment extends WallTime {
  readonly wholeDay: boolean;
  readonly isUtc: boolean;
}

/** Event properties that do not affect the plan. */
const ignoredProperties = new Set(
  (
    "UID DTSTAMP CREATED LAST-MODIFIED SEQUENCE DESCRIPTION LOCATION GEO TRANSP CLASS CATEGORIES ORGANIZER ATTENDEE URL " +
    "COMMENT CONTACT PRIORITY COLOR"
  ).split(" "),
);
/** Calendar properties that are accepted. */
const calendarProperties = new Set([
  "PRODID",
  "VERSION",
  "METHOD",
  "NAME",
  "CALSCALE",
  "REFRESH-INTERVAL",
  "SOURCE",
]);
const eventProperties = new Set(["DTSTART", "DTEND", "RRULE", "SUMMARY", "STATUS"]);
/** Components that are skipped. Zones are identified by their IANA names. */
const skippedComponents = new Set(["VTIMEZONE", "VALARM"]);
const weekdays = ["SU", "MO", "TU", "WE", "TH", "FR", "SA"] as const;
const dayMs = 86_400_000;
const maxMistakes = 20;
/** A plan is computed for each message, so it has to take only milliseconds, whatever is in the file. */
const maxEvents = 5_000;
const maxRepeating = 200;

class Mistake extends Error {
  readonly line: number;
  constructor(line: number, message: string) {
    // The message may contain text of the file.
    super(shorten(cleanLine(message), 300));
    this.line = line;
  }
}

/**
 * @param people names that a SUMMARY may have
 * @param timezone IANA name, for whole days
 */
export function readCalendar(text: string, people: readonly string[], timezone: string): Calendar {
  const events: CalendarEvent[] = [];
  const mistakes: CalendarMistake[] = [];
  const collect = (work: () => void) => {
    try {
      work();
    } catch (error) {
      if (!(error instanceof Mistake)) throw error;
      if (mistakes.length < maxMistakes) mistakes.push({ line: error.line, message: error.message });
    }
  };
  const open: string[] = [];
  let properties: Property[] = [];
  let eventLine = 0;
  let repeating = 0;
  for (const { line, text: content } of unfoldLines(text)) {
    // Creating an error costs more than parsing a line, and a file of a megabyte has 260,000 lines.
    if (mistakes.length === maxMistakes) break;
    collect(() => {
      const one = propertyOf(line, content);
      if (one.name === "BEGIN") {
        const component = one.value.toUpperCase();
        if (open.length === 0 && component !== "VCALENDAR")
          throw new Mistake(line, `expected BEGIN:VCALENDAR, found BEGIN:${component}`);
        const isKnown = open.some((name) => skippedComponents.has(name)) || skippedComponents.has(component);
        open.push(component);
        if (component === "VEVENT") {
          properties = [];
          eventLine = line;
        } else if (component !== "VCALENDAR" && !isKnown)
          throw new Mistake(line, `${component} is not supported here: only VEVENT is`);
      } else if (one.name === "END") {
        const component = open.pop();
        if (component !== one.value.toUpperCase())
          throw new Mistake(
            line,
            component === undefined ? "nothing is open here" : `expected END:${component}`,
          );
        if (component === "VEVENT") {
          const event = eventOf(properties, eventLine, people, timezone);
          if (events.length >= maxEvents) throw new Mistake(eventLine, `more than ${maxEvents} events`);
          if (event.repeats !== null && ++repeating > maxRepeating)
            throw new Mistake(eventLine, `more than ${maxRepeating} events that repeat`);
          events.push(event);
        }
      } else if (open.length === 0) throw new Mistake(line, "expected BEGIN:VCALENDAR");
      else if (open.at(-1) === "VEVENT") properties.push(one);
      else if (open.length === 1) checkCalendarProperty(one);
    });
  }
  const last = text.trimEnd().split("\n").length;
  collect(() => {
    if (open.length > 0) throw new Mistake(last, `END:${open.at(-1)} is missing`);
  });
  if (events.length === 0 && mistakes.length === 0)
    mistakes.push({ line: 1, message: "there is no event in it" });
  return { events, mistakes };
}

function checkCalendarProperty({ line, name, value }: Property): void {
  if (name === "VERSION" && value !== "2.0") throw new Mistake(line, "expected VERSION:2.0");
  if (name === "CALSCALE" && value.toUpperCase() !== "GREGORIAN")
    throw new Mistake(line, "expected CALSCALE:GREGORIAN");
  if (name === "METHOD" && !["PUBLISH", "REQUEST"].includes(value.toUpperCase()))
    throw new Mistake(line, `expected METHOD:PUBLISH, found ${value}: its events are no plan`);
  if (!calendarProperties.has(name) && !name.startsWith("X-"))
    throw new Mistake(line, `${name} of a calendar is not understood`);
}

/** Joins folded lines: a line that begins with a blank continues the line before it. */
function unfoldLines(text: string): { line: number; text: string }[] {
  const lines: { line: number; text: string }[] = [];
  for (const [index, raw] of text.split(/\r?\n/).entries()) {
    const before = lines.at(-1);
    if (/^[ \t]/.test(raw) && before !== undefined) before.text += raw.slice(1);
    else if (raw !== "") lines.push({ line: index + 1, text: raw });
  }
  return lines;
}

function propertyOf(line: number, text: string): Property {
  // A quoted value may contain colons and semicolons.
  const found = /^([A-Za-z0-9-]+)((?:;[A-Za-z0-9-]+=(?:"[^"]*"|[^":;]*))*):(.*)$/s.exec(text);
  if (found === null) throw new Mistake(line, "expected NAME:value");
  const [, name, params = "", value] = found;
  const each = [...params.matchAll(/;([A-Za-z0-9-]+)=(?:"([^"]*)"|([^":;]*))/g)];
  return {
    line,
    name: name!.toUpperCase(),
    params: new Map(each.map(([, key, quoted, plain]) => [key!.toUpperCase(), quoted ?? plain ?? ""])),
    value: value!,
  };
}

function eventOf(
  properties: readonly Property[],
  line: number,
  people: readonly string[],
  timezone: string,
): CalendarEvent {
  const by = new Map<string, Property>();
  for (const one of properties) {
    if (!eventProperties.has(one.name)) {
      if (ignoredProperties.has(one.name) || one.name.startsWith("X-")) continue;
      throw new Mistake(one.line, `${one.name} is not understood: it may change who is on duty`);
    }
    if (by.has(one.name)) throw new Mistake(one.line, `${one.name} occurs twice in one event`);
    by.set(one.name, one);
  }
  const status = by.get("STATUS");
  if (status !== undefined && status.value.toUpperCase() !== "CONFIRMED")
    throw new Mistake(status.line, `an event that is ${status.value} is no shift: remove it`);
  const summary = by.get("SUMMARY");
  if (summary === undefined) throw new Mistake(line, "an event without SUMMARY names nobody");
  const person = summary.value.replaceAll(/\\([\\;,])/g, "$1").trim();
  if (!people.includes(person))
    throw new Mistake(summary.line, `SUMMARY names nobody of people (${people.join(", ")})`);
  const starts = by.get("DTSTART");
  if (starts === undefined) throw new Mistake(line, "an event without DTSTART");
  const start = momentOf(starts, timezone);
  const end = endOf(by.get("DTEND"), starts, start, timezone);
  const rule = by.get("RRULE");
  const repeats = rule ? repeatsOf(rule, start) : null;
  if (rule && repeats && lengthMs(start, end) > repeats.days * dayMs)
    throw new Mistake(rule.line, "RRULE: the event lasts longer than the time between two of its beginnings");
  return { person, start: wallTimeOf(start), end: wallTimeOf(end), repeats };
}

/** The length in local time if both ends are in one zone, so that a week stays a week when the clocks change. */
function lengthMs(start: Moment, end: Moment): number {
  return start.timezone === end.timezone ? end.wall - start.wall : instantOf(end) - instantOf(start);
}

const wallTimeOf = ({ wall, timezone }: Moment): WallTime => ({ wall, timezone });

function endOf(ends: Property | undefined, starts: Property, start: Moment, timezone: string): Moment {
  if (ends === undefined) {
    if (start.wholeDay) return { ...start, wall: start.wall + dayMs };
    throw new Mistake(starts.line, "an event with a time needs DTEND");
  }
  const end = momentOf(ends, timezone);
  if (end.wholeDay !== start.wholeDay)
    throw new Mistake(ends.line, "DTSTART and DTEND are either both days or both times");
  if (instantOf(end) <= instantOf(start)) throw new Mistake(ends.line, "DTEND has to be after DTSTART");
  return end;
}

/** DTSTART and DTEND. */
function momentOf({ line, name, params, value }: Property, timezone: string): Moment {
  for (const key of params.keys())
    if (key !== "VALUE" && key !== "TZID") throw new Mistake(line, `${name} takes no ${key}`);
  const kind = params.get("VALUE")?.toUpperCase() ?? "DATE-TIME";
  const zone = params.get("TZID");
  if (kind === "DATE") {
    const wall = dateMs(value);
    if (wall === null) throw new Mistake(line, `expected a date such as 20261130 for ${name}`);
    if (zone !== undefined) throw new Mistake(line, "a date has no TZID");
    return { wall, timezone, wholeDay: true, isUtc: false };
  }
  if (kind !== "DATE-TIME") throw new Mistake(line, `${name} is a DATE or a DATE-TIME`);
  const { wall, isUtc } = timeOf(value) ?? {};
  if (wall === undefined) throw new Mistake(line, `expected a time such as 20261130T090000Z for ${name}`);
  if (isUtc === true) {
    if (zone !== undefined) throw new Mistake(line, "a time in UTC has no TZID");
    return { wall, timezone: "UTC", wholeDay: false, isUtc: true };
  }
  if (zone === undefined) throw new Mistake(line, `${name} has no zone: add TZID, or Z for UTC`);
  if (!isZone(zone)) throw new Mistake(line, `TZID ${zone} is no name of a zone, such as Europe/Berlin`);
  return { wall, timezone: zone, wholeDay: false, isUtc: false };
}

function dateMs(text: string): number | null {
  const [, year, month, day] = /^(\d{4})(\d\d)(\d\d)$/.exec(text) ?? [];
  if (year === undefined) return null;
  const ms = Date.UTC(Number(year), Number(month) - 1, Number(day));
  // Date.UTC turns 31 February into 3 March.
  return new Date(ms).toISOString().startsWith(`${year}-${month}-${day}`) ? ms : null;
}

function timeOf(text: string): { readonly wall: number; readonly isUtc: boolean } | null {
  const [, date = "", hours, minutes, seconds, z] =
    /^(\d{8})T([01]\d|2[0-3])([0-5]\d)([0-5]\d)(Z?)$/.exec(text) ?? [];
  const day = dateMs(date);
  if (day === null) return null;
  const wall = day + ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1_000;
  return { wall, isUtc: z === "Z" };
}

function isZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat("en-US", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

function repeatsOf({ line, params, value }: Property, start: Moment): CalendarEvent["repeats"] {
  if (params.size > 0) throw new Mistake(line, "RRULE takes no parameters");
  const parts = new Map<string, string>();
  for (const part of value.split(";")) {
    const [, key, text] = /^([A-Za-z]+)=(.+)$/.exec(part) ?? [];
    if (key === undefined || parts.has(key.toUpperCase())) throw new Mistake(line, `RRULE: ${part} is wrong`);
    parts.set(key.toUpperCase(), text!.toUpperCase());
  }
  const take = (key: string): string | undefined => {
    const found = parts.get(key);
    parts.delete(key);
    return found;
  };
  const number = (key: string, text: string): number => {
    if (!/^[1-9]\d{0,5}$/.test(text)) throw new Mistake(line, `RRULE: ${key} is a whole number from 1 on`);
    return Number(text);
  };
  const frequency = take("FREQ");
  if (frequency !== "DAILY" && frequency !== "WEEKLY")
    throw new Mistake(line, "RRULE: FREQ is DAILY or WEEKLY here");
  const interval = number("INTERVAL", take("INTERVAL") ?? "1");
  const counted = take("COUNT");
  const until = take("UNTIL");
  if (counted !== undefined && until !== undefined)
    throw new Mistake(line, "RRULE: either COUNT or UNTIL, not both");
  // The start of the week does not matter for a single weekday.
  take("WKST");
  const day = take("BYDAY");
  if (day !== undefined && (frequency !== "WEEKLY" || day !== weekdays[new Date(start.wall).getUTCDay()]))
    throw new Mistake(line, "RRULE: BYDAY may only name the weekday of DTSTART, with FREQ=WEEKLY");
  const [other] = parts.keys();
  if (other !== undefined) throw new Mistake(line, `RRULE: ${other} is not understood`);
  return {
    days: interval * (frequency === "WEEKLY" ? 7 : 1),
    count: counted === undefined ? null : number("COUNT", counted),
    untilMs: until === undefined ? null : untilOf(until, line, start),
  };
}

/** A date if the event has whole days, else a time in UTC. */
function untilOf(text: string, line: number, start: Moment): number {
  const day = dateMs(text);
  if (start.wholeDay) {
    if (day === null) throw new Mistake(line, "RRULE: UNTIL is a date such as 20261231, as DTSTART is");
    return instantOf({ wall: day, timezone: start.timezone });
  }
  const time = timeOf(text);
  if (time === null || !time.isUtc)
    throw new Mistake(line, "RRULE: UNTIL is a time in UTC such as 20261231T090000Z");
  return time.wall;
}
