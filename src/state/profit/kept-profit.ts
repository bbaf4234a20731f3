/** Profit as history keeps it: its baseline, what flowed since, and its highest value. */

import { z } from "zod";
import { KeptKind, keptNumber } from "../../domain/kept.ts";
import { changesShape, type RestoredChanges } from "./changes/kept-changes.ts";
import { type Slots, storedSlots } from "./changes/slots.ts";
import { type HeldTrades, heldTrades } from "./held-profit.ts";

/** The part that is kept over a restart, beside the changes. */
export interface KeptProfit {
  readonly baselineUsd: number;
  /** The slot of a baseline stored by an earlier version: one slot for all accounts. */
  readonly baselineSlot?: number;
  /** The slots up to which the baseline contains flows. */
  readonly slots?: Slots;
  /** The PDA indices that it covers. Absent in what an earlier version stored. */
  readonly indices?: readonly number[] | null;
  /** Deposits less withdrawals since the baseline, all that are known. */
  readonly netUsd: number;
  /** As it was stored last. */
  highUsd: number;
  /** Trades that may hide flows. Absent: none. */
  held?: readonly HeldTrades[];
}

export type StoredProfit = KeptProfit & RestoredChanges;

/** By wallet. */
export const keptProfit: KeptKind<StoredProfit> = new KeptKind(
  "wallet/{}/profit",
  z.object({
    baselineUsd: keptNumber,
    baselineSlot: keptNumber.exactOptional(),
    slots: storedSlots.exactOptional(),
    indices: z.array(keptNumber).nullable().exactOptional(),
    netUsd: keptNumber,
    highUsd: keptNumber,
    held: z.array(heldTrades).exactOptional(),
    ...changesShape,
  }),
);

/** Slot up to which a baseline contains the flows of an account. */
export function sinceSlot(
  { slots, baselineSlot = 0 }: Pick<KeptProfit, "slots" | "baselineSlot">,
  account: string,
): number {
  return slots === undefined ? baselineSlot : Math.max(slots.of(account), baselineSlot);
}

/**
 * Returns what was kept as it was before some of its flows, for a replay of the past. How high the profit ever was and which
 * changes of collateral were not explained is not known of then, and begins anew.
 */
export function profitBefore(
  kept: StoredProfit,
  flows: readonly { readonly account: string; readonly slot: number; readonly usd: number }[],
): StoredProfit {
  const counted = flows.filter(({ account, slot }) => slot > sinceSlot(kept, account));
  const netUsd = counted.reduce((sum, { usd }) => sum - usd, kept.netUsd);
  const none = { open: [], ahead: [], settled: [], explained: [], loose: [], looseTakeovers: [], rough: [] };
  return { ...kept, netUsd, highUsd: 0, ...none, placed: [] };
}
