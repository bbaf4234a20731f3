/**
 * A rota's plan: who is on duty at each time. Pure.
 *
 *   turns, or the events of a calendar ──overrides──► duty periods: the people on duty from one time to another, nobody in a gap
 */
import { Zone } from "../../domain/text/zone.ts";
import type { RotaSettings, Turn, WrittenTime } from "./settings.ts";

/** One person's time on duty. */
export interface Shift {
  readonly person: string;
  readonly fromMs: number;
  readonly toMs: number;
}

/** A local time in a zone, stored as if it were UTC. */
export interface WallTime {
  readonly wall: number;
  /** IANA name. */
  readonly timezone: string;
}

/** A calendar event: one shift, or one every so many days. All begin and end at the same local time. */
export interface CalendarEvent {
  readonly person: string;
  readonly start: WallTime;
  readonly end: WallTime;
  readonly repeats: {
    readonly days: number;
    /** Number of shifts; null: no limit. */
    readonly count: number | null;
    /** Last start of a shift, ms; null: no limit. */
    readonly untilMs: number | null;
  } | null;
}

export interface RotaPlan {
  /** At least one. */
  readonly people: readonly string[];
  /** IANA name. */
  readonly timezone: string;
  readonly shifts:
    | { readonly kind: "turns"; readonly turn: Turn; readonly since: string | null }
    | { readonly kind: "events"; readonly events: readonly CalendarEvent[] };
  /** Take precedence over shifts. */
  readonly overrides: readonly Shift[];
}

/** A period in which the same people are on duty: nobody in a gap; several where shifts overlap, the latest start first. */
export interface DutyPeriod {
  readonly fromMs: number;
  readonly toMs: number;
  readonly people: readonly string[];
}

const dayMs = 86_400_000;
/** Range of the search for somebody on duty, in each direction, ms. */
const searchMs = 60 * dayMs;
/** A Monday. */
const firstMonday = "1970-01-05";

const zones = new Map<string, Zone>();
function zoneOf(timezone: string): Zone {
  const zone = zones.get(timezone) ?? new Zone(timezone);
  zones.set(timezone, zone);
  return zone;
}

/** The first instant of a local time. If the clocks skip it, the instant of the change. */
export function instantOf({ wall, timezone }: WallTime): number {
  return zoneOf(timezone).instants(wall)[0]!;
}

export function writtenMs({ wall, instant }: WrittenTime, timezone: string): number {
  return instant ?? instantOf({ wall: wall!, timezone });
}

/** @param events of the calendar in the settings; ignored without one */
export function planOf(
  settings: RotaSettings,
  ownTimezone: string,
  events: readonly CalendarEvent[] = [],
): RotaPlan {
  const { people, turn, since = null, timezone = ownTimezone, overrides } = settings;
  return {
    people,
    timezone,
    shifts: turn === undefined ? { kind: "events", events } : { kind: "turns", turn, since },
    overrides: overrides.map(({ person, from, to }) => ({
      person,
      fromMs: writtenMs(from, timezone),
      toMs: writtenMs(to, timezone),
    })),
  };
}

/** The duty periods of a time range, without holes. */
export function dutyPeriods(plan: RotaPlan, fromMs: number, toMs: number): readonly DutyPeriod[] {
  const isIn = (one: Shift) => one.toMs > fromMs && one.fromMs < toMs && one.toMs > one.fromMs;
  const shifts = shiftsOf(plan, fromMs, toMs).filter(isIn);
  const overrides = plan.overrides.filter(isIn);
  const edges = [...shifts, ...overrides].flatMap((one) => [one.fromMs, one.toMs]);
  const inside = edges.filter((ms) => ms > fromMs && ms < toMs);
  const times = [...new Set([fromMs, ...inside, toMs])].sort((a, b) => a - b);
  const periods: DutyPeriod[] = [];
  const peopleAt = [overrides, shifts].map(peopleOf);
  for (const [index, atMs] of times.slice(0, -1).entries()) {
    const people = peopleAt.map((at) => at(atMs)).find((found) => found.length > 0) ?? [];
    const before = periods.at(-1);
    const endMs = times[index + 1]!;
    if (before !== undefined && before.people.join("\n") === people.join("\n"))
      periods[periods.length - 1] = { ...before, toMs: endMs };
    else periods.push({ fromMs: atMs, toMs: endMs, people });
  }
  return periods;
}

/** Returns a function for the people on duty at a time, latest start first. Its calls must have increasing times. */
function peopleOf(shifts: readonly Shift[]): (atMs: number) => readonly string[] {
  const coming = [...shifts].sort((a, b) => b.fromMs - a.fromMs);
  let now: Shift[] = [];
  return (atMs) => {
    while ((coming.at(-1)?.fromMs ?? Number.POSITIVE_INFINITY) <= atMs) now.unshift(coming.pop()!);
    now = now.filter(({ toMs }) => toMs > atMs);
    return [...new Set(now.map(({ person }) => person))];
  };
}

