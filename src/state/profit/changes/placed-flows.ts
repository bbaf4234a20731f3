/** Flows that open changes showed: of each it is known when states may have shown it. */

import type { CashRecord } from "../records/cash-record.ts";
import type { OpenChange } from "./open-change.ts";

const maxPlaced = 50;

/** A flow that an open change shows. */
export interface PlacedFlow {
  /** The times of the first and the last state that may be the one that shows it, ms. */
  readonly sinceMs: number;
  readonly untilMs: number;
  /** The time from which it counts, ms. */
  readonly atMs: number;
  readonly usd: number;
}

// Shared: of most wallets there is none.
const noPlaced: readonly PlacedFlow[] = [];

export class PlacedFlows {
  /** By the time from which they count, newest last. */
  #all = noPlaced;
  /** The time at which a flow was read last that no open change shows, ms. */
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

  /** The flows that count since after a time, ms; null: there are others, of which it is not known when states showed them. */
  after(ms: number): readonly PlacedFlow[] | null {
    if (this.#unplacedMs > ms || (this.#all.length === maxPlaced && this.#all[0]!.atMs > ms)) return null;
    return this.#all.filter(({ atMs }) => atMs > ms);
  }

  /** Takes a flow that an open change shows: of an account that no state shows it is not known when. */
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
