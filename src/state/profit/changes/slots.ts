/**
 * Slots up to which the states of a wallet's accounts contain the ledger: by account name and, for accounts without a slot of
 * their own, by PDA index.
 */

import { z } from "zod";
import { keptNumber } from "../../../domain/stored/kept.ts";
import { FewMap } from "../../../domain/structures/few-map.ts";

export class Slots extends FewMap<string, number> {
  constructor(slots: Iterable<readonly [string, number]> = []) {
    super();
    for (const [name, slot] of slots) this.set(name, slot);
  }

  /** The slot of an account's state; -1: none. */
  of(account: string): number {
    return this.get(account) ?? this.get(String(pdaIndexOf(account))) ?? -1;
  }

  toJSON(): Readonly<Record<string, number>> {
    return Object.fromEntries(this);
  }
}

/** Slots as they are stored. */
export const storedSlots = z
  .record(z.string(), keptNumber)
  .transform((slots) => new Slots(Object.entries(slots)));

/** Shared: most wallets are read at their first PDA index only. */
const onlyFirst: readonly number[] = [0];

export function withIndex(indices: readonly number[], pdaIndex: number): readonly number[] {
  return indices.length === 0 && pdaIndex === 0 ? onlyFirst : indices.concat(pdaIndex);
}

/** The PDA index in the name of an account (see `accountName`). */
export function pdaIndexOf(account: string): number {
  return Number.parseInt(account.slice(account.lastIndexOf("/") + 1), 10);
}
