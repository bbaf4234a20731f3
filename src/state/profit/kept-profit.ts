/** Profit as stored in history: its baseline, the flows since, and its highest value. */

import { z } from "zod";
import { KeptKind, keptNumber } from "../../domain/stored/kept.ts";
import { changesShape, type RestoredChanges } from "./changes/kept-changes.ts";
import { type Slots, storedSlots } from "./changes/slots.ts";
import { type HeldTrades, heldTrades } from "./held-profit.ts";

/** The part that is stored over a restart, besides the changes. */
export interface KeptProfit {
  readonly baselineUsd: number;
  /** The slot of a baseline stored by an earlier version: one slot for all accounts. */
  readonly baselineSlot?: number;
  /** The slots up to which the baseline contains flows. */
  readonly slots?: Slots;
  /** The PDA indices that it covers. Absent in values stored by an earlier version. */
  readonly indices?: readonly number[] | null;
  /** Sum of known deposits less withdrawals since the baseline. */
  readonly netUsd: number;
  /** The highest profit, as last stored. */
  highUsd: number;
  /** Trades whose estimates may hide flows. Absent: none. */
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
 * Returns stored profit as it was before some of its flows, for a replay of the past. The highest profit and the unexplained
 * changes of that time are not known, and begin empty.
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
