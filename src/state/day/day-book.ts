/** The books of a wallet's day: sums over its events, its flows, and its equity at midnight. */

import { z } from "zod";
import { KeptKind, keptNumber } from "../../domain/stored/kept.ts";
import { type Slots, storedSlots } from "../profit/changes/slots.ts";

/** Equity at midnight. */
interface Base {
  readonly usd: number;
  /** For baselines that perpwatch recorded itself: flows after these slots count. Absent: see `slot`. */
  readonly slots?: Slots;
  /**
   * For a baseline recorded by an earlier version: one slot for all accounts. Null: flows after midnight count, by the
   * exchange's time.
   */
  readonly slot: number | null;
  /** The PDA indices that it covers. Absent in values stored by an earlier version. */
  readonly indices?: readonly number[] | null;
  /** Accounts whose values it sums, and the time until which there were no others, ms. */
  readonly accounts: readonly string[];
  readonly readMs: number;
}

export interface DayFlow {
  readonly slot: number;
  readonly atMs: number;
  /** Signed; null: the direction is not known. */
  readonly usd: number | null;
  readonly account: string | null;
  /** It came after the state of its slot. Absent: that state shows it, as far as is known. */
  readonly after?: true;
  /** The loss of the day when a withdrawal was counted, USD. Absent: no loss, or equity was not known since. */
  lossUsd?: number;
}

export interface Day {
  readonly startMs: number;
  fees: number;
  funding: number;
  /** By account and market, `0.1/SOL`. */
  realized: Readonly<Record<string, number>>;
  flows: readonly DayFlow[];
  base: Base | null;
}

export interface StoredToday {
  readonly timezone: string;
  readonly days: readonly Day[];
}

const day: z.ZodType<Day> = z.object({
  startMs: keptNumber,
  fees: keptNumber,
  funding: keptNumber,
  realized: z.record(z.string(), keptNumber),
  flows: z.array(
    z.object({
      slot: keptNumber,
      atMs: keptNumber,
      usd: keptNumber.nullable(),
      account: z.string().nullable(),
      after: z.literal(true).exactOptional(),
      lossUsd: keptNumber.exactOptional(),
    }),
  ),
  base: z
    .object({
      usd: keptNumber,
      slots: storedSlots.exactOptional(),
      slot: keptNumber.nullable(),
      indices: z.array(keptNumber).nullable().exactOptional(),
      accounts: z.array(z.string()),
      readMs: keptNumber,
    })
    .nullable(),
});

/** By wallet. */
export const keptToday: KeptKind<StoredToday> = new KeptKind(
  "wallet/{}/today",
  z.object({ timezone: z.string(), days: z.array(day) }),
);

export interface Book {
  /** Today first; the next day is added once the exchange's clock has reached it. */
  days: readonly Day[];
  changed: boolean;
  /** True if it includes all reports since the day began. */
  whole: boolean;
}

export interface ReadBook extends Readonly<Book> {
  readonly days: readonly Readonly<Day>[];
}

// Shared: on most days most wallets have none.
const noRealized: Day["realized"] = {};
const noFlows: Day["flows"] = [];

export function isFromExchange({ slot, slots }: Base): boolean {
  return slot === null && slots === undefined;
}

/** True if the equity at midnight contains a flow. */
export function isBefore({ slot, account, atMs, after }: DayFlow, base: Base, startMs: number): boolean {
  if (base.slots !== undefined) return account !== null && slot - (after ? 0 : 1) < base.slots.of(account);
  return base.slot === null ? atMs < startMs : slot <= base.slot;
}

/** True if a stored equity at midnight is the sum over these PDA indices, as far as that is known. */
export function covers(base: Base | null, indices: readonly number[] | undefined): boolean {
  if (base === null || indices === undefined || base.indices === null) return true;
  // A baseline recorded by an earlier version may cover only the indices that had been read.
  if (base.indices === undefined) return base.slot === null || indices.length <= 1;
  return base.indices.length === indices.length && indices.every((one) => base.indices!.includes(one));
}

export function newBook(startMs: number): Book {
  return { days: [newDay(startMs)], changed: false, whole: false };
}

export function newDay(startMs: number): Day {
  return { startMs, fees: 0, funding: 0, realized: noRealized, flows: noFlows, base: null };
}
