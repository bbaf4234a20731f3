/** Flows of collateral in other assets: paid out, or paid in without a state that shows it. */

import type { CashRecord } from "../records/cash-record.ts";
import type { OpenChange } from "./open-change.ts";
import { takenUsdOf } from "./unexplained-amount.ts";

/** Collateral in other assets that was paid in or, negative, out, USD. */
export interface SpotFlow {
  readonly account: string;
  readonly slot: number;
  readonly atMs: number;
  readonly usd: number;
  /** It is later than a state of its slot, which does not show it. Absent: it is later than a state of an earlier slot. */
  readonly after?: true;
}

const noFlows: readonly SpotFlow[] = [];

export class SpotFlows {
  #flows = noFlows;

  get isEmpty(): boolean {
    return this.#flows.length === 0;
  }

  /** Returns and removes the flows. */
  take(): readonly SpotFlow[] {
    const flows = this.#flows;
    this.#flows = noFlows;
    return flows;
  }

  /** Notes that the collateral removed in a change was withdrawn. */
  payOut(open: OpenChange): void {
    const { account, toSlot: slot, atMs, ofOneSlot } = open;
    const usd = -takenUsdOf(open);
    if (usd !== 0) this.#add({ account, slot, atMs, usd }, ofOneSlot);
  }

  /** Notes a deposit if more of an asset was sold than the states of a change show as removed; its value is that of the sale. */
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