/** The person on duty; null in a gap. */
export function onDuty(plan: RotaPlan, atMs: number): string | null {
  return dutyPeriods(plan, atMs, atMs + 1)[0]!.people[0] ?? null;
}

/** The recipient of messages: the person on duty; in a gap the next person on duty, else the last one. */
export function addressee(plan: RotaPlan, atMs: number): string {
  const first = ({ people }: DutyPeriod): readonly string[] => people.slice(0, 1);
  const [now] = dutyPeriods(plan, atMs, atMs + searchMs).flatMap(first);
  if (now !== undefined) return now;
  const endMs = lastEndMs(plan, atMs);
  return (
    dutyPeriods(plan, endMs - searchMs, endMs)
      .flatMap(first)
      .at(-1) ?? plan.people[0]!
  );
}

/** The latest end among shifts that began before a time, at most that time. */
function lastEndMs({ shifts, overrides }: RotaPlan, atMs: number): number {
  const events = shifts.kind === "events" ? shifts.events : [];
  const before = [...events.flatMap((event) => lastBefore(event, atMs)), ...overrides].filter(
    ({ fromMs }) => fromMs < atMs,
  );
  const lastMs = before.reduce((latestMs, { toMs }) => Math.max(latestMs, toMs), Number.NEGATIVE_INFINITY);
  return Number.isFinite(lastMs) ? Math.min(lastMs, atMs) : atMs;
}

/** The last shift of an event that begins before a time; empty if there is none. */
function lastBefore(event: CalendarEvent, atMs: number): readonly Shift[] {
  const { start, repeats } = event;
  const days = repeats?.days ?? 1;
  const endMs = Math.min(atMs, (repeats?.untilMs ?? Number.POSITIVE_INFINITY) + 1);
  const maxIndex = (repeats === null ? 1 : (repeats.count ?? Number.POSITIVE_INFINITY)) - 1;
  // Zone offsets are below two days.
  let index = Math.min(maxIndex, Math.ceil((endMs - start.wall + 2 * dayMs) / (days * dayMs)));
  while (index > 0 && shiftAt(event, index).fromMs >= endMs) index--;
  return index < 0 ? [] : [shiftAt(event, index)];
}

/** Range in which a plan is checked for gaps and overlaps, ms. */
export const checkedAheadMs = 30 * dayMs;

/** Gaps and overlaps without an override in the next 30 days. */
export function planFaults(plan: RotaPlan, nowMs: number): readonly DutyPeriod[] {
  return dutyPeriods(plan, nowMs, nowMs + checkedAheadMs).filter(({ people }) => people.length !== 1);
}

/** The next change of the people on duty, ms; null: none within 60 days. */
export function nextChangeMs(plan: RotaPlan, afterMs: number): number | null {
  const [, next] = dutyPeriods(plan, afterMs, afterMs + searchMs);
  return next?.fromMs ?? null;
}

function shiftsOf({ people, timezone, shifts }: RotaPlan, fromMs: number, toMs: number): readonly Shift[] {
  if (shifts.kind === "events") return shifts.events.flatMap((event) => occurrences(event, fromMs, toMs));
  const { turn, since } = shifts;
  const days = turn.weekday === null ? 1 : 7;
  const first = firstTurn(turn, since);
  const startOf = (index: number) => instantOf({ wall: first + index * days * dayMs, timezone });
  const found: Shift[] = [];
  for (let index = Math.floor((fromMs - first) / (days * dayMs)) - 2; startOf(index) < toMs; index++) {
    const person = people[((index % people.length) + people.length) % people.length]!;
    found.push({ person, fromMs: startOf(index), toMs: startOf(index + 1) });
  }
  return found;
}

/** Local time of the first person's first turn. */
function firstTurn({ weekday, atMs }: Turn, since: string | null): number {
  const day = Date.parse(`${since ?? firstMonday}T00:00:00Z`);
  const ahead = weekday === null ? 0 : (weekday - new Date(day).getUTCDay() + 7) % 7;
  return day + ahead * dayMs + atMs;
}

/** @param index from 0 */
function shiftAt({ person, start, end, repeats }: CalendarEvent, index: number): Shift {
  const by = index * (repeats?.days ?? 0) * dayMs;
  const later = ({ wall, timezone }: WallTime) => instantOf({ wall: wall + by, timezone });
  return { person, fromMs: later(start), toMs: later(end) };
}

function occurrences(event: CalendarEvent, fromMs: number, toMs: number): Shift[] {
  const { end, repeats } = event;
  if (repeats === null) return [shiftAt(event, 0)];
  const { days, count, untilMs } = repeats;
  const found: Shift[] = [];
  // Zone offsets are below two days.
  const skipped = Math.floor((fromMs - end.wall - 2 * dayMs) / (days * dayMs));
  for (let index = Math.max(0, skipped); index < (count ?? Number.POSITIVE_INFINITY); index++) {
    const one = shiftAt(event, index);
    if (one.fromMs >= toMs || (untilMs !== null && one.fromMs > untilMs)) break;
    found.push(one);
  }
  return found;
}
