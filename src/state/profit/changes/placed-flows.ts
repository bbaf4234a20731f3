/** Flows that open changes showed, each with the time of the states that may have shown it first. */

import type { CashRecord } from "../records/cash-record.ts";
import type { OpenChange } from "./open-change.ts";

const maxPlaced = 50;

/** A flow that an open change shows. */
export interface PlacedFlow {
  /** The times of the first and the last state that may be the one that shows it, ms. */
  readonly sinceMs: number;
  readonly untilMs: number;
  /** The time since which it counts, ms. */
  readonly atMs: number;
  readonly usd: number;
}

// Shared by the many wallets without such flows.
const noPlaced: readonly PlacedFlow[] = [];

export class PlacedFlows {
  /** By the time since which they count, newest last. */
  #all = noPlaced;
  /** The time at which a flow was last read that no open change shows, ms. */
  #unplacedMs = Number.NEGATIVE_INFINITY;

  get kept(): { readonly placed?: readonly PlacedFlow[]; readonly unplacedMs?: number } {
    return {
      ...(this.#all.length > 0 ? { placed: this.#all } : {}),
      ...(Number.isFinite(this.#unplacedMs) ? { unplacedMs: this.#unplacedMs } : {}),
    };
  }

  restore(placed = noPlaced, unplacedMs = Number.NEGATIVE_INFINITY): void {
    this.#all = placed;
    this.#unplacedMs = unplacedMs;
  }

  /** The flows that count after a time, ms; null: there are others, and the states that showed them are not known. */
  after(ms: number): readonly PlacedFlow[] | null {
    if (this.#unplacedMs > ms || (this.#all.length === maxPlaced && this.#all[0]!.atMs > ms)) return null;
    return this.#all.filter(({ atMs }) => atMs > ms);
  }

  /** Takes a flow that an open change shows. For an unlisted account the time is not known. */
  take({ atMs: sinceMs, untilMs = sinceMs, unlisted }: OpenChange, record: CashRecord, atMs: number): void {
    if (record.kind !== "flow") return;
    if (unlisted) this.#unplacedMs = atMs;
    const { usd } = record;
    this.#all = [...this.#all.slice(1 - maxPlaced), { sinceMs, untilMs, atMs, usd }];
  }

  /** Takes a record that belongs to no open change. */
  takeUnplaced(record: CashRecord, atMs: number): void {
    if (record.kind === "flow") this.#unplacedMs = atMs;
  }
}
