/**
 * The pending acknowledgements in one trader account's inbox, and when the next request may leave. Times are monotonic ms.
 *
 * A list that the exchange refuses is halved until the item that it will not have stands alone; that one is tried ever more
 * rarely, the others go on.
 */
import type { Random } from "../domain/clock.ts";
import type { Acknowledgement } from "../domain/delivery.ts";
import type { InboxItem } from "../domain/event.ts";
import { type Backoff, backoffMs } from "./backoff.ts";

/** The longest list that every server takes. */
export const maxAckItems = 100;

const unwell: Backoff = { firstMs: 1_000, mostMs: 300_000 };
const refused: Backoff = { firstMs: 60_000, mostMs: 6 * 3_600_000 };

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

  /** The items that may be acknowledged now, oldest first; empty when nothing may. */
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

  /** The time at which `next` should be asked again, or Infinity. */
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

  /** The exchange could not be asked; nothing is wrong with the items. @param atLeastMs what it asked for itself */
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

  /** The wallet is signed in again: what waited for that need not wait on. */
  hurry(): void {
    this.#failures = 0;
    this.#untilMs = Number.NEGATIVE_INFINITY;
  }
}
