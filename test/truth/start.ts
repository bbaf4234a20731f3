/**
 * The moment at which a scenario begins, from a seed: an ordinary one, or one a few minutes before an hour ends (funding settles) or a
 * day does. A day ends at midnight of the time zone, which where clocks are set then is not there or comes twice.
 */
import { Draw } from "./draw.ts";

export type StartKind =
  | "ordinary"
  | "hour"
  | "UTC midnight"
  | "local midnight"
  | "no midnight"
  | "two midnights";

export interface Start {
  readonly kind: StartKind;
  /** True wall time at the beginning, ms. */
  readonly atMs: number;
  /** IANA name; null: as the configuration is drawn. */
  readonly timezone: string | null;
  /** The first moment of another day within the scenario, ms; null: it stays one day. */
  readonly midnightMs: number | null;
}

interface Moment {
  readonly at: string;
  readonly timezone: string | null;
  readonly newDay: boolean;
}

const ordinary = Date.parse("2026-03-02T23:27:12.345Z");

const moments: readonly (readonly [kind: StartKind, moments: readonly Moment[]])[] = [
  ["hour", [{ at: "2026-03-02T15:00Z", timezone: null, newDay: false }]],
  ["UTC midnight", [{ at: "2026-03-03T00:00Z", timezone: "UTC", newDay: true }]],
  [
    "local midnight",
    [
      { at: "2026-03-03T23:00Z", timezone: "Europe/Berlin", newDay: true },
      { at: "2026-03-04T05:00Z", timezone: "America/New_York", newDay: true },
      { at: "2026-03-03T18:30Z", timezone: "Asia/Kolkata", newDay: true },
      { at: "2026-03-03T18:15Z", timezone: "Asia/Kathmandu", newDay: true },
    ],
  ],
  // From 23:59:59 the wall clock goes to 01:00.
  [
    "no midnight",
    [
      { at: "2026-09-06T04:00Z", timezone: "America/Santiago", newDay: true },
      { at: "2026-03-28T22:00Z", timezone: "Asia/Beirut", newDay: true },
      { at: "2026-04-23T22:00Z", timezone: "Africa/Cairo", newDay: true },
      { at: "2026-03-08T05:00Z", timezone: "America/Havana", newDay: true },
    ],
  ],
  // It goes back by an hour: to 00:00 of the day that has begun, or from 24:00 to 23:00 of the same day.
  [
    "two midnights",
    [
      { at: "2026-11-01T04:00Z", timezone: "America/Havana", newDay: true },
      { at: "2026-11-01T05:00Z", timezone: "America/Havana", newDay: false },
      { at: "2026-04-05T03:00Z", timezone: "America/Santiago", newDay: false },
      { at: "2026-04-05T04:00Z", timezone: "America/Santiago", newDay: true },
      { at: "2026-10-29T21:00Z", timezone: "Africa/Cairo", newDay: false },
    ],
  ],
];

export const startKinds: readonly StartKind[] = ["ordinary", ...moments.map(([kind]) => kind)];

/** The share of scenarios that begin at an ordinary moment; the others are shared evenly among all kinds. */
const ordinaryShare = 0.25;

export function planStart(seed: number, lengthMs: number): Start {
  const draw = new Draw(seed, 8);
  if (draw.chance(ordinaryShare))
    return { kind: "ordinary", atMs: ordinary, timezone: null, midnightMs: null };
  const [kind, all] = draw.one(moments);
  const { at, timezone, newDay } = draw.one(all);
  const ms = Date.parse(at);
  const atMs = ms - Math.round(draw.between(0.1, 0.8) * lengthMs);
  return { kind, atMs, timezone, midnightMs: newDay ? ms : null };
}
