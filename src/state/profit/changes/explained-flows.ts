/** Changes of collateral that turned out to be paid in or out lately: an alert that one of them raised ends as explained. */
import { exactUsd } from "../records/record-order.ts";

const maxExplained = 20;
/** They are kept for so long, ms. */
const explainedForMs = 3_600_000;

/** A change that turned out to be paid in (positive) or out. */
export interface ExplainedFlow {
  /** The times at which it was seen and explained, ms. */
  readonly sinceMs: number;
  readonly atMs: number;
  readonly usd: number;
  /** The part that did not move between accounts of the wallet. Absent: all, in what an earlier version stored. */
  readonly paidUsd?: number;
}

// Shared: of most wallets there is none.
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
   * The flow that raised an alert, with those explained after it, if the newest was explained from a time on; null: there is
   * none. What moved between accounts is none; where nothing else flowed it is 0. Flows of both directions have no sum that tells
   * anything: the newest stands for them.
   *
   * @param raisedMs when the alert was raised
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
