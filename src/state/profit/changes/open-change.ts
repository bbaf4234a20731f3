/** One change of an account's collateral between two states, as far as it is not explained. */

import type { FillRecord } from "../records/cash-record.ts";
import type { BalanceChange, TakenSpots } from "./balance-change.ts";

export interface OpenChange extends BalanceChange {
  readonly account: string;
  /** It happened after the first slot, and at the second at the latest. See `slotBefore` for the slot of its first state. */
  readonly fromSlot: number;
  readonly toSlot: number;
  /** The places within their slots up to which the states before and after it tell of the ledger. Absent: not known. */
  readonly fromIndex?: number | undefined;
  readonly toIndex?: number | undefined;
  /** The time at which it was seen, ms. */
  readonly atMs: number;
  /** The time at which its last state was seen, ms. Absent: it has one. */
  readonly untilMs?: number;
  /** Time of the newest reading of the collateral history without it, ms; before the first, when it was seen. */
  readonly readMs: number;
  /** Time of such readings, ms. */
  readonly waitedMs: number;
  /** The part that the collateral history explains. */
  readonly flowUsd: number;
  /** Collateral in other assets that was taken from the account: it was paid out, or sold. Absent: none was. */
  readonly taken?: TakenSpots;
  /** Both states are those of an account that is not there: nothing but records tells of it. */
  readonly unlisted?: boolean;
  /** The part of the flows that was reported as explained before more records came, USD. Absent: none. */
  readonly reportedUsd?: number;
  /** The parts of both that moved between accounts of the wallet, USD. Absent: none did. */
  readonly withinUsd?: number;
  readonly reportedWithinUsd?: number;
  /** Collateral of the state before, and of the flows of its slot that came after it, USD. Absent: not known. */
  readonly beforeUsd?: number;
  /** The state before is of the slot of the state after it. */
  readonly ofOneSlot?: boolean;
  /** Fills left it open: it was part of the profit until then. */
  readonly reopened?: boolean;
  /** Fills of its last slot of whose trades it shows nothing: they may have come after its last state. Absent: none. */
  readonly late?: readonly FillRecord[];
  /** A flow of other slots was taken for a part of it, by its amount alone. */
  readonly guessed?: boolean;
  /** A state of its slot shows what no trade of it explains: money was moved beside trades whose estimates could hide it. */
  readonly movedBeside?: boolean;
}

export type OpenPlace = Pick<
  OpenChange,
  "account" | "fromSlot" | "toSlot" | "fromIndex" | "toIndex" | "ofOneSlot" | "atMs"
>;

/** Two changes of an account that end in one slot, as one: records do not tell which of them they belong to. */
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
