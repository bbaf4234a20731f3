/**
 * Decides if the stream delivers the notifications of a wallet: a connection may be open, answer pings and have
 * confirmed the subscription, and still deliver nothing. An item that the inbox contains and the stream did not deliver
 * is the sign of this.
 *
 *   trusted ──an item, created since the connection came up, was not delivered──► doubted
 *      ▲                                                                             │
 *      └──────────────────────────── it delivers any item ◄──────────────────────────┘
 *
 * Only events of the ledger count: other items may have a temporary id in the stream.
 */
import { type NotificationItem, notificationKey } from "../../contract/index.ts";

/** Time in which a subscription takes effect, and an item arrives, ms. */
const GRACE_MS = 10_000;
/** Maximum recently delivered items of one wallet; the newest page of an inbox has fewer. */
const maxRemembered = 1_000;

interface Trust {
  /** Wall time since which the connection is open, ms. */
  upMs: number;
  doubted: boolean;
  /** Items that the stream delivered, or that were counted as missed. */
  readonly known: Set<string>;
}

export class InboxTrust {
  readonly #wallets = new Map<string, Trust>();

  /** Notes that the connection came up at this wall time, ms. That alone does not end the doubt. */
  up(wallet: string, atMs: number): void {
    this.#of(wallet).upMs = atMs;
  }

  /** Notes an item that the stream delivered. */
  received(wallet: string, authority: string, item: NotificationItem): void {
    const trust = this.#of(wallet);
    trust.doubted = false;
    this.#know(trust, notificationKey(item, authority));
  }

  /**
   * Takes the newest items of a poll at this wall time. @returns the number of items that the stream should have
   * delivered and did not
   */
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
    if (known.size <= maxRemembered) return;
    for (const oldest of known) {
      known.delete(oldest);
      return;
    }
  }
}
