/**
 * The order book: quotes of outsiders around the mark, the orders of accounts, and, on request, the curve of the market
 * maker. It depends only on the mark and the orders.
 */
import { type WireFor, writeAmount } from "../../../contract/index.ts";
import { timesPowerOfTen, unitsFromBaseLots } from "../../../domain/market-scale.ts";
import { priceUsd } from "../../accounts/orders.ts";
import type { Side } from "../../accounts/position.ts";
import { splineOf } from "../../ledger/program-addresses.ts";
import type { Market, World } from "../../state.ts";
import { present } from "../../world.ts";
import { executionBand } from "./calendars.ts";

const levelsASide = 20;
/** Number of levels next to the mark that the market maker's curve covers. */
const splineLevels = 10;

/** Distance between two levels of outsiders, in ticks. */
const gapOf = (market: Market): number => Math.max(1, Math.round(market.markTicks * 0.0001));
/** The volume of outsiders in a minute, lots. */
const crowdLots = ({ spec }: Market): number =>
  timesPowerOfTen(spec.crowdUnitsPerMinute, spec.baseLotsDecimals);
/** The market maker's size at each level. */
const splineLots = (market: Market): number => Math.max(1, Math.round(crowdLots(market) * 0.5));

/** @param whole also levels outside of the execution band, which exists after hours only */
export function book(world: World, market: Market, splines = false, whole = false): WireFor<"orderbook"> {
  const band = whole ? null : executionBand(market, world.nowMs);
  const within = ([ticks]: Level) => band === null || (ticks >= band.min && ticks <= band.max);
  const shown = (side: Side) =>
    levels(market, side, splines)
      .filter(within)
      .map(([ticks, lots]): [number, number] => [
        priceUsd(market, ticks),
        unitsFromBaseLots(lots, market.spec),
      ]);
  return {
    slot: present(world).slot,
    symbol: market.spec.symbol,
    bids: shown("bid"),
    asks: shown("ask"),
    mid: priceUsd(market, market.markTicks),
    ...(splines ? { splines: [spline(market)] } : {}),
  };
}

/** Price in ticks and size in base lots. */
type Level = readonly [number, number];

/** Best price first. */
function levels(market: Market, side: Side, splines: boolean): readonly Level[] {
  const direction = side === "bid" ? -1 : 1;
  const gap = gapOf(market);
  const crowd = crowdLots(market);
  const lotsAt = new Map<number, number>();
  const add = (ticks: number, lots: number) => lotsAt.set(ticks, (lotsAt.get(ticks) ?? 0) + lots);
  for (let i = 0; i < levelsASide; i++) {
    const ticks = market.markTicks + direction * gap * (i + 1);
    if (ticks < 1) break;
    add(ticks, Math.max(1, Math.round(crowd * (0.2 + 0.1 * i))));
    if (splines && i < splineLevels) add(ticks, splineLots(market));
  }
  for (const order of market.orders)
    if (order.side === side) add(order.priceTicks, Number(order.remainingLots));
  return [...lotsAt].sort(([a], [b]) => direction * (a - b));
}

function spline(market: Market) {
  const { spec, markTicks } = market;
  const size = (lots: number) => writeAmount(BigInt(lots), spec.baseLotsDecimals);
  const region = (direction: 1 | -1) => {
    const lots = splineLots(market) * splineLevels;
    const start = priceUsd(market, markTicks);
    const end = priceUsd(market, Math.max(1, markTicks + direction * gapOf(market) * splineLevels));
    return {
      start,
      end,
      density: unitsFromBaseLots(lots, spec) / Math.abs(end - start),
      totalSize: size(lots),
      filledSize: size(0),
    };
  };
  return {
    traderKey: splineOf(spec),
    midPrice: priceUsd(market, markTicks),
    bidFilledAmount: size(0),
    askFilledAmount: size(0),
    bidRegions: [region(-1)],
    askRegions: [region(1)],
  };
}
