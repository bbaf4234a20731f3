/** Collateral in other assets that turned out to be paid out, or in without a state that shows it. */

import type { CashRecord } from "../records/cash-record.ts";
import type { OpenChange } from "./open-change.ts";
import { takenUsdOf } from "./unexplained-amount.ts";

/** Collateral in other assets that was paid in or, negative, out, USD. */
export interface SpotFlow {
  readonly account: string;
  readonly slot: number;
  readonly atMs: number;
  readonly usd: number;
  /** It came after a state of its slot, which does not show it. Absent: after a state of an earlier one. */
  readonly after?: true;
}

const noFlows: readonly SpotFlow[] = [];

export class SpotFlows {
  #flows = noFlows;

  get isEmpty(): boolean {
    return this.#flows.length === 0;
  }

  /** Hands them over. */
  take(): readonly SpotFlow[] {
    const flows = this.#flows;
    this.#flows = noFlows;
    return flows;
  }

  /** Notes that what was taken in a change was paid out. */
  payOut(open: OpenChange): void {
    const { account, toSlot: slot, atMs, ofOneSlot } = open;
    const usd = -takenUsdOf(open);
    if (usd !== 0) this.#add({ account, slot, atMs, usd }, ofOneSlot);
  }

  /** More of an asset was sold than the states of a change show as taken: the rest was paid in between them, for about as much. */
  payInUnseen(
    { taken, ofOneSlot }: OpenChange,
    record: CashRecord & { readonly kind: "sale" },
    atMs: number,
  ): void {
    const { account, slot, assetIndex, units, usd } = record;
    const unseen = units - (taken?.[assetIndex]?.units ?? 0);
    if (unseen > units * 1e-9) this.#add({ account, slot, atMs, usd: usd * (unseen / units) }, ofOneSlot);
  }

  #add(flow: SpotFlow, ofOneSlot: boolean | undefined): void {
    this.#flows = [...this.#flows, ofOneSlot ? { ...flow, after: true } : flow];
  }
}
