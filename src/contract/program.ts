/** Constants of the exchange on the ledger, and its units. */

/** The program that owns trader accounts (also `programId` of the exchange snapshot). */
export const PROGRAM_ID = "EtrnLzgbS7nMMy5fbD42kXiUzGg8XQzJ972Xtk1cjWih";
/** All-ones key; stands for an authority that is not set. */
export const SYSTEM_KEY = "11111111111111111111111111111111";
/** First seed of a trader account's address; authority, PDA index and subaccount index follow. */
export const TRADER_SEED = "trader";

/** A quote lot is one micro-dollar (10^-6 USDC). */
export const QUOTE_DECIMALS = 6;
export const QUOTE_LOTS_PER_USD = 1_000_000n;
/** Subaccount 0 holds cross margin, those above are isolated. */
export const CROSS_SUBACCOUNT = 0;
export const MAX_SUBACCOUNT = 100;
export const MAX_POSITIONS = 128;
export const MIN_MAX_POSITIONS = 32;
/** Funding accrues and leads to a rate by these periods unless the market says otherwise. */
export const FUNDING_INTERVAL_SECONDS = 3600;

/** USD price of a number of ticks: ticks × tickSize × 10^baseLotsDecimals / 10^6. */
export function priceUsd(ticks: bigint | number, tickSize: number, baseLotsDecimals: number): number {
  return (Number(ticks) * tickSize * 10 ** baseLotsDecimals) / 10 ** QUOTE_DECIMALS;
}

/** Base units of a number of base lots. */
export function baseUnits(baseLots: bigint | number, baseLotsDecimals: number): number {
  return Number(baseLots) / 10 ** baseLotsDecimals;
}

/** USD of a number of quote lots. */
export function quoteUsd(quoteLots: bigint | number): number {
  return Number(quoteLots) / 10 ** QUOTE_DECIMALS;
}
