/** Placement times of orders from the order history, until the account with these orders takes them. */
import type { Event } from "../../domain/event.ts";

/** Maximum number of orders of one wallet. Most are soon cancelled or filled; the oldest are dropped first. */
const maxOrders = 10_000;

export class OrderPlacements {
  readonly #byWallet = new Map<string, Map<string, number>>();

  /** @param order as returned by `orderName` */
  note(wallet: string, order: string, placedMs: number): void {
    const known = this.#byWallet.get(wallet) ?? new Map<string, number>();
    this.#byWallet.set(wallet, known);
    known.set(order, placedMs);
    if (known.size > maxOrders) for (const oldest of known.keys()) return void known.delete(oldest);
  }

  /** Takes an event of the order history. */
  event({ wallet, fields, data, happenedMs }: Event): void {
    const order = (data as { readonly order?: string } | null)?.order;
    if (wallet === null || order === undefined) return;
    if (fields.status === "active") this.note(wallet, order, happenedMs);
    else this.#byWallet.get(wallet)?.delete(order);
  }

  /** Returns and removes the placement time of an order, ms; undefined: not known here. */
  take(wallet: string, order: string): number | undefined {
    const known = this.#byWallet.get(wallet);
    const placedMs = known?.get(order);
    if (placedMs !== undefined) known!.delete(order);
    return placedMs;
  }
}
