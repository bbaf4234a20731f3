/** Accounts that the exchange's program derives. Clients derive them too and compare, so they have to be correct. */
import { PROGRAM_ID } from "../../contract/index.ts";
import { addressBytes, programAddress } from "../../wallet/address.ts";
import type { MarketSpec } from "../markets/markets.ts";

/** The account derived from a name and keys. */
export const derivedAddress = (name: string, ...keys: string[]): string =>
  programAddress([new TextEncoder().encode(name), ...keys.map(addressBytes)], PROGRAM_ID);

const splines = new Map<string, string>();

/** The account of the market maker's curve in a market. */
export function splineOf({ marketPubkey }: MarketSpec): string {
  const address = splines.get(marketPubkey) ?? derivedAddress("spline", marketPubkey);
  splines.set(marketPubkey, address);
  return address;
}
