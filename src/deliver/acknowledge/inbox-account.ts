/**
 * The pending acknowledgements of one trader account's inbox, and the time of the next request. Times are monotonic ms.
 *
 * A list that the exchange refuses is halved until the refused item is alone; that one is retried at growing intervals,
 * the others continue.
 */

import type { Acknowledgement } from "../../domain/alerts/delivery.ts";
import type { Random } from "../../domain/clock.ts";
import type { InboxItem } from "../../domain/event.ts";
import { type Backoff, backoffMs } from "../queue/backoff.ts";

/** The maximum list length that every server accepts. */
export const maxAckItems = 100;

const unwell: Backoff = { firstMs: 1_000, maxMs: 300_000 };
const refused: Backoff = { firstMs: 60_000, maxMs: 6 * 3_600_000 };

export interface DueItem {
  readonly row: Acknowledgement;
  readonly item: InboxItem["item"];
  refusals: number;
  notBeforeMs: number;
}

export class InboxAccount {
  readonly wallet: string;
  readonly traderPubkey: string;
  readonly due = new Map<string, DueItem>();
  underWay = false;
  readonly #random: Random;
  #failures = 0;
  #untilMs = Number.NEGATIVE_INFINITY;
  #limit = maxAckItems;

  constructor(wallet: string, traderPubkey: string, random: Random) {
    this.wallet = wallet;
    this.traderPubkey = traderPubkey;
    this.#random = random;
  }

  add(row: Acknowledgement, item: InboxItem["item"]): void {
    this.due.set(row.key, { row, item, refusals: 0, notBeforeMs: Number.NEGATIVE_INFINITY });
  }

  /** Returns the items that may be acknowledged now, oldest first; empty if none. */
  next(nowMs: number): DueItem[] {
    if (this.underWay || nowMs < this.#untilMs) return [];
    const items: DueItem[] = [];
    for (const one of this.due.values()) {
      if (one.notBeforeMs > nowMs) continue;
      items.push(one);
      if (items.length === this.#limit) break;
    }
    return items;
  }

  /** Returns the time of the next call of `next`, or Infinity. */
  nextAtMs(): number {
    let ms = Number.POSITIVE_INFINITY;
    if (!this.underWay) for (const { notBeforeMs } of this.due.values()) ms = Math.min(ms, notBeforeMs);
    return Math.max(ms, this.#untilMs);
  }

  confirmed(items: readonly DueItem[]): void {
    this.#failures = 0;
    this.#limit = Math.min(maxAckItems, this.#limit * 2);
    for (const { row } of items) this.due.delete(row.key);
  }

  /**
   * Notes that the exchange could not be reached; the items are not at fault. @param atLeastMs the wait that it
   * requested
   */
  failed(nowMs: number, atLeastMs: number): void {
    this.#failures++;
    this.#untilMs = nowMs + Math.max(atLeastMs, backoffMs(unwell, this.#failures, this.#random()));
  }

  refused(items: readonly DueItem[], nowMs: number): void {
    const [only, ...others] = items;
    if (others.length > 0) {
      this.#limit = Math.max(1, Math.floor(items.length / 2));
      return;
    }
    if (!only) return;
    only.refusals++;
    only.notBeforeMs = nowMs + backoffMs(refused, only.refusals, this.#random());
  }

  /** Ends the wait for a sign-in: the wallet is signed in again. */
  hurry(): void {
    this.#failures = 0;
    this.#untilMs = Number.NEGATIVE_INFINITY;
  }
}
