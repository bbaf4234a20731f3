/** The legs of a declared hedge: what each means, and how much it is now. */
import type { Event } from "../../domain/event.ts";
import type { World } from "../world.ts";

/** Naked share of the largest leg up to which a pair counts as whole, where nothing else is said. */
export const usualTolerance = 0.02;

/** Sizes are sums of doubles: so small a share of what was added up is what rounding left. */
export const negligible = 1e-9;

export interface Leg {
  /** As the configuration writes it: `main/SOL`, `main/0.1/SOL`. */
  readonly text: string;
  readonly wallet: string;
  /** Null: all accounts of the wallet together. */
  readonly account: { readonly pdaIndex: number; readonly subaccount: number } | null;
  readonly symbol: string;
}

/** @returns undefined for what is no leg */
export function parseLeg(text: string): Leg | undefined {
  const parts = /^([A-Za-z0-9_-]{1,64})(?:\/(\d{1,3})\.(\d{1,3}))?\/([^/\s]{1,32})$/.exec(text);
  if (!parts) return undefined;
  const [, wallet = "", pdaIndex, subaccount, symbol = ""] = parts;
  const account =
    pdaIndex === undefined ? null : { pdaIndex: Number(pdaIndex), subaccount: Number(subaccount) };
  return { text, wallet, account, symbol: symbol.toUpperCase() };
}

/** True if two legs count the same position. */
export function overlap(a: Leg, b: Leg): boolean {
  if (a.wallet !== b.wallet || a.symbol !== b.symbol) return false;
  if (a.account === null || b.account === null) return true;
  return a.account.pdaIndex === b.account.pdaIndex && a.account.subaccount === b.account.subaccount;
}

/** Signed, base units; 0 for what is flat, NaN for what is not known. */
export function sizeOf(leg: Leg, world: World): number {
  let [size, gross] = [0, 0];
  for (const { ref, positions } of world.accounts.ofWallet(leg.wallet)) {
    const { account, symbol } = leg;
    if (account && (account.pdaIndex !== ref.pdaIndex || account.subaccount !== ref.subaccount)) continue;
    const held = positions.get(symbol);
    if (!held) continue;
    const units = held.node.facts.values.size;
    size += typeof units === "number" ? units : Number.NaN;
    gross += Math.abs(Number(units));
  }
  return Math.abs(size) <= negligible * gross ? 0 : size;
}

/** True if an event belongs to a leg. Some rows do not say which account they are of. */
export function concernsLeg(leg: Leg, event: Event): boolean {
  if (event.wallet !== leg.wallet || event.symbol?.toUpperCase() !== leg.symbol) return false;
  const { account } = leg;
  if (account === null) return true;
  const { pdaIndex, subaccount } = event;
  return (
    (pdaIndex === null || pdaIndex === account.pdaIndex) &&
    (subaccount === null || subaccount === account.subaccount)
  );
}
