/** Accounts that the exchange's program derives. Readers derive them too and compare, so the simulator may not invent them. */
import { PROGRAM_ID } from "../contract/index.ts";
import { addressBytes, programAddress } from "../wallet/address.ts";
import type { MarketSpec } from "./markets.ts";

/** The account of a name and the keys that it belongs to. */
export const derivedAddress = (name: string, ...keys: string[]): string =>
  programAddress([new TextEncoder().encode(name), ...keys.map(addressBytes)], PROGRAM_ID);

const splines = new Map<string, string>();

/** The account in which the market maker of a market keeps its curve. */
export function splineOf({ marketPubkey }: MarketSpec): string {
  const address = splines.get(marketPubkey) ?? derivedAddress("spline", marketPubkey);
  splines.set(marketPubkey, address);
  return address;
}
