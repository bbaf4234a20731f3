/**
 * Profit and equity over time, out of the samples that the world keeps of each account. A point tells of the end of
 * its bucket. Profit is what trades realized, before fees and funding, which stand beside it:
 *
 *   equity = deposits less withdrawals + realized + funding − fees + unrealized
 */
import type { Handlers } from "../../contract/index.ts";
import { leverageAt } from "../../risk/tiers.ts";
import { abs, divideUp, writeDecimal } from "../decimals.ts";
import { sampleOf } from "../samples.ts";
import type { Account, AccountSample, MarketTotals, World } from "../state.ts";
import { perLot } from "../trade.ts";
import { accountOf, type Context, seconds, usdOf, walletOf } from "./context.ts";

const resolutions: Readonly<Record<string, number>> = {
  "1m": 60_000,
  "5m": 300_000,
  "15m": 900_000,
  "30m": 1_800_000,
  "1h": 3_600_000,
  "4h": 14_400_000,
  "1d": 86_400_000,
  "1w": 604_800_000,
};

interface Bucket {
  readonly startMs: number;
  readonly endMs: number;
  readonly sample: AccountSample;
}

interface Window {
  readonly resolution: string;
  readonly startTime?: number | undefined;
  readonly endTime?: number | undefined;
  readonly limit: number;
  readonly includeEarliest?: boolean | undefined;
  readonly includeLatest?: boolean | undefined;
}

/** The bucket that ends at or after a moment and begins before it. */
function bucketAt(ms: number, resolution: string): { startMs: number; endMs: number } {
  if (resolution === "1M") {
    const date = new Date(ms - 1);
    const month = (more: number) => Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + more, 1);
    return { startMs: month(0), endMs: month(1) };
  }
  const length = resolutions[resolution] ?? 86_400_000;
  const startMs = Math.floor((ms - 1) / length) * length;
  return { startMs, endMs: startMs + length };
}

/** The last sample of each bucket, oldest first; the newest are kept when there are too many. */
function bucketsOf(world: World, account: Account, window: Window): Bucket[] {
  const { startTime = 0, endTime = Number.POSITIVE_INFINITY, resolution, limit } = window;
  const samples = window.includeLatest ? [...account.samples, sampleOf(world, account)] : account.samples;
  const buckets: Bucket[] = [];
  for (const [index, sample] of samples.entries()) {
    const wanted = index === 0 && window.includeEarliest === true;
    if (!wanted && (sample.atMs < startTime || sample.atMs > endTime)) continue;
    const bucket = { ...bucketAt(sample.atMs, resolution), sample };
    if (buckets.at(-1)?.startMs === bucket.startMs) buckets.pop();
    buckets.push(bucket);
  }
  return buckets.slice(-limit);
}

const times = (bucket: { startMs: number; endMs: number }) => ({
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

/** Of one account, or of all accounts of a wallet together. */
function pnl(world: World, accounts: readonly Account[], window: Window) {
  const sums = new Map<
    number,
    { bucket: Bucket; pnl: bigint; unrealized: bigint; funding: bigint; fees: bigint }
  >();
  for (const account of accounts) {
    for (const bucket of bucketsOf(world, account, window)) {
      const { sample } = bucket;
      const totals = sumTotals(sample);
      const sum = sums.get(bucket.startMs) ?? { bucket, pnl: 0n, unrealized: 0n, funding: 0n, fees: 0n };
      sum.pnl += totals.realizedPnl;
      sum.unrealized += sample.unrealizedPnl;
      sum.funding += totals.fundingSettled + sample.unsettledFunding;
      sum.fees += totals.takerFees;
      sums.set(bucket.startMs, sum);
    }
  }
  const rows = [...sums.values()].sort((a, b) => a.bucket.startMs - b.bucket.startMs).slice(-window.limit);
  return rows.map((it) => ({
    ...times(it.bucket),
    cumulativePnl: usdOf(it.pnl),
    unrealizedPnl: usdOf(it.unrealized),
    cumulativeFundingPayment: usdOf(it.funding),
    cumulativeTakerFee: usdOf(it.fees),
  }));
}

function valuePoint(world: World, bucket: Bucket) {
  const positions = bucket.sample.positions.map((it) => {
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
    value: usdOf(bucket.sample.portfolioValue),
    positions: Object.fromEntries(positions),
    spotCollaterals: null,
  };
}

function marketPoints(world: World, symbol: string, buckets: readonly Bucket[]) {
  const market = world.markets.get(symbol)!;
  let before: Readonly<MarketTotals> | undefined;
  return buckets.flatMap((bucket) => {
    const totals = bucket.sample.totals.get(symbol);
    if (!totals) return [];
    const held = bucket.sample.positions.find((it) => it.symbol === symbol);
    const quote = held?.virtualQuoteLots ?? 0n;
    const ticks = held?.markTicks ?? market.markTicks;
    const point = {
      ...times(bucket),
      realizedPnl: usdOf(totals.realizedPnl - (before?.realizedPnl ?? 0n)),
      cumulativePnl: usdOf(totals.realizedPnl),
      cumulativeFundingPayment: usdOf(totals.fundingSettled + (held?.unsettledFunding ?? 0n)),
      totalTakerFee: usdOf(totals.takerFees - (before?.takerFees ?? 0n)),
      cumulativeTakerFee: usdOf(totals.takerFees),
      unrealizedPnl: usdOf(held ? quote + held.baseLots * perLot(market, ticks) : 0n),
      baseLots: Number(held?.baseLots ?? 0n),
      virtualQuoteLots: Number(quote),
      markPrice: ticks,
    };
    before = totals;
    return [point];
  });
}

type Names = "userPnl" | "traderPnl" | "portfolioValues" | "marketPnl";

export const seriesAnswers: Pick<Handlers<Context>, Names> = {
  userPnl: (args, { world }) =>
    pnl(world, [...(walletOf(world, args.authority)?.accounts.values() ?? [])], args),
  traderPnl: (args, { world }) => pnl(world, [accountOf(world, args.traderPubkey)], args),
  portfolioValues: (args, { world }) =>
    bucketsOf(world, accountOf(world, args.traderPubkey), args).map((it) => valuePoint(world, it)),
  marketPnl: (args, { world }) => {
    const account = accountOf(world, args.traderPubkey);
    const wanted = args.symbols?.map((it) => it.toUpperCase());
    const buckets = bucketsOf(world, account, args);
    const symbols = [...account.totals.keys()].filter((it) => wanted === undefined || wanted.includes(it));
    return symbols.map((symbol) => {
      const market = world.markets.get(symbol)!;
      return {
        marketId: market.marketId,
        symbol,
        tickSize: market.spec.tickSize,
        baseDecimals: market.spec.baseLotsDecimals,
        points: marketPoints(world, symbol, buckets),
      };
    });
  },
};
