/**
 * Random prices. The oracle price is a random walk; the book and other exchanges have a small distance from it, which
 * decays; the mark is the median of the three, as at the exchange. No logarithms or exponentials, because only basic
 * operations round equally on every machine.
 */
import type { Random } from "../../domain/clock.ts";
import { baseLotsFromUnits } from "../../margin/units.ts";
import type { Bar, Market, World } from "../state.ts";
import { slotAt } from "../time.ts";

const yearMs = 365 * 86_400_000;
export const barMs = 60_000;
const maxBars = 11_000;
const fineBarMs = 1_000;
const maxFineBars = 10_800;
/** Half-life of a basis, ms. */
const basisHalfMs = 1_800_000;
const basisDeviation = 0.0006;

/** @returns true if the mark moved */
export function walkPrices(world: World, market: Market, stepMs: number): boolean {
  if (market.held) return false;
  const share = Math.sqrt(stepMs / yearMs) * market.spec.yearlyVolatility;
  market.oracle = Math.max(1, market.oracle * (1 + share * normalRandom(world.random)));
  const pull = Math.min(1, stepMs / basisHalfMs);
  const shake = basisDeviation * Math.sqrt(2 * pull);
  market.bookBasis += -pull * market.bookBasis + shake * normalRandom(world.random);
  market.perpBasis += -pull * market.perpBasis + shake * normalRandom(world.random);
  market.oracleTicks = Math.max(1, Math.round(market.oracle));
  const before = market.markTicks;
  const mark = median(
    market.oracle,
    market.oracle * (1 + market.bookBasis),
    market.oracle * (1 + market.perpBasis),
  );
  setMark(world, market, Math.max(1, Math.round(mark)));
  return market.markTicks !== before;
}

export function setMark(world: World, market: Market, ticks: number): void {
  market.markTicks = ticks;
  world.marks.set(market.spec.symbol, ticks);
  for (const bar of barsAt(market, world.nowMs)) {
    bar.high = Math.max(bar.high, ticks);
    bar.low = Math.min(bar.low, ticks);
    bar.close = ticks;
    bar.oracle = market.oracleTicks;
  }
}

/** The minute and second bars of a time, created if missing. */
export function barsAt(market: Market, nowMs: number): readonly [Bar, Bar] {
  return [
    barAt(market, market.bars, barMs, maxBars, nowMs),
    barAt(market, market.fineBars, fineBarMs, maxFineBars, nowMs),
  ];
}

/**
 * Adds a trade to the bars of its time.
 * @param value quote lots
 */
export function recordTrade(market: Market, nowMs: number, lots: bigint, value: bigint): void {
  for (const bar of barsAt(market, nowMs)) {
    bar.volumeLots += lots;
    bar.volumeQuoteLots += value;
    bar.trades += 1;
    bar.makerFees = market.makerFees;
    bar.takerFees = market.takerFees;
    bar.openInterestLots = market.openInterestLots;
  }
}

function barAt(market: Market, bars: Bar[], lengthMs: number, most: number, nowMs: number): Bar {
  const startMs = nowMs - (nowMs % lengthMs);
  const last = bars.at(-1);
  if (last && last.startMs === startMs) return last;
  const bar: Bar = {
    startMs,
    open: last?.close ?? market.markTicks,
    high: market.markTicks,
    low: market.markTicks,
    close: market.markTicks,
    oracle: market.oracleTicks,
    volumeLots: 0n,
    volumeQuoteLots: 0n,
    trades: 0,
    openInterestLots: market.openInterestLots,
    makerFees: market.makerFees,
    takerFees: market.takerFees,
  };
  bars.push(bar);
  if (bars.length > most) bars.splice(0, bars.length - most + 1_000);
  return bar;
}

/** Trades among outsiders: fills and volume without accounts. */
export function tradeOutsiders(world: World, market: Market, stepMs: number): void {
  const units = market.spec.crowdUnitsPerMinute * (stepMs / barMs) * 2 * world.random();
  const buys = world.random() < 0.5;
  const lots = BigInt(baseLotsFromUnits(units, market.spec));
  if (lots === 0n) return;
  const quote = lots * BigInt(market.markTicks) * market.tickSize;
  recordTrade(market, world.nowMs, lots, quote);
  market.fills.push({
    slot: slotAt(world.nowMs),
    // A place that no transaction of the accounts uses.
    slotIndex: 100_000 + market.spec.assetId,
    eventIndex: 0,
    instructionIndex: 0,
    atMs: world.nowMs,
    baseLots: buys ? lots : -lots,
    quoteLots: buys ? -quote : quote,
    instructionType: "PlaceMarketOrder",
  });
}

/** Approximately normal: mean 0, deviation 1. */
function normalRandom(random: Random): number {
  let sum = 0;
  for (let i = 0; i < 6; i++) sum += random();
  return (sum - 3) * Math.SQRT2;
}

function median(a: number, b: number, c: number): number {
  return Math.max(Math.min(a, b), Math.min(Math.max(a, b), c));
}
