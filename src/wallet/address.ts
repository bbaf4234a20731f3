/** Base58 addresses, and trader account addresses, which are derived from the wallet's address and not configured. */

import { createHash } from "node:crypto";
import { base58 } from "@scure/base";
import { FewMap } from "../domain/structures/few-map.ts";
import { isOnCurve } from "./ed25519.ts";

/** The exchange's program, as stated by its snapshot; a simulated exchange may have another. */
export const exchangeProgram = "EtrnLzgbS7nMMy5fbD42kXiUzGg8XQzJ972Xtk1cjWih";

/** Thrown if a text is not base58 of 32 bytes. */
export class BadAddress extends Error {
  override readonly name = "BadAddress";
}

/** @throws {BadAddress} unless `text` is base58 of exactly 32 bytes */
export function addressBytes(text: string): Uint8Array {
  let bytes: Uint8Array | undefined;
  // Longer texts cannot be 32 bytes, and base58 decoding takes quadratic time.
  if (text.length <= 44) {
    try {
      bytes = base58.decode(text);
    } catch {
      bytes = undefined;
    }
  }
  // The text is not quoted; it may be a misplaced secret.
  if (bytes?.length !== 32) throw new BadAddress("not an address: base58 of 32 bytes is expected");
  return bytes;
}

export function isAddress(text: string): boolean {
  try {
    addressBytes(text);
    return true;
  } catch {
    return false;
  }
}

export function addressOf(bytes: Uint8Array): string {
  return base58.encode(bytes);
}

/** A trader account of a wallet: subaccount 0 is cross margin, higher ones are isolated. */
export interface TraderIndex {
  readonly pdaIndex: number;
  readonly subaccount: number;
}

/** By program, authority (a string that its wallet holds anyway), and both indices as one number. */
const derivedAddresses = new Map<string, Map<string, FewMap<number, string>>>();
let derivedCount = 0;
/** A derivation takes some tenths of a millisecond; 5,000 wallets with a few accounts each fit. */
const maxDerived = 50_000;

/**
 * The address of a trader account.
 * @throws {BadAddress} if authority or program is not an address
 * @throws {RangeError} if an index is not one byte
 */
export function traderAddress(authority: string, index: TraderIndex, program = exchangeProgram): string {
  const pdaIndex = byte(index.pdaIndex, "PDA index");
  const subaccount = byte(index.subaccount, "subaccount index");
  const key = pdaIndex * 256 + subaccount;
  const known = derivedAddresses.get(program)?.get(authority)?.get(key);
  if (known !== undefined) return known;
  const found = programAddress(
    [
      new TextEncoder().encode("trader"),
      addressBytes(authority),
      Uint8Array.of(pdaIndex),
      Uint8Array.of(subaccount),
    ],
    program,
  );
  if (derivedCount++ >= maxDerived) {
    derivedAddresses.clear();
    derivedCount = 1;
  }
  const ofProgram = derivedAddresses.get(program) ?? new Map<string, FewMap<number, string>>();
  derivedAddresses.set(program, ofProgram);
  ofProgram.set(authority, (ofProgram.get(authority) ?? new FewMap<number, string>()).set(key, found));
  return found;
}

/** The log authority of the exchange's program, which onboarding instructions name. */
export function logAuthority(program = exchangeProgram): string {
  return programAddress([new TextEncoder().encode("log")], program);
}

/** The address of the stop loss account of a trader account in a market. @throws {BadAddress} @throws {RangeError} */
export function stopLossAddress(traderAccount: string, assetId: number, program = exchangeProgram): string {
  const asset = new Uint8Array(8);
  new DataView(asset.buffer).setBigUint64(0, BigInt(assetId), true);
  return programAddress([new TextEncoder().encode("stoploss"), addressBytes(traderAccount), asset], program);
}

/**
 * A program-derived address: the first hash over seeds and a bump byte, from 255 downward, that is not a point of the
 * curve.
 */
export function programAddress(seeds: readonly Uint8Array[], program: string): string {
  const owner = addressBytes(program);
  for (let bump = 255; bump >= 0; bump -= 1) {
    const hash = createHash("sha256");
    for (const seed of seeds) hash.update(seed);
    const bytes = hash.update(Uint8Array.of(bump)).update(owner).update("ProgramDerivedAddress").digest();
    if (!isOnCurve(bytes)) return addressOf(bytes);
  }
  throw new Error("no program-derived address exists for these seeds");
}

function byte(value: number, what: string): number {
  if (!Number.isInteger(value) || value < 0 || value > 255) throw new RangeError(`${what} must be 0 to 255`);
  return value;
}
