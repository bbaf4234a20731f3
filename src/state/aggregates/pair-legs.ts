/** The legs of a declared hedge: parsing, size, and the events that concern them. */
import type { Event } from "../../domain/event.ts";
import type { World } from "../world.ts";

/** Default of the naked share of the largest leg up to which a pair counts as whole. */
export const usualTolerance = 0.02;

/** Sizes are sums of doubles: a share of the sum below this is rounding error. */
export const negligible = 1e-9;

export interface Leg {
  /** As written in the configuration: `main/SOL`, `main/0.1/SOL`. */
  readonly text: string;
  readonly wallet: string;
  /** Null: all accounts of the wallet. */
  readonly account: { readonly pdaIndex: number; readonly subaccount: number } | null;
  readonly symbol: string;
}

/** @returns undefined if the text is not a leg */
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

/** Signed, base units; 0: no position, NaN: not known. */
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

/** True if an event belongs to a leg. Some rows do not name their account. */
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
