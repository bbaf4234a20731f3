/**
 * Decides whether the stream can be believed about the notifications of a wallet: its connection may stand, answer pings and
 * have confirmed the subscription, and yet tell nothing. What the inbox shows and the stream never told finds it out.
 *
 *   believed ──an item, created since the connection came up, that it did not tell──► doubted
 *      ▲                                                                                │
 *      └──────────────────────────── it tells of any item ◄─────────────────────────────┘
 *
 * Only events of the ledger count: of other items the id that is told may not be the one that lasts.
 */
import { type NotificationItem, notificationKey } from "../contract/index.ts";

/** A subscription takes effect, and an item arrives, within this time, ms. */
const GRACE_MS = 10_000;
/** Items told lately, of one wallet; the newest page of an inbox has fewer. */
const MOST_REMEMBERED = 1_000;

interface Trust {
  /** Wall time since which the connection stands, ms. */
  upMs: number;
  doubted: boolean;
  /** Items that the stream told, or that were counted as left out. */
  readonly known: Set<string>;
}

export class InboxTrust {
  readonly #wallets = new Map<string, Trust>();

  /** The connection came up at this wall time, ms. That is no proof yet. */
  up(wallet: string, atMs: number): void {
    this.#of(wallet).upMs = atMs;
  }

  /** The stream told of an item. */
  told(wallet: string, authority: string, item: NotificationItem): void {
    const trust = this.#of(wallet);
    trust.doubted = false;
    this.#know(trust, notificationKey(item, authority));
  }

  /** The newest items as a poll read them, at this wall time. @returns how many the stream should have told and did not */
  polled(wallet: string, authority: string, items: readonly NotificationItem[], atMs: number): number {
    const trust = this.#of(wallet);
    let missed = 0;
    for (const item of items) {
      if (item.source !== "event") continue;
      if (item.createdAt < trust.upMs + GRACE_MS || item.createdAt > atMs - GRACE_MS) continue;
      const key = notificationKey(item, authority);
      if (trust.known.has(key)) continue;
      this.#know(trust, key);
      missed++;
    }
    trust.doubted ||= missed > 0;
    return missed;
  }

  doubted(wallet: string): boolean {
    return this.#wallets.get(wallet)?.doubted ?? false;
  }

  #of(wallet: string): Trust {
    const known = this.#wallets.get(wallet);
    if (known) return known;
    const trust: Trust = { upMs: Number.POSITIVE_INFINITY, doubted: false, known: new Set() };
    this.#wallets.set(wallet, trust);
    return trust;
  }

  #know({ known }: Trust, key: string): void {
    known.add(key);
    if (known.size <= MOST_REMEMBERED) return;
    for (const oldest of known) {
      known.delete(oldest);
      return;
    }
  }
}
