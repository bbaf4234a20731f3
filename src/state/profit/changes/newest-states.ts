/**
 * The newest states of a wallet's accounts, and the slots of the complete answers about them. An account that a complete answer
 * about its PDA index does not list is empty: one that was opened and closed between two answers has records, but no state.
 */

import { FewMap } from "../../../domain/structures/few-map.ts";
import { usdFromQuoteLots } from "../../../margin/units.ts";
import type { CashRecord, Place } from "../records/cash-record.ts";
import { exactUsd, isAfter } from "../records/record-order.ts";
import { type Balance, emptyBalance } from "./balance-change.ts";
import type { OpenPlace } from "./open-change.ts";
import { pdaIndexOf, Slots, withIndex } from "./slots.ts";

/** Maximum number of states of one slot that are kept of each account. */
const maxStates = 20;

/** The newest state of an account that was compared with the previous one. */
export interface SeenBalance {
  readonly slot: number;
  /** The position within its slot up to which it contains the ledger; undefined: not known. */
  readonly index?: number | undefined;
  readonly balance: Balance;
}

/** As `SeenBalance`, for the present run. */
interface Seen {
  slot: number;
  index?: number | undefined;
  /** The newest known position among the states of this slot; undefined: none is known. */
  knownIndex?: number | undefined;
  balance: Balance;
}

/** The ledger position of an answer, which contains everything up to it. `index`: within the slot; absent: not known. */
export interface StatePlace {
  readonly slot: number;
  readonly index?: number | undefined;
  /** The time at which it was seen, ms. */
  readonly atMs: number;
}

/** The ledger position of the state before another one. */
export type StateBefore = Pick<OpenPlace, "fromSlot" | "fromIndex">;

const noIndices: readonly number[] = [];

export class NewestStates {
  readonly #seen = new FewMap<string, Seen>();
  /**
   * By PDA index, slots of the baseline or the first complete answer ever, of the first one since the start, and of the newest: an
   * account that is not listed is empty.
   */
  readonly #wholes = new FewMap<
    number,
    {
      sinceSlot: number;
      readonly firstSlot: number;
      readonly firstIndex?: number | undefined;
      slot: number;
      index?: number | undefined;
    }
  >();
  /** The collaterals in the newest states of one slot, by account. */
  readonly #ofSlot = new FewMap<string, { readonly slot: number; readonly quoteLots: readonly bigint[] }>();
  /** PDA indices with a state from before a restart. */
  restoredIndices: readonly number[] = noIndices;

