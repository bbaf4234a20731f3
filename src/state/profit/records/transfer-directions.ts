/** Directions of transfers between accounts: from their records, from open changes, or from the other side of each. */
import type { Event } from "../../../domain/event.ts";
import type { Accounts } from "../../accounts/accounts.ts";
import type { WalletEntry } from "../../wallets/wallets.ts";
import { accountOf, flowOf, guessOf, otherSide, transferOf } from "./flows.ts";

/** Maximum number of sides of transfers per wallet that wait for the other side. */
const maxLoneSides = 32;

/** A transfer, and the records that were read with it. */
interface ReadTransfer {
  readonly event: Event;
  readonly read: readonly Event[];
}

export class TransferDirections {
  readonly #accounts: Accounts;
  /** Flows of sides of transfers, as stated by the other side or as taken; null: not known. */
  readonly #directions = new WeakMap<Event, number | null>();
  /** Sides of transfers, by wallet, that were read without the other side, which may follow. Newest last. */
  readonly #loneSides = new Map<string, readonly Event[]>();
  /** Transfers, by wallet, without a direction when they were read: fills that are read later may show it. Newest last. */
  readonly #undirected = new Map<string, readonly ReadTransfer[]>();

  constructor(accounts: Accounts) {
    this.#accounts = accounts;
  }

  /** Returns a flow, USD; null if the direction of a transfer is not known. The other side of a transfer is its opposite. */
  flowOf(entry: WalletEntry, event: Event, read: readonly Event[]): number | null {
    const known = this.#directions.get(event);
    if (known !== undefined) return known;
    const own = this.#ownFlowOf(entry, event);
    if (transferOf(event) === null) return own;
    const other = otherSide(event, read);
    if (other === undefined) return this.#flowOfLone(entry, event, own);
    const its = this.#ownFlowOf(entry, other);
    // Both sides count, or neither does.
    const ownByBoth = own === null ? (its === null ? null : -its) : its !== null && its !== -own ? null : own;
    const usd = own === null && its === null ? guessOf(event) : ownByBoth;
    this.#directions.set(other, usd === null ? null : -usd);
    return usd;
  }

  /** The flow of a side that was read without the other side. */
  #flowOfLone({ wallet }: WalletEntry, event: Event, own: number | null): number | null {
    const sides = this.#loneSides.get(wallet.name) ?? [];
    const other = otherSide(event, sides);
    const its = other === undefined ? undefined : this.#directions.get(other);
    const usd = typeof its === "number" ? -its : (own ?? guessOf(event));
    if (other === undefined) this.#loneSides.set(wallet.name, [...sides.slice(1 - maxLoneSides), event]);
    this.#directions.set(event, usd);
    return usd;
  }

  /** The flow as far as this side alone shows it; null also if it would be a guess. */
  #ownFlowOf({ profit, wallet }: WalletEntry, event: Event): number | null {
    const account = accountOf(event);
    const found = this.#accounts.ofWallet(wallet.name).find(({ name }) => name === account);
    const usd = flowOf(event, found);
    const transfer = transferOf(event);
    if (usd !== null || account === null || transfer === null) return usd;
    const { transferUsd } = transfer;
    const place = { account, slot: event.slot, index: event.slotIndex };
    const { after } = event.fields;
    if (after === transferUsd && profit.changes.isFirstFlow(place)) return transferUsd;
    return profit.changes.directionOf(place, transferUsd, typeof after === "number" ? after : undefined);
  }

  /** Takes the flow of one side. @returns the other side, if it was read before without a direction: it has one now */
  takeOtherSide(entry: WalletEntry, event: Event, usd: number): Event | undefined {
    const other = otherSide(event, this.#loneSides.get(entry.wallet.name) ?? []);
    if (other === undefined || this.#directions.get(other) !== null) return undefined;
    this.#directions.set(other, -usd);
    return other;
  }

  wait(wallet: string, event: Event, read: readonly Event[]): void {
    const waiting = this.#undirected.get(wallet) ?? [];
    const other = otherSide(event, read);
    const one = { event, read: other === undefined ? [] : [other] };
    this.#undirected.set(wallet, [...waiting.slice(1 - maxLoneSides), one]);
  }

  /** Returns and removes waiting transfers whose direction open changes show by now. */
  takeDirected(entry: WalletEntry): readonly ReadTransfer[] {
    const { name } = entry.wallet;
    const waiting = this.#undirected.get(name) ?? [];
    if (waiting.length === 0 || entry.profit.changes.open.length === 0) return [];
    // The other side may have given the direction in the meantime.
    const isOpen = (event: Event): boolean => (this.#directions.get(event) ?? null) === null;
    const left = waiting.filter(({ event }) => isOpen(event));
    const directed = left.filter(({ event, read }) => {
      if (isOpen(event)) for (const one of [event, ...read]) this.#directions.delete(one);
      return this.flowOf(entry, event, read) !== null;
    });
    this.#undirected.set(
      name,
      left.filter((one) => !directed.includes(one)),
    );
    return directed;
  }
}
