/** The placement times of orders, as the order history tells, until the account that shows them takes it over. */
import type { Event } from "../../domain/event.ts";

/** Maximum number of orders of one wallet. Most are placed and gone again; the oldest make room. */
const most = 10_000;

export class OrderPlacements {
  readonly #byWallet = new Map<string, Map<string, number>>();

  /** @param order as `orderName` has it */
  note(wallet: string, order: string, placedMs: number): void {
    const known = this.#byWallet.get(wallet) ?? new Map<string, number>();
    this.#byWallet.set(wallet, known);
    known.set(order, placedMs);
    if (known.size > most) for (const oldest of known.keys()) return void known.delete(oldest);
  }

  /** Takes an event of the order history. */
  event({ wallet, fields, data, happenedMs }: Event): void {
    const order = (data as { readonly order?: string } | null)?.order;
    if (wallet === null || order === undefined) return;
    if (fields.status === "active") this.note(wallet, order, happenedMs);
    else this.#byWallet.get(wallet)?.delete(order);
  }

  /** Hands over the placement time of an order, ms; undefined: not known here. */
  take(wallet: string, order: string): number | undefined {
    const known = this.#byWallet.get(wallet);
    const placedMs = known?.get(order);
    if (placedMs !== undefined) known!.delete(order);
    return placedMs;
  }
}
