/**
 * The head of a market's account on the ledger, in bytes (little-endian):
 *
 *   discriminant 8 · status u8 · base lot decimals i8 · 6 · sequence, slot u64 · asset u32 · 4 · symbol 16 (ASCII, zeros behind it) ·
 *   tick size u64, in quote lots per base lot
 *
 * After it come fees, trades and the book, which are not parsed here.
 */
import { type MarketConfig, PROGRAM_ID } from "../contract/index.ts";
import { type Ledger, LedgerError } from "./rpc.ts";

export interface MarketAccount {
  /** Base58. */
  readonly address: string;
  readonly symbol: string;
  readonly assetId: number;
  /** Quote lots per base lot and tick. */
  readonly tickSize: number;
  readonly baseLotsDecimals: number;
}

export const marketHeadBytes = 64;

/** The first 8 bytes of SHA-256 of `account:orderbook`, hex. */
const discriminant = "410128f1a60e56bc";
/** Plausible limits: a tick of a million USD per base lot, lots of 10^-9 to 10^9 units. */
const maxTickSize = 1_000_000_000_000n;
const maxDecimals = 9;

/**
 * @param owner the program that owns the account
 * @param data the account's first bytes, at least 64
 * @throws {LedgerError} when the account is not a market of the exchange
 */
export function readMarketAccount(
  address: string,
  { owner, data }: { readonly owner: string; readonly data: Uint8Array },
): MarketAccount {
  const refusal = (why: string) => new LedgerError(`ledger: ${address} is no market of the exchange: ${why}`);
  if (owner !== PROGRAM_ID) throw refusal(`it belongs to ${owner}`);
  if (data.length < marketHeadBytes) throw refusal(`it has ${data.length} bytes`);
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.length);
  if (bytes.toString("hex", 0, 8) !== discriminant)
    throw refusal("its data are those of another kind of account");
  const [symbol = ""] = /^[\x21-\x7e]+(?=\0*$)/.exec(bytes.toString("latin1", 40, 56)) ?? [];
  if (symbol === "") throw refusal("it names no symbol");
  const tickSize = bytes.readBigUInt64LE(56);
  const baseLotsDecimals = bytes.readInt8(9);
  if (tickSize < 1n || tickSize > maxTickSize) throw refusal(`its tick size is ${tickSize}`);
  if (Math.abs(baseLotsDecimals) > maxDecimals)
    throw refusal(`its base lot decimals are ${baseLotsDecimals}`);
  return { address, symbol, assetId: bytes.readUInt32LE(32), tickSize: Number(tickSize), baseLotsDecimals };
}

/**
 * Reads a market's account from the ledger and compares it with the exchange's configuration of the market.
 * @returns the account, and the differences, each with both values
 * @throws {LedgerError} when the ledger cannot be read, or the account is not a market
 */
export async function compareMarket(
  ledger: Ledger,
  stated: MarketConfig,
): Promise<{ readonly account: MarketAccount; readonly differences: readonly string[] }> {
  const found = await ledger.accountHead(stated.marketPubkey, marketHeadBytes);
  if (found === null) throw new LedgerError(`ledger: there is no account ${stated.marketPubkey}`);
  const account = readMarketAccount(stated.marketPubkey, found);
  const pairs = [
    ["symbol", stated.symbol.toUpperCase(), account.symbol.toUpperCase()],
    ["asset", stated.assetId, account.assetId],
    ["tick size", stated.tickSize, account.tickSize],
    ["number of base lot decimals", stated.baseLotsDecimals, account.baseLotsDecimals],
  ] as const;
  const differences = pairs
    .filter(([, one, other]) => one !== other)
    .map(
      ([name, one, other]) =>
        `the ${name} of ${stated.symbol} is ${one} by the exchange and ${other} by the ledger`,
    );
  return { account, differences };
}
