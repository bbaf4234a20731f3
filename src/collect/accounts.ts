/**
 * The trader accounts of each wallet, as listed by trader states. Subaccount 0 always counts as known; a closed one
 * (an isolated account ends with its position) still has an inbox, so it stays, across restarts too.
 */
import type { Observation } from "../domain/observation.ts";
import { type TraderIndex, traderAddress } from "../wallet/address.ts";
import type { CollectedWallet } from "./collector.ts";

export interface KnownAccount extends TraderIndex {
  /** Base58. */
  readonly address: string;
}

interface Accounts {
  known: readonly KnownAccount[];
  /** The accounts that the newest state of each PDA index lists, of those read since the start. */
  listed: readonly Listed[];
  stored: string;
  /**
   * The number of accounts with which `stored` was compared: accounts are never removed, so an equal number means the
   * same ones.
   */
  comparedCount: number;
}

interface Listed {
  readonly pdaIndex: number;
  readonly subaccounts: readonly number[];
}

const none: readonly KnownAccount[] = [];
const nothingListed: readonly Listed[] = [];
const cursorPrefix = "accounts/";

export class AccountBook {
  readonly #accounts = new Map<string, Accounts>();

  constructor(wallets: readonly CollectedWallet[], cursors: ReadonlyMap<string, string>) {
    for (const wallet of wallets) {
      const stored = cursors.get(cursorPrefix + wallet.name) ?? "";
      const entry: Accounts = {
        known: none,
        listed: nothingListed,
        stored,
        comparedCount: 0,
      };
      this.#accounts.set(wallet.name, entry);
      for (const pdaIndex of wallet.pdaIndices) add(entry, wallet, { pdaIndex, subaccount: 0 });
      for (const name of stored.split(" ")) {
        const [pdaIndex, subaccount] = name.split(".").map(Number);
        if (pdaIndex !== undefined && subaccount !== undefined && wallet.pdaIndices.includes(pdaIndex))
          add(entry, wallet, { pdaIndex, subaccount });
      }
    }
  }

  of(wallet: string): readonly KnownAccount[] {
    return this.#accounts.get(wallet)?.known ?? none;
  }

  /** Returns the accounts that the newest states list. */
  present(wallet: string): readonly KnownAccount[] {
    const entry = this.#accounts.get(wallet);
    if (!entry) return [];
    return entry.listed.flatMap(({ pdaIndex, subaccounts }) =>
      subaccounts.flatMap((subaccount) => find(entry, { pdaIndex, subaccount }) ?? []),
    );
  }

  count(wallet: string): number {
    return this.#accounts.get(wallet)?.known.length ?? 0;
  }

  /** Returns true if the state of every PDA index was read since the start. */
  complete(wallet: CollectedWallet): boolean {
    const entry = this.#accounts.get(wallet.name);
    return wallet.pdaIndices.every((index) => entry?.listed.some(({ pdaIndex }) => pdaIndex === index));
  }

  /** Takes the accounts of a trader state. @returns the accounts that were not known before */
  take(wallet: CollectedWallet, pdaIndex: number, subaccounts: readonly number[]): readonly KnownAccount[] {
    const entry = this.#accounts.get(wallet.name);
    if (!entry) return [];
    // In nearly all cases the same as last time.
    const known = entry.listed.find((one) => one.pdaIndex === pdaIndex);
    const before = known?.subaccounts;
    if (before?.length === subaccounts.length && before.every((one, i) => one === subaccounts[i]))
      return none;
    const now = { pdaIndex, subaccounts };
    // The order stays: the accounts of the index that was read first come first.
    entry.listed = known ? entry.listed.map((one) => (one === known ? now : one)) : entry.listed.concat(now);
    const fresh: KnownAccount[] = [];
    for (const subaccount of subaccounts) {
      const account = add(entry, wallet, { pdaIndex, subaccount });
      if (account) fresh.push(account);
    }
    return fresh;
  }

  /** Returns the state to store, so that a restart has the same accounts; null: nothing new. */
  unstored(wallet: CollectedWallet, atMs: number): (Observation & { kind: "events" }) | null {
    const entry = this.#accounts.get(wallet.name);
    if (!entry) return null;
    if (entry.comparedCount === entry.known.length) return null;
    const names = namesOf(entry);
    if (names === entry.stored) {
      entry.comparedCount = entry.known.length;
      return null;
    }
    return noteOf(cursorPrefix + wallet.name, names, atMs);
  }

  /** Notes that the state was stored. */
  stored(wallet: CollectedWallet): void {
    const entry = this.#accounts.get(wallet.name);
    if (!entry) return;
    entry.stored = namesOf(entry);
    entry.comparedCount = entry.known.length;
  }
}

function add(entry: Accounts, wallet: CollectedWallet, index: TraderIndex): KnownAccount | null {
  if (find(entry, index)) return null;
  const { pdaIndex, subaccount } = index;
  const account = { pdaIndex, subaccount, address: traderAddress(wallet.authority, index) };
  entry.known = entry.known.concat(account);
  return account;
}

/** In nearly all cases there is only one. */
function find({ known }: Accounts, { pdaIndex, subaccount }: TraderIndex): KnownAccount | undefined {
  return known.find((one) => one.subaccount === subaccount && one.pdaIndex === pdaIndex);
}

/** Returns the accounts in their stored form. */
function namesOf({ known }: Accounts): string {
  return known.map(({ pdaIndex, subaccount }) => `${pdaIndex}.${subaccount}`).join(" ");
}

/** Returns an observation that stores a cursor and nothing else: it has no wallet, so that no source counts as read. */
export function noteOf(name: string, value: string, atMs: number): Observation & { kind: "events" } {
  return {
    kind: "events",
    source: "notifications",
    wallet: null,
    atMs,
    events: [],
    cursor: { name, value },
  };
}
