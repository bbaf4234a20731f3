/**
 * A rota's plan: who is on duty at which time. Pure.
 *
 *   turns, or the events of a calendar ──overrides──► pieces: who is on duty from when to when, nobody in a gap
 */
import { Zone } from "../../domain/zone.ts";
import type { RotaSettings, Turn, Written } from "./settings.ts";

/** One person's time on duty. */
export interface Shift {
  readonly person: string;
  readonly fromMs: number;
  readonly toMs: number;
}

/** A local time, as if it were UTC, of a zone. */
export interface WallTime {
  readonly wall: number;
  /** IANA name. */
  readonly timezone: string;
}

/** Shifts of a calendar: one, or one each so many days. Every one begins and ends at the same local time. */
export interface CalendarEvent {
  readonly person: string;
  readonly start: WallTime;
  readonly end: WallTime;
  readonly repeats: {
    readonly days: number;
    /** The number of shifts; null: no limit. */
    readonly count: number | null;
    /** The last instant at which one begins, ms; null: no limit. */
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
  /** They go before shifts. */
  readonly overrides: readonly Shift[];
}

/** A time in which the same people are on duty: nobody in a gap, several where shifts overlap, the last that began first. */
export interface Piece {
  readonly fromMs: number;
  readonly toMs: number;
  readonly people: readonly string[];
}

const dayMs = 86_400_000;
/** The time that is searched for somebody on duty, in both directions, ms. */
const searchMs = 60 * dayMs;
/** A Monday. */
const firstMonday = "1970-01-05";

const zones = new Map<string, Zone>();
function zoneOf(timezone: string): Zone {
  const zone = zones.get(timezone) ?? new Zone(timezone);
  zones.set(timezone, zone);
  return zone;
}

/** The first instant of a local time: where the clocks jump over it, that of the jump. */
export function instantOf({ wall, timezone }: WallTime): number {
  return zoneOf(timezone).instants(wall)[0]!;
}

export function writtenMs({ wall, instant }: Written, timezone: string): number {
  return instant ?? instantOf({ wall: wall!, timezone });
}

/** @param events of the calendar that the settings name; ignored where they name none */
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

/** The pieces of a span, without holes between them. */
export function piecesOf(plan: RotaPlan, fromMs: number, toMs: number): readonly Piece[] {
  const isIn = (one: Shift) => one.toMs > fromMs && one.fromMs < toMs && one.toMs > one.fromMs;
  const shifts = shiftsOf(plan, fromMs, toMs).filter(isIn);
  const overrides = plan.overrides.filter(isIn);
  const edges = [...shifts, ...overrides].flatMap((one) => [one.fromMs, one.toMs]);
  const inside = edges.filter((ms) => ms > fromMs && ms < toMs);
  const times = [...new Set([fromMs, ...inside, toMs])].sort((a, b) => a - b);
  const pieces: Piece[] = [];
  const peopleAt = [overrides, shifts].map(peopleOf);
  for (const [index, atMs] of times.slice(0, -1).entries()) {
    const people = peopleAt.map((at) => at(atMs)).find((found) => found.length > 0) ?? [];
    const before = pieces.at(-1);
    const endMs = times[index + 1]!;
    if (before !== undefined && before.people.join("\n") === people.join("\n"))
      pieces[pieces.length - 1] = { ...before, toMs: endMs };
    else pieces.push({ fromMs: atMs, toMs: endMs, people });
  }
  return pieces;
}

/** Tells those on duty at an instant, the last that began first; each time it is asked about a later instant. */
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
  return piecesOf(plan, atMs, atMs + 1)[0]!.people[0] ?? null;
}

/** The person who gets messages: who is on duty, in a gap who is on duty next, else who was last. */
export function addressee(plan: RotaPlan, atMs: number): string {
  const first = ({ people }: Piece): readonly string[] => people.slice(0, 1);
  const [now] = piecesOf(plan, atMs, atMs + searchMs).flatMap(first);
  if (now !== undefined) return now;
  const endMs = lastEndMs(plan, atMs);
  return (
    piecesOf(plan, endMs - searchMs, endMs)
      .flatMap(first)
      .at(-1) ?? plan.people[0]!
  );
}

/** The end of the shift, of those that began before an instant, that ends last, at most that instant. */
function lastEndMs({ shifts, overrides }: RotaPlan, atMs: number): number {
  const events = shifts.kind === "events" ? shifts.events : [];
  const before = [...events.flatMap((event) => lastBefore(event, atMs)), ...overrides].filter(
    ({ fromMs }) => fromMs < atMs,
  );
  const lastMs = before.reduce((most, { toMs }) => Math.max(most, toMs), Number.NEGATIVE_INFINITY);
  return Number.isFinite(lastMs) ? Math.min(lastMs, atMs) : atMs;
}

/** The last shift of an event that begins before an instant; none where it begins later. */
function lastBefore(event: CalendarEvent, atMs: number): readonly Shift[] {
  const { start, repeats } = event;
  const days = repeats?.days ?? 1;
  const endMs = Math.min(atMs, (repeats?.untilMs ?? Number.POSITIVE_INFINITY) + 1);
  const most = (repeats === null ? 1 : (repeats.count ?? Number.POSITIVE_INFINITY)) - 1;
  // Zones are less than two days away from UTC.
  let index = Math.min(most, Math.ceil((endMs - start.wall + 2 * dayMs) / (days * dayMs)));
  while (index > 0 && shiftAt(event, index).fromMs >= endMs) index--;
  return index < 0 ? [] : [shiftAt(event, index)];
}

/** The time for which a plan has to be whole, ms. */
export const plannedAheadMs = 30 * dayMs;

/** Gaps in the next 30 days, and times in which several people are on duty and no override names one. */
export function faultsOf(plan: RotaPlan, nowMs: number): readonly Piece[] {
  return piecesOf(plan, nowMs, nowMs + plannedAheadMs).filter(({ people }) => people.length !== 1);
}

/** The next instant at which other people are on duty, ms; null: none within 60 days. */
export function changesAtMs(plan: RotaPlan, afterMs: number): number | null {
  const [, next] = piecesOf(plan, afterMs, afterMs + searchMs);
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

/** The local time at which the first of the people begins. */
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
  // Zones are less than two days away from UTC.
  const skipped = Math.floor((fromMs - end.wall - 2 * dayMs) / (days * dayMs));
  for (let index = Math.max(0, skipped); index < (count ?? Number.POSITIVE_INFINITY); index++) {
    const one = shiftAt(event, index);
    if (one.fromMs >= toMs || (untilMs !== null && one.fromMs > untilMs)) break;
    found.push(one);
  }
  return found;
}
