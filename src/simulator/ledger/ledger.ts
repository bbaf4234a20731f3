/**
 * The simulated ledger, as far as onboarding needs it: blockhashes that are valid for 150 slots, executed transactions,
 * and balances that pay for them. The exchange's own accounts are in the world.
 */

import { createHash } from "node:crypto";
import { base58 } from "@scure/base";
import { addressBytes } from "../../wallet/address.ts";
import { isOnCurve } from "../../wallet/ed25519.ts";
import { WalletKey } from "../../wallet/wallet-key.ts";
import type { World } from "../state.ts";
import { slotAt } from "../time.ts";
import type { Ledger } from "./state.ts";

/** Number of slots for which a blockhash is valid. */
export const blockhashLifeSlots = 150;
export const lamportsPerSignature = 5_000n;
/** Initial balance of every key: ten SOL. */
const initialLamports = 10_000_000_000n;
const maxTransactions = 10_000;
/** Slots without a block since the beginning: block height is lower than the slot by this number. */
const skippedSlots = 21_000_000;

export function createLedger(seed: number): Ledger {
  const secret = createHash("sha256").update(`perpwatch simulator onboarder ${seed}`).digest();
  return { onboarder: WalletKey.fromSeed(secret), transactions: new Map(), lamports: new Map() };
}

const hashOf = (world: World, slot: number): Buffer =>
  createHash("sha256").update(`simulator block ${world.seed} ${slot}`).digest();

export const slotOf = (world: World): number => slotAt(world.nowMs);
export const heightOf = (world: World): number => slotOf(world) - skippedSlots;

export function latestBlockhash(world: World) {
  return {
    blockhash: base58.encode(hashOf(world, slotOf(world))),
    lastValidBlockHeight: heightOf(world) + blockhashLifeSlots,
  };
}

/** Returns true if a transaction with this blockhash can be executed now. */
export function isRecent(world: World, blockhash: string): boolean {
  let bytes: Uint8Array;
  try {
    bytes = addressBytes(blockhash);
  } catch {
    return false;
  }
  const now = slotOf(world);
  for (let slot = now; slot >= now - blockhashLifeSlots; slot -= 1) {
    if (hashOf(world, slot).equals(bytes)) return true;
  }
  return false;
}

export function lamportsOf(world: World, address: string): bigint {
  const known = world.ledger.lamports.get(address);
  if (known !== undefined) return known;
  // Derived addresses have only what was paid to them.
  return isOnCurve(addressBytes(address)) ? initialLamports : 0n;
}

export function move(world: World, address: string, amount: bigint): void {
  world.ledger.lamports.set(address, lamportsOf(world, address) + amount);
}

export function keepTransaction(world: World, signature: string, error: unknown): void {
  const { transactions } = world.ledger;
  transactions.set(signature, { slot: slotOf(world), error });
  const oldest = transactions.size > maxTransactions ? transactions.keys().next().value : undefined;
  if (oldest !== undefined) transactions.delete(oldest);
}

/** The minimum balance of an account of this many bytes. */
export const rentOf = (bytes: number): bigint => BigInt(128 + bytes) * 6_960n;
/** See trader-account.ts. */
export const traderAccountBytes = (maxPositions: number): number => 240 + 40 * maxPositions;
export const stopLossAccountBytes = 224;
