/**
 * The head of a market's account on the ledger, in bytes (little-endian). The book after it is left out:
 *
 *   discriminant 8 · status u8 · base lot decimals i8 · 6 · sequence, slot u64 · asset u32 · 4 · symbol 16 · tick size u64 ·
 *   order sequence, slot u64 · trade sequence, slot u64 · taker fee u32 · maker fee i32, millionths · maker fees i64, taker fees u64 ·
 *   256 · 64 trades: first u32, count u32, 64 × 80
 */
import { createHash } from "node:crypto";
import type { Market, World } from "../state.ts";
import { slotOf } from "./ledger.ts";

const discriminant = createHash("sha256").update("account:orderbook").digest().subarray(0, 8);
const headBytes = 8 + 104 + 16 + 256 + 8 + 64 * 80;
const statuses: readonly string[] = ["uninitialized", "active", "postOnly", "paused", "closed", "tombstoned"];

export function marketAccountData(world: World, { spec, status, tickSize }: Market): Buffer {
  const data = Buffer.alloc(headBytes);
  data.set(discriminant, 0);
  data.writeUInt8(Math.max(0, statuses.indexOf(status)), 8);
  data.writeInt8(spec.baseLotsDecimals, 9);
  const slot = BigInt(slotOf(world));
  for (const at of [24, 72, 88]) data.writeBigUInt64LE(slot, at);
  data.writeUInt32LE(spec.assetId, 32);
  data.write(spec.symbol.slice(0, 16), 40, "latin1");
  data.writeBigUInt64LE(tickSize, 56);
  data.writeUInt32LE(Number(spec.takerFeeMillionths), 96);
  data.writeInt32LE(Number(spec.makerFeeMillionths), 100);
  return data;
}
