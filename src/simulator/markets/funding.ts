/**
 * Funding. At the end of each interval every base lot of a long pays a whole number of quote lots to every base lot of
 * a short (or the other way round), so payments and receipts are exactly equal. It is accrued first, and moves into
 * collateral when a position changes or the funding period ends.
 */

import { perLot, settleFunding } from "../accounts/trade.ts";
import { writeDecimal } from "../decimals.ts";
import { transact } from "../ledger/transaction.ts";
import type { FundingRate, Market, World } from "../state.ts";
import { fundingIntervalMs, fundingPeriodMs } from "./markets.ts";

const maxRates = 9_000;

/** Adds the present distance of the mark from the oracle; the mean over the interval determines the rate. */
export function samplePremium(market: Market): void {
  market.premiumSum += market.markTicks / market.oracleTicks - 1;
  market.premiumCount += 1;
}

/** The payment of a base lot for the present interval, as a fraction of the mark. */
export function currentRate(market: Market): number {
  return market.pinnedRate ?? rateOf(market);
}

function rateOf(market: Market): number {
  const premium = market.premiumCount === 0 ? 0 : market.premiumSum / market.premiumCount;
  const cap = market.spec.maxFundingRatePerIntervalPercentage / 100;
  return Math.max(-cap, Math.min(cap, premium * (fundingIntervalMs / fundingPeriodMs)));
}

/** Accrues funding at the end of an interval, at the world's present time. */
export function accrueFunding(world: World, market: Market): void {
  const markPerLot = perLot(market, market.markTicks);
  const paid = BigInt(Math.round(currentRate(market) * Number(markPerLot)));
  market.premiumSum = 0;
  market.premiumCount = 0;
  const rate: FundingRate = { atMs: world.nowMs, perLot: paid, markPerLot };
  market.rates.push(rate);
  if (market.rates.length > maxRates) market.rates.shift();
  market.fundingIndex += paid;
  const symbol = market.spec.symbol;
  const periodEnds = world.nowMs % fundingPeriodMs === 0;
  const ratePercentage = percentageOf(rate);
  transact(world, (tx) => {
    for (const account of market.holders) {
      const position = account.positions.get(symbol);
      if (!position) continue;
      tx.touch(account).positions.add(symbol);
      account.wallet.funding.push({
        account,
        symbol,
        atMs: world.nowMs,
        payment: -paid * position.baseLots,
        ratePercentage,
        baseLots: position.baseLots,
      });
      if (periodEnds) settleFunding(tx, market, account);
    }
  });
}

/** Percent of notional, nine digits: "0.001900000". */
export function percentageOf(rate: FundingRate): string {
  const billionths = (rate.perLot * 100_000_000_000n) / rate.markPerLot;
  return writeDecimal(billionths, 9);
}

export function fractionOf(rate: FundingRate): number {
  return Number(rate.perLot) / Number(rate.markPerLot);
}
