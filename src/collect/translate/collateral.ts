/**
 * Deposits, withdrawals and transfers as events. A row states the amount, but not the direction of a transfer; the row
 * of its other side and the previous balance decide that if possible.
 */
import { type CollateralEvent, collateralKey } from "../../contract/index.ts";
import type { Event } from "../../domain/event.ts";
import type { TransferData } from "../../domain/transfer.ts";
import { type OnUnknownWord, wordOf } from "../anomalies/known-words.ts";
import type { CollectedWallet } from "../collector.ts";
import { usdOfQuoteLots } from "../market-book.ts";
import { walletEvent } from "./event.ts";

/** @param rows one page, in order   @returns for each row its event; null for an unwatched account */
export function collateralEvents(
  rows: readonly CollateralEvent[],
  wallet: CollectedWallet,
  seenMs: number,
  onUnknown: OnUnknownWord,
): readonly (Event | null)[] {
  return rows.map((row) =>
    wallet.pdaIndices.includes(row.traderPdaIndex)
      ? collateralOf(row, wallet, seenMs, onUnknown, rows)
      : null,
  );
}

export function collateralOf(
  row: CollateralEvent,
  wallet: CollectedWallet,
  seenMs: number,
  onUnknown: OnUnknownWord,
  page: readonly CollateralEvent[] = [],
): Event {
  const { slot, slotIndex, eventIndex, traderPdaIndex, traderSubaccountIndex } = row;
  const eventType = wordOf(["deposit", "withdrawal", "transfer"], row.eventType, "eventType", onUnknown);
  const size = usdOfQuoteLots(magnitude(row.amount));
  const other = eventType === "transfer" ? otherSide(row, page) : undefined;
  const within = other !== undefined && wallet.pdaIndices.includes(other.traderPdaIndex);
  const { usd: amountUsd, ...guess } = signedAmount(eventType, size, row, other, page);
  const data: TransferData | null = eventType === "transfer" ? { transferUsd: size, within, ...guess } : null;
  return walletEvent("collateral", wallet, {
    key: collateralKey(row, wallet.authority),
    pdaIndex: traderPdaIndex,
    subaccount: traderSubaccountIndex,
    happenedMs: row.timestamp,
    seenMs,
    slot,
    slotIndex,
    eventIndex,
    data,
    fields: {
      eventType,
      amountUsd,
      after: usdOfQuoteLots(row.collateralAfter),
    },
  });
}

interface SignedAmount {
  /** Null: the direction is unknown. */
  readonly usd: number | null;
  /** True if the direction is only likely. */
  readonly guessed?: true;
}

/** The type gives the direction; for a transfer a negative amount does, or the balance on either side. */
function signedAmount(
  eventType: string,
  size: number,
  row: CollateralEvent,
  other: CollateralEvent | undefined,
  page: readonly CollateralEvent[],
): SignedAmount {
  if (eventType === "deposit") return { usd: size };
  if (eventType === "withdrawal" || row.amount < 0n) return { usd: -size };
  if (eventType !== "transfer") return { usd: null };
  const paid = hasPaid(row, page);
  if (paid !== null) return { usd: paid ? -size : size };
  const otherPaid = other === undefined ? null : other.amount < 0n || hasPaid(other, page);
  if (otherPaid !== null) return { usd: otherPaid ? size : -size };
  const likely = hasLess(row);
  if (other !== undefined && hasLess(other) === likely) return { usd: null };
  if (likely) return { usd: -size, guessed: true };
  return other === undefined ? { usd: null } : { usd: size, guessed: true };
}

/** Returns true if this side of a transfer paid; null if its rows do not show it. */
function hasPaid(row: CollateralEvent, page: readonly CollateralEvent[]): boolean | null {
  const amount = magnitude(row.amount);
  const before = newestBefore(row, page)?.collateralAfter;
  if (before === undefined) return null;
  // Profits and fees in between leave this undecided.
  if (before - amount === row.collateralAfter) return true;
  return before + amount === row.collateralAfter ? false : null;
}

/** Returns true if an account has less than the transferred amount: it paid, unless it had a debt before. */
function hasLess(row: CollateralEvent): boolean {
  return row.collateralAfter < magnitude(row.amount);
}

function otherSide(row: CollateralEvent, page: readonly CollateralEvent[]): CollateralEvent | undefined {
  return page.find(
    (other) =>
      other !== row &&
      other.eventType === row.eventType &&
      other.slot === row.slot &&
      other.slotIndex === row.slotIndex &&
      magnitude(other.amount) === magnitude(row.amount) &&
      !sameAccount(other, row),
  );
}

function newestBefore(row: CollateralEvent, page: readonly CollateralEvent[]): CollateralEvent | undefined {
  let newest: CollateralEvent | undefined;
  for (const one of page) {
    if (sameAccount(one, row) && isBefore(one, row) && (!newest || isBefore(newest, one))) newest = one;
  }
  return newest;
}

function sameAccount(a: CollateralEvent, b: CollateralEvent): boolean {
  return a.traderPdaIndex === b.traderPdaIndex && a.traderSubaccountIndex === b.traderSubaccountIndex;
}

function isBefore(a: CollateralEvent, b: CollateralEvent): boolean {
  return (a.slot - b.slot || a.slotIndex - b.slotIndex || a.eventIndex - b.eventIndex) < 0;
}

function magnitude(amount: bigint): bigint {
  return amount < 0n ? -amount : amount;
}
