/**
 * A transaction on the simulated ledger: a place in the order of events, and the accounts that it changed. At its end
 * the sequence of each changed account grows by one, and listeners are notified.
 */

import { createHash } from "node:crypto";
import { base58 } from "@scure/base";
import { recordVersion } from "../accounts/history.ts";
import type { Place } from "../accounts/position.ts";
import { spotMarket } from "../accounts/spot.ts";
import type { Account, AccountChange, Change, Market, Notification, World } from "../state.ts";
import { slotAt } from "../time.ts";

export class Transaction implements Change {
  readonly slot: number;
  readonly slotIndex: number;
  readonly atMs: number;
  readonly accounts = new Map<Account, AccountChange>();
  readonly notifications: { wallet: string; notification: Notification }[] = [];
  #events = 0;

  constructor(slot: number, slotIndex: number, atMs: number) {
    this.slot = slot;
    this.slotIndex = slotIndex;
    this.atMs = atMs;
  }

  /** The place of the next event. */
  next(): Place {
    return {
      slot: this.slot,
      slotIndex: this.slotIndex,
      eventIndex: this.#events++,
      instructionIndex: 0,
      atMs: this.atMs,
    };
  }

  touch(account: Account): AccountChange {
    let change = this.accounts.get(account);
    if (!change) {
      change = { positions: new Set(), triggers: new Set(), orders: new Map(), fills: [], rights: false };
      this.accounts.set(account, change);
    }
    return change;
  }
}

/** Runs `act` as one transaction at the world's present time. */
export function transact<T>(world: World, act: (tx: Transaction) => T): T {
  const slot = slotAt(world.nowMs);
  world.lastSlotIndex = slot === world.lastSlot ? world.lastSlotIndex + 1 : 1;
  world.lastSlot = slot;
  const tx = new Transaction(slot, world.lastSlotIndex, world.nowMs);
  const result = act(tx);
  for (const account of tx.accounts.keys()) {
    account.sequence += 1;
    world.unchecked.add(account);
    recordVersion(world, account);
  }
  for (const listener of world.listeners) listener(tx);
  return result;
}

/** The signature of the transaction at a place: derived from the place, so that it need not be stored. */
export function signatureAt(place: { readonly slot: number; readonly slotIndex: number }): string {
  return base58.encode(createHash("sha512").update(`transaction ${place.slot} ${place.slotIndex}`).digest());
}

/** Updates the market's set of accounts to check when its mark moves. */
export function noteHolder(market: Market, account: Account): void {
  const symbol = market.spec.symbol;
  let holds = account.positions.has(symbol) || (symbol === spotMarket && Boolean(account.spot));
  if (!holds) for (const order of account.orders) if (order.symbol === symbol) holds = true;
  if (holds) market.holders.add(account);
  else market.holders.delete(account);
}
