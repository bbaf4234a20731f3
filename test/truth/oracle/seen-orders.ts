/** Resting orders as the daemon knows them: of which it knows when they were placed. */
import { orderName } from "../../../src/domain/account.ts";
import type { Observation } from "../../../src/domain/observation.ts";
import type { AccountTruth, OrderTruth } from "./truth.ts";

const nameOf = (wallet: string, { symbol, sequence, side }: OrderTruth): string =>
  `${wallet} ${orderName(symbol, sequence, side)}`;

export class Orders {
  /** Times at which accounts were last told of, by name; the daemon's clock, ms. */
  readonly toldMs = new Map<string, number>();
  /** Orders that stood in the first answer, until their account was read after their history. */
  readonly #unaged = new Set<string>();
  /** Orders whose history was read since the start. */
  readonly #placed = new Set<string>();

  forget(): void {
    for (const known of [this.toldMs, this.#unaged, this.#placed]) known.clear();
  }

  takeHistory({ wallet, events, resting = [] }: Observation & { readonly kind: "events" }): void {
    for (const { order } of resting) this.#placed.add(`${wallet} ${order}`);
    for (const { data } of events) {
      const order = (data as { readonly order?: string } | null)?.order;
      if (order !== undefined) this.#placed.add(`${wallet} ${order}`);
    }
  }

  /**
   * An answer told of an account.
   * @param first of the accounts of its PDA index since the start
   * @returns true if orders rest there, which are older now
   */
  take(account: AccountTruth, first: boolean, atMs: number): boolean {
    this.toldMs.set(account.name, atMs);
    for (const order of account.orders) {
      const name = nameOf(account.wallet, order);
      if (this.#placed.has(name)) this.#unaged.delete(name);
      else if (first) this.#unaged.add(name);
    }
    return account.orders.length > 0;
  }

  /** The age of an order when its account was last told of, ms. */
  ageMs(account: AccountTruth, order: OrderTruth): number {
    return (this.toldMs.get(account.name) ?? Number.NaN) - order.placedMs;
  }

  /** True if the daemon cannot know its age yet. */
  isUnaged(account: AccountTruth, order: OrderTruth): boolean {
    return this.#unaged.has(nameOf(account.wallet, order));
  }
}
