/** A change of an account's collateral between two states that is not, or not fully, explained. */

import type { FillRecord } from "../records/cash-record.ts";
import type { BalanceChange, TakenSpots } from "./balance-change.ts";

export interface OpenChange extends BalanceChange {
  readonly account: string;
  /** It happened after the first slot and not after the second. See `slotBefore` for the slot of its first state. */
  readonly fromSlot: number;
  readonly toSlot: number;
  /** The positions within their slots up to which its two states contain the ledger. Absent: not known. */
  readonly fromIndex?: number | undefined;
  readonly toIndex?: number | undefined;
  /** The time at which it was seen, ms. */
  readonly atMs: number;
  /** The time at which its last state was seen, ms. Absent: it has one state only. */
  readonly untilMs?: number;
  /** Time of the newest reading of the collateral history that did not explain it, ms; before the first, the time it was seen. */
  readonly readMs: number;
  /** Total time of such readings, ms. */
  readonly waitedMs: number;
  /** The part that the collateral history explains, USD. */
  readonly flowUsd: number;
  /** Collateral in other assets that was removed from the account: withdrawn or sold. Absent: none. */
  readonly taken?: TakenSpots;
  /** Neither state lists the account: only records show the change. */
  readonly unlisted?: boolean;
  /** The part of the flows that was reported as explained before further records arrived, USD. Absent: none. */
  readonly reportedUsd?: number;
  /** The parts of both that moved between accounts of the wallet, USD. Absent: none. */
  readonly withinUsd?: number;
  readonly reportedWithinUsd?: number;
  /** Collateral of the state before, including flows of its slot that are later than it, USD. Absent: not known. */
  readonly beforeUsd?: number;
  /** Both states have the same slot. */
  readonly ofOneSlot?: boolean;
  /** Fills did not explain it, so it was opened again: it was part of the profit until then. */
  readonly reopened?: boolean;
  /** Fills of its last slot in markets without a trade in it: they may be later than its last state. Absent: none. */
  readonly late?: readonly FillRecord[];
  /** A flow of another slot was assigned to it by its amount alone. */
  readonly guessed?: boolean;
  /** A state of its slot shows a change that no trade explains: money was moved besides trades whose estimates could hide it. */
  readonly movedBeside?: boolean;
}

export type OpenPlace = Pick<
  OpenChange,
  "account" | "fromSlot" | "toSlot" | "fromIndex" | "toIndex" | "ofOneSlot" | "atMs"
>;

/** Merges two changes of an account that end in one slot, as records do not tell them apart. */
export function joined(first: OpenChange, second: OpenChange): OpenChange {
  const traded: Record<string, OpenChange["traded"][string]> = { ...first.traded };
  let slackUsd = first.slackUsd + second.slackUsd;
  for (const [symbol, one] of Object.entries(second.traded)) {
    const known = traded[symbol];
    if (known === undefined) {
      traded[symbol] = one;
      continue;
    }
    const sizes = Math.abs(known.units) + Math.abs(one.units);
    slackUsd += (sizes * Math.abs(known.price - one.price)) / 2;
    const [price, slack] = [(known.price + one.price) / 2, Math.max(known.slack, one.slack)];
    traded[symbol] = { units: known.units + one.units, price, slack };
  }
  return {
    ...second,
    fromSlot: first.fromSlot,
    fromIndex: first.fromIndex,
    atMs: first.atMs,
    untilMs: second.atMs,
    cashUsd: first.cashUsd + second.cashUsd,
    traded,
    slackUsd,
    ...(first.unpriced || second.unpriced
      ? { unpriced: [...(first.unpriced ?? []), ...(second.unpriced ?? [])] }
      : {}),
    ...(first.gone || second.gone
      ? { gone: [...new Set([...(first.gone ?? []), ...(second.gone ?? [])])] }
      : {}),
    flowUsd: first.flowUsd + second.flowUsd,
    ...(first.reportedUsd === undefined ? {} : { reportedUsd: first.reportedUsd }),
    withinUsd: (first.withinUsd ?? 0) + (second.withinUsd ?? 0),
    reportedWithinUsd: first.reportedWithinUsd ?? 0,
    ...(first.beforeUsd === undefined ? {} : { beforeUsd: first.beforeUsd }),
    ofOneSlot: first.ofOneSlot ?? false,
    ...(first.movedBeside || second.movedBeside ? { movedBeside: true } : {}),
    ...(first.guessed || second.guessed ? { guessed: true } : {}),
    ...(first.late || second.late ? { late: [...(first.late ?? []), ...(second.late ?? [])] } : {}),
  };
}