  /** Takes the state of an account from before a restart. */
  restore(account: string, state: SeenBalance): void {
    const { slot } = state;
    this.#seen.set(account, { ...state, knownIndex: state.index });
    const pdaIndex = pdaIndexOf(account);
    if (!this.restoredIndices.includes(pdaIndex))
      this.restoredIndices = withIndex(this.restoredIndices, pdaIndex);
    const known = this.#wholes.get(pdaIndex);
    if (known !== undefined && slot <= known.slot) return;
    // A state with a known position comes from a complete answer.
    this.#wholes.set(pdaIndex, {
      sinceSlot: known?.sinceSlot ?? slot,
      firstSlot: slot,
      firstIndex: state.index,
      slot,
      index: state.index,
    });
  }

  /** Takes the slot of a complete answer from before a restart: accounts that it did not list were opened later. */
  restoreWhole(pdaIndex: number, slot: number): void {
    const known = this.#wholes.get(pdaIndex);
    if (known === undefined) this.#wholes.set(pdaIndex, { sinceSlot: slot, firstSlot: slot, slot });
    else known.sinceSlot = Math.min(known.sinceSlot, slot);
  }

  /** Slot of the newest state of an account, or of the answer that did not list it; -1 before the first. */
  slotOf(account: string): number {
    const seen = this.#seen.get(account);
    if (seen !== undefined && seen.balance !== emptyBalance) return seen.slot;
    return Math.max(seen?.slot ?? -1, this.#wholes.get(pdaIndexOf(account))?.slot ?? -1);
  }

  /** The position within the slot of the newest state of an account; undefined: not known. */
  indexOf(account: string): number | undefined {
    const seen = this.#seen.get(account);
    if (seen !== undefined && seen.balance !== emptyBalance) return seen.index;
    const whole = this.#wholes.get(pdaIndexOf(account));
    return whole === undefined || whole.slot < (seen?.slot ?? -1) ? seen?.index : whole.index;
  }

  /** The newest state of an account. */
  seen(account: string): SeenBalance | undefined {
    return this.#seen.get(account);
  }

  /** The collateral of an account in its newest state; an account that was not listed had none; undefined: not known. */
  before(account: string): Balance | undefined {
    const seen = this.#seen.get(account);
    if (seen !== undefined) return seen.balance;
    return this.#wholes.has(pdaIndexOf(account)) ? emptyBalance : undefined;
  }

  accounts(): Iterable<string> {
    return this.#seen.keys();
  }

  /** The slots of the newest states. */
  slots(): Slots {
    const slots = new Slots();
    for (const [pdaIndex, { slot }] of this.#wholes) slots.set(String(pdaIndex), slot);
    for (const account of this.#seen.keys()) {
      const slot = this.slotOf(account);
      if (slots.of(account) !== slot) slots.set(account, slot);
    }
    return slots;
  }

  isListed(account: string): boolean {
    const seen = this.#seen.get(account);
    return seen !== undefined && seen.balance !== emptyBalance;
  }

  /** The slots in which an unlisted account may have been opened and closed; null: it is listed, or not known. */
  unlistedSpan(account: string): Omit<OpenPlace, "account" | "atMs"> | null {
    const whole = this.#wholes.get(pdaIndexOf(account));
    if (whole === undefined || this.isListed(account)) return null;
    const seen = this.#seen.get(account);
    const [fromSlot, fromIndex] = seen ? [seen.slot, seen.index] : [whole.firstSlot, whole.firstIndex];
    return { fromSlot, fromIndex, toSlot: whole.slot, toIndex: whole.index };
  }

  /** True if an unlisted account was empty before a ledger position. */
  wasEmptyBefore(place: Place): boolean {
    const { account, slot } = place;
    const seen = this.#seen.get(account);
    const whole = this.#wholes.get(pdaIndexOf(account));
    const sinceSlot = seen?.slot ?? whole?.sinceSlot;
    if (sinceSlot === undefined || slot < sinceSlot || this.isListed(account)) return false;
    const sinceIndex = seen ? seen.index : whole?.firstSlot === sinceSlot ? whole.firstIndex : undefined;
    return slot !== sinceSlot || isAfter(place, sinceIndex) === true;
  }

  /** True if a record in the slot of the newest state of its account may be later than that state. */
  mayFollow(record: Place): boolean {
    const { account, slot } = record;
    if (slot !== this.slotOf(account) || isAfter(record, this.indexOf(account)) !== undefined) return false;
    const seen = this.#seen.get(account);
    return seen?.slot !== slot || isAfter(record, seen.knownIndex) !== false;
  }

  /** True if one of several states of its slot has the collateral from after a flow. */
  wasShown(record: CashRecord): boolean {
    if (record.kind !== "flow" || record.afterUsd === undefined) return false;
    const states = this.#ofSlot.get(record.account);
    if (states === undefined || states.slot !== record.slot) return false;
    const { afterUsd } = record;
    return states.quoteLots.some((lots) => Math.abs(usdFromQuoteLots(lots) - afterUsd) <= exactUsd);
  }

  /** Takes the newest state of a known account if the collateral is unchanged. @returns true if so */
  takeSame(account: string, place: StatePlace, balance: Balance): boolean {
    const seen = this.#seen.get(account);
    if (seen === undefined) return false;
    const before = seen.balance;
    if (
      before.collateralQuoteLots !== balance.collateralQuoteLots ||
      before.spotCollaterals !== balance.spotCollaterals
    )
      return false;
    renew(seen, place, balance);
    return true;
  }

  /** Takes the newest state of an account. @returns the position of the previous one; null: none, as for a first answer */
  take(account: string, place: StatePlace, balance: Balance): StateBefore | null {
    const { slot, index } = place;
    const seen = this.#seen.get(account);
    if (seen === undefined) {
      this.#seen.set(account, { slot, index, knownIndex: index, balance });
      const whole = this.#wholes.get(pdaIndexOf(account));
      return whole === undefined ? null : { fromSlot: whole.slot, fromIndex: whole.index };
    }
    const since = { fromSlot: this.slotOf(account), fromIndex: this.indexOf(account) };
    if (seen.slot === slot) this.#noteStates(account, slot, seen.balance, balance);
    renew(seen, place, balance);
    return since;
  }

  /** Takes an answer that listed all accounts of a PDA index. @returns the position of the previous one; null: it is the first */
  takeWhole(pdaIndex: number, { slot, index }: StatePlace): StateBefore | null {
    const whole = this.#wholes.get(pdaIndex);
    if (whole === undefined) {
      this.#wholes.set(pdaIndex, { sinceSlot: slot, firstSlot: slot, firstIndex: index, slot, index });
      return null;
    }
    const since = { fromSlot: whole.slot, fromIndex: whole.index };
    whole.slot = slot;
    whole.index = index;
    return since;
  }

  #noteStates(account: string, slot: number, before: Balance, after: Balance): void {
    const known = this.#ofSlot.get(account);
    const quoteLots = known?.slot === slot ? known.quoteLots : [before.collateralQuoteLots];
    this.#ofSlot.set(account, {
      slot,
      quoteLots: [...quoteLots.slice(1 - maxStates), after.collateralQuoteLots],
    });
  }
}

/** Takes a newer state. */
function renew(seen: Seen, { slot, index }: StatePlace, balance: Balance): void {
  seen.knownIndex = index ?? (seen.slot === slot ? seen.knownIndex : undefined);
  seen.slot = slot;
  seen.index = index;
  seen.balance = balance;
}
