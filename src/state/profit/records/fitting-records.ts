/** The selection of records, or of funding payments, that explains a change best. Pure. */

import type { OpenChange } from "../changes/open-change.ts";
import { pdaIndexOf } from "../changes/slots.ts";
import { centUsd, isExplained, unexplainedUsd } from "../changes/unexplained-amount.ts";
import type { FillRecord, FundingRecord, LooseRecord } from "./cash-record.ts";
import { less } from "./explain-by-record.ts";

/** Every choice of so many fills of one slot is tried. */
export const maxTried = 10;
const maxTriedFlows = 3;
/** A slot is at most so long, ms. */
const maxSlotMs = 1_000;
/** The time of a slot is known to this, ms. */
const slotTimeMs = 60_000;

/**
 * The fills that are the trades of a change and explain it, with payments of funding, or with flows that leave nothing beside them;
 * those that leave the least of it to explain; empty: none do. Fills that opened and closed a position are trades that it does not
 * show.
 */
export function fittingOf(
  open: OpenChange,
  loose: readonly LooseRecord[],
  payments: readonly FundingRecord[],
): readonly LooseRecord[] {
  const isFill = (one: LooseRecord): one is FillRecord => one.kind === "fill";
  const isShown = (one: LooseRecord): boolean => isFill(one) && open.traded[one.symbol] !== undefined;
  const fills = [...loose.filter((one) => isFill(one) && !isShown(one)), ...loose.filter(isShown)];
  const flows = loose.filter((one) => !isFill(one));
  let fitting: readonly LooseRecord[] = [];
  let leastUsd = Number.POSITIVE_INFINITY;
  for (const trades of subsetsOf(fills.slice(-maxTried))) {
    const untraded = trades.reduce(less, open);
    if (trades.length === 0) continue;
    if (trades.some((one) => isFill(one) && untraded.traded[one.symbol] !== undefined)) continue;
    const sums = fundingSums(untraded, payments);
    for (const paid of subsetsOf(flows.slice(-maxTriedFlows))) {
      const all = paid.reduce(less, untraded);
      const left = isExplained(all) ? all : (lessNearest(all, sums) ?? all);
      const usd = Math.abs(unexplainedUsd(left));
      const isFitting = paid.length === 0 ? isExplained(left) : usd <= centUsd;
      if (!isFitting || usd >= leastUsd) continue;
      fitting = [...trades, ...paid];
      leastUsd = usd;
    }
  }
  return fitting;
}

/**
 * A change less the funding that was settled with positions that are gone since, as payments of its time tell; null where none of them
 * explain it. Trades at estimated prices are too rough to tell that.
 */
export function lessFunding(open: OpenChange, payments: readonly FundingRecord[]): OpenChange | null {
  return lessNearest(open, fundingSums(open, payments));
}

/** Sums of all selections of the payments that may be a part of a change, USD. */
function fundingSums(open: OpenChange, payments: readonly FundingRecord[]): readonly number[] {
  const { gone, traded, account, unpriced, fromSlot, toSlot, atMs } = open;
  let sums: readonly number[] = [];
  if (gone === undefined || unpriced !== undefined || Object.keys(traded).length > 0) return sums;
  const pdaIndex = pdaIndexOf(account);
  const fromMs = atMs - (toSlot - fromSlot) * maxSlotMs - slotTimeMs;
  const toMs = atMs + slotTimeMs;
  const own = payments.filter(
    (one) =>
      one.pdaIndex === pdaIndex && gone.includes(one.symbol) && one.endMs >= fromMs && one.endMs <= toMs,
  );
  for (const { usd } of own.slice(-maxTried)) sums = [...sums, usd, ...sums.map((sum) => sum + usd)];
  return sums;
}

/** A change less the sum that leaves the least of it; null where that does not explain it. */
function lessNearest(open: OpenChange, sums: readonly number[]): OpenChange | null {
  let cashUsd = Number.POSITIVE_INFINITY;
  for (const sum of sums) {
    const usd = open.cashUsd - sum;
    if (Math.abs(usd) < Math.abs(cashUsd)) cashUsd = usd;
  }
  const left = { ...open, cashUsd };
  return isExplained(left) ? left : null;
}

/** All selections of some of them, the largest first, the empty one last. */
export function* subsetsOf<T>(all: readonly T[]): Generator<readonly T[]> {
  for (let subset = (1 << all.length) - 1; subset >= 0; subset--)
    yield all.filter((_, index) => subset & (1 << index));
}
