/**
 * A trader account on the ledger, in bytes (little-endian): a head of 240 bytes, then one entry of 40 bytes for each
 * position.
 *
 *   discriminant 8 · sequence, slot u64 · key 32 · authority 32 · collateral i64 · flags u32 · 8 · u32 · maxPositions u32 ·
 *   preferences u32 · position authority 32 · u16 · PDA index u8 · subaccount u8 · funding key 32 · 4 · deposit slot u64 ·
 *   24 · count u64 · room u64 · entries: asset u64 · base lots, quote lots, funding index i64 · sequence u8 · funding i56
 */
import { createHash } from "node:crypto";
import { addressBytes } from "../../wallet/address.ts";
import { rightFlags } from "../accounts/rights.ts";
import type { Account, World } from "../state.ts";
import { slotOf, traderAccountBytes } from "./ledger.ts";

const discriminant = createHash("sha256").update("account:trader").digest().subarray(0, 8);
const headBytes = 240;
const entryBytes = 40;

export function traderAccountData(world: World, account: Account): Buffer {
  const data = Buffer.alloc(traderAccountBytes(account.maxPositions));
  const authority = addressBytes(account.wallet.authority);
  data.set(discriminant, 0);
  data.writeBigUInt64LE(BigInt(account.sequence), 8);
  data.writeBigUInt64LE(BigInt(slotOf(world)), 16);
  data.set(addressBytes(account.address), 24);
  data.set(authority, 56);
  data.writeBigInt64LE(account.collateral, 88);
  data.writeUInt32LE(rightFlags(account), 96);
  data.writeUInt32LE(account.maxPositions, 112);
  data.set(authority, 120);
  data.set([account.pdaIndex, account.subaccount], 154);
  data.set(authority, 156);
  data.writeBigUInt64LE(BigInt(account.lastDepositSlot), 192);
  data.writeBigUInt64LE(BigInt(account.positions.size), 224);
  data.writeBigUInt64LE(BigInt(account.maxPositions), 232);
  let at = headBytes;
  for (const [symbol, position] of account.positions) {
    data.writeBigUInt64LE(BigInt(world.markets.get(symbol)!.spec.assetId), at);
    data.writeBigInt64LE(position.baseLots, at + 8);
    data.writeBigInt64LE(position.virtualQuoteLots, at + 16);
    data.writeBigInt64LE(position.fundingIndex, at + 24);
    // The lowest byte is the sequence, the other seven are the funding.
    const sequence = BigInt(position.sequence & 0xff);
    data.writeBigInt64LE(BigInt.asIntN(64, (position.accumulatedFunding << 8n) | sequence), at + 32);
    at += entryBytes;
  }
  return data;
}
