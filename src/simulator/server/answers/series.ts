/**
 * Profit and equity over time, from the accounts' past versions (accounts/history.ts). A point has the values at the end
 * of its bucket, or the present ones if the bucket is not complete. Profit is the realized profit of trades before fees
 * and funding, which have their own fields:
 *
 *   equity = deposits less withdrawals + realized + funding − fees + unrealized
 */
import type { Handlers } from "../../../contract/index.ts";
import { leverageAt } from "../../../margin/tiers.ts";
import { firstKnownMs, momentAt, sampleAt } from "../../accounts/history.ts";
import type { AccountSample, MarketTotals } from "../../accounts/position.ts";
import { perLot } from "../../accounts/trade.ts";
import { abs, divideUp, writeDecimal } from "../../decimals.ts";
import type { Account, World } from "../../state.ts";
import { type Bucket, bucketsOf, type Window } from "./buckets.ts";
import { accountOf, type Context, seconds, usdOf, walletOf } from "./context.ts";

/** Buckets in which one of the accounts existed; none without an account. */
function existingBuckets(world: World, accounts: readonly Account[], window: Window): Bucket[] {
  if (accounts.length === 0) return [];
  return bucketsOf(window, Math.min(...accounts.map((it) => firstKnownMs(world, it))), world.nowMs).buckets;
}

const times = (bucket: Bucket) => ({
  timestamp: seconds(bucket.startMs),
  startTime: seconds(bucket.startMs),
  endTime: seconds(bucket.endMs),
});

function sumTotals(sample: AccountSample): MarketTotals {
  const sum = { realizedPnl: 0n, fundingSettled: 0n, takerFees: 0n, makerFees: 0n };
  for (const totals of sample.totals.values()) {
    sum.realizedPnl += totals.realizedPnl;
    sum.fundingSettled += totals.fundingSettled;
    sum.takerFees += totals.takerFees;
    sum.makerFees += totals.makerFees;
  }
  return sum;
}

/** The profit of one account, or the sum over a wallet's accounts. */
function pnl(world: World, accounts: readonly Account[], window: Window) {
  return existingBuckets(world, accounts, window).map((bucket) => {
    const sum = { pnl: 0n, unrealized: 0n, funding: 0n, fees: 0n };
    for (const account of accounts) {
      const sample = sampleAt(world, account, bucket.atMs);
      if (!sample) continue;
      const totals = sumTotals(sample);
      sum.pnl += totals.realizedPnl;
      sum.unrealized += sample.unrealizedPnl;
      sum.funding += totals.fundingSettled + sample.unsettledFunding;
      sum.fees += totals.takerFees;
    }
    return {
      ...times(bucket),
      cumulativePnl: usdOf(sum.pnl),
      unrealizedPnl: usdOf(sum.unrealized),
      cumulativeFundingPayment: usdOf(sum.funding),
      cumulativeTakerFee: usdOf(sum.fees),
    };
  });
}

function valuePoint(world: World, bucket: Bucket, sample: AccountSample) {
  const positions = sample.positions.map((it) => {
    const market = world.markets.get(it.symbol)!;
    const value = it.baseLots * perLot(market, it.markTicks);
    const leverage = BigInt(leverageAt(market.risk.leverageTiers, abs(it.baseLots)));
    return [
      it.symbol,
      {
        baseLots: it.baseLots.toString(),
        quoteLots: it.virtualQuoteLots.toString(),
        positionValue: writeDecimal(value, 6),
        initialMargin: writeDecimal(divideUp(abs(value), leverage), 6),
      },
    ] as const;
  });
  return {
    ...times(bucket),
    value: usdOf(sample.portfolioValue),
    positions: Object.fromEntries(positions),
    spotCollaterals: null,
  };
}

function marketPoints(world: World, account: Account, symbol: string, buckets: readonly Bucket[]) {
  const market = world.markets.get(symbol)!;
  const none: MarketTotals = { realizedPnl: 0n, fundingSettled: 0n, takerFees: 0n, makerFees: 0n };
  const first = buckets[0];
  let before = (first && sampleAt(world, account, first.startMs)?.totals.get(symbol)) ?? none;
  return buckets.flatMap((bucket) => {
    const sample = sampleAt(world, account, bucket.atMs);
    const totals = sample?.totals.get(symbol);
    if (!sample || !totals) return [];
    const held = sample.positions.find((it) => it.symbol === symbol);
    const quote = held?.virtualQuoteLots ?? 0n;
    const { markTicks } = momentAt(world, market, bucket.atMs);
    const point = {
      ...times(bucket),
      realizedPnl: usdOf(totals.realizedPnl - before.realizedPnl),
      cumulativePnl: usdOf(totals.realizedPnl),
      cumulativeFundingPayment: usdOf(totals.fundingSettled + (held?.unsettledFunding ?? 0n)),
      totalTakerFee: usdOf(totals.takerFees - before.takerFees),
      cumulativeTakerFee: usdOf(totals.takerFees),
      unrealizedPnl: usdOf(held ? quote + held.baseLots * perLot(market, markTicks) : 0n),
      baseLots: Number(held?.baseLots ?? 0n),
      virtualQuoteLots: Number(quote),
      markPrice: markTicks,
    };
    before = totals;
    return [point];
  });
}

export const seriesAnswers = {
  userPnl: (args, { world }) =>
    pnl(world, [...(walletOf(world, args.authority)?.accounts.values() ?? [])], args),
  traderPnl: (args, { world }) => pnl(world, [accountOf(world, args.traderPubkey)], args),
  portfolioValues: (args, { world }) => {
    const account = accountOf(world, args.traderPubkey);
    return existingBuckets(world, [account], args).flatMap((bucket) => {
      const sample = sampleAt(world, account, bucket.atMs);
      return sample ? [valuePoint(world, bucket, sample)] : [];
    });
  },
  marketPnl: (args, { world }) => {
    const account = accountOf(world, args.traderPubkey);
    const wanted = args.symbols?.map((it) => it.toUpperCase());
    const buckets = existingBuckets(world, [account], args);
    const symbols = [...account.totals.keys()].filter((it) => wanted === undefined || wanted.includes(it));
    return symbols.map((symbol) => {
      const market = world.markets.get(symbol)!;
      return {
        marketId: market.marketId,
        symbol,
        tickSize: market.spec.tickSize,
        baseDecimals: market.spec.baseLotsDecimals,
        points: marketPoints(world, account, symbol, buckets),
      };
    });
  },
} satisfies Partial<Handlers<Context>>;
