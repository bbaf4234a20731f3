/** Changes of collateral that were recently explained as flows: an alert raised by one of them ends as explained. */
import { exactUsd } from "../records/record-order.ts";

const maxExplained = 20;
/** Time for which they are kept, ms. */
const explainedForMs = 3_600_000;

/** A change that was explained as an amount paid in (positive) or out. */
export interface ExplainedFlow {
  /** The times at which it was seen and explained, ms. */
  readonly sinceMs: number;
  readonly atMs: number;
  readonly usd: number;
  /** The part that did not move between accounts of the wallet. Absent: all of it; earlier versions do not store it. */
  readonly paidUsd?: number;
}

// Shared by the many wallets without explained flows.
const noExplained: readonly ExplainedFlow[] = [];

export class ExplainedFlows {
  /** Oldest first. */
  #all = noExplained;

  get all(): readonly ExplainedFlow[] {
    return this.#all;
  }

  restore(explained = noExplained): void {
    this.#all = explained;
  }

  add(flow: ExplainedFlow): void {
    const recent = this.#all.filter((one) => one.atMs > flow.atMs - explainedForMs);
    this.#all = [...recent.slice(1 - maxExplained), flow];
  }

  /**
   * The flow that raised an alert, with those explained after it, if the newest was explained after a time; null: there is none.
   * Transfers between accounts do not count; if nothing else flowed, the result is 0. A sum of flows of both directions is
   * meaningless: the newest flow is returned instead.
   *
   * @param raisedMs time at which the alert was raised
   */
  since(ms: number, raisedMs: number): ExplainedFlow | null {
    const newest = this.#all.at(-1);
    if (newest === undefined || newest.atMs < ms) return null;
    const flows = this.#all.filter(({ atMs }) => atMs >= raisedMs);
    const sinceMs = Math.min(...flows.map((one) => one.sinceMs));
    if (sinceMs > raisedMs) return null;
    const paid = flows.map(({ usd, paidUsd = usd }) => paidUsd).filter((usd) => Math.abs(usd) > exactUsd);
    const last = paid.at(-1) ?? 0;
    const isSame = paid.every((usd) => Math.sign(usd) === Math.sign(last));
    return { sinceMs, atMs: newest.atMs, usd: isSame ? paid.reduce((sum, usd) => sum + usd, 0) : last };
  }
}
