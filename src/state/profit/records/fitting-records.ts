/** Selects the records, or funding payments, that explain a change best. Pure. */

import type { OpenChange } from "../changes/open-change.ts";
import { pdaIndexOf } from "../changes/slots.ts";
import { centUsd, isExplained, unexplainedUsd } from "../changes/unexplained-amount.ts";
import type { FillRecord, FundingRecord, LooseRecord } from "./cash-record.ts";
import { less } from "./explain-by-record.ts";

/** Maximum number of fills of one slot of which all selections are tried. */
export const maxTried = 10;
const maxTriedFlows = 3;
/** Maximum length of a slot, ms. */
const maxSlotMs = 1_000;
/** Maximum error of the time of a slot, ms. */
const slotTimeMs = 60_000;

/**
 * The fills that are the trades of a change and explain it, with funding payments, or with flows that leave a rest of at most a
 * cent: the selection with the smallest rest; empty: none does. Fills that opened and closed a position are trades that the
 * change does not show.
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
 * Subtracts funding that was settled with positions that are closed now, as payments of that time state it; null if none of them
 * explain the change. Trades at estimated prices are too imprecise for this.
 */
export function lessFunding(open: OpenChange, payments: readonly FundingRecord[]): OpenChange | null {
  return lessNearest(open, fundingSums(open, payments));
}

/** Sums of all selections of payments that may be part of a change, USD. */
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

/** Subtracts the sum that leaves the smallest rest; null if the rest is not explained. */
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
