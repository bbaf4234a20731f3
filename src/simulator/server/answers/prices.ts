/** Stream messages about markets and the exchange. */
import type { MessageWireFor } from "../../../contract/index.ts";
import { priceUsd } from "../../accounts/orders.ts";
import { currentRate } from "../../markets/funding.ts";
import type { Market, World } from "../../state.ts";
import { present } from "../../world.ts";
import { iso, seconds } from "./context.ts";
import { candleNow, latestStats } from "./market.ts";
import { book } from "./orderbook.ts";

export type PriceChannel = "markPrice" | "fundingRate" | "marketStats" | "market";

export function marketMessage(world: World, channel: PriceChannel, market: Market): object {
  const { symbol } = market.spec;
  if (channel === "markPrice") {
    return { channel, symbol, ...present(world), markPrice: priceUsd(market, market.markTicks) };
  }
  if (channel === "fundingRate") return { channel, symbol, funding: currentRate(market) };
  if (channel === "market") {
    const it = latestStats(world, market);
    const short: MessageWireFor<"market"> = {
      symbol,
      openInterest: it.open_interest,
      markPx: it.mark_price,
      midPx: priceUsd(market, market.markTicks),
      oraclePx: it.oracle_price,
      prevDayPx: it.prev_day_mark_price,
      dayNtlVlm: it.day_volume_usd,
      funding: currentRate(market),
    };
    return { channel, ...short };
  }
  return { channel, ...statsRow(world, market) };
}

/** Rows of one message, of the given markets or of all. */
export function statsV2Message(world: World, symbols?: readonly string[]): object {
  const wanted = symbols?.map((symbol) => symbol.toUpperCase());
  const stats = [...world.markets.values()]
    .filter(({ spec }) => wanted === undefined || wanted.includes(spec.symbol))
    .map((market) => ({ ...statsRow(world, market), midPrice: priceUsd(market, market.markTicks) }));
  const message: MessageWireFor<"marketStatsV2"> = { stats };
  return { channel: "marketStatsV2", ...message };
}

function statsRow(world: World, market: Market): MessageWireFor<"marketStats"> {
  const it = latestStats(world, market);
  return {
    symbol: market.spec.symbol,
    timestamp: seconds(world.nowMs),
    openInterest: it.open_interest,
    markPrice: it.mark_price,
    oraclePrice: it.oracle_price,
    prevDayMarkPrice: it.prev_day_mark_price,
    dayVolumeUsd: it.day_volume_usd,
    dayVolumeBase: it.day_volume_base,
    currentFundingRate: it.current_funding_rate,
    eightHourFundingRate: it.eight_hour_funding_rate,
    annualizedFundingRate: it.annualized_funding_rate,
  };
}

export function mids(world: World): object {
  const all = [...world.markets.values()].map((it) => [it.spec.symbol, priceUsd(it, it.markTicks)] as const);
  const message: MessageWireFor<"allMids"> = { mids: Object.fromEntries(all), ...present(world) };
  return { channel: "allMids", ...message };
}

/** Null: there was no trade in this candle yet. */
export function candleMessage(world: World, market: Market, timeframe: string): object | null {
  const now = candleNow(market, timeframe, world.nowMs);
  if (now === null) return null;
  const message: MessageWireFor<"candles"> = {
    symbol: market.spec.symbol,
    timeframe,
    candle: { ...now, time: seconds(now.time) },
  };
  return { channel: "candle", ...message };
}

export type BookChannel = "orderbook" | "l2Book";

export function bookMessage(
  world: World,
  channel: BookChannel,
  market: Market,
  bypassExecutionBand: boolean,
): object {
  const { slot, bids, asks, mid } = book(world, market, false, bypassExecutionBand);
  if (channel === "l2Book") {
    const message: MessageWireFor<"l2Book"> = {
      coin: market.spec.symbol,
      // The SDK reads seconds here by default; the contract states no unit.
      timestamp: seconds(world.nowMs),
      slot,
      bids: bids ?? [],
      asks: asks ?? [],
      ...(bypassExecutionBand ? { bypassExecutionBand } : {}),
    };
    return { channel, ...message };
  }
  const message: MessageWireFor<"orderbook"> = {
    symbol: market.spec.symbol,
    orderbook: { bids: bids ?? [], asks: asks ?? [], mid: mid ?? null },
    ...(bypassExecutionBand ? { bypassExecutionBand } : {}),
  };
  return { channel, ...message };
}

export function statusMessage(world: World, id: string, previous: World["exchange"]): object {
  const message: MessageWireFor<"exchangeStatus"> = {
    id,
    notificationType: "exchange_status_changed",
    data: {
      exchangeStatusBits: bits(world.exchange),
      previousExchangeStatusBits: bits(previous),
      ...world.exchange,
      authority: world.house.wallet.authority,
    },
    isRead: false,
    createdAt: iso(world.nowMs),
    traderId: null,
    readAt: null,
  };
  return { channel: "exchangeStatus", ...message };
}

/** Bit 7 initialized, bit 0 active, bit 1 gated. */
export const bits = (status: { readonly active: boolean; readonly gated: boolean }): number =>
  128 + (status.active ? 1 : 0) + (status.gated ? 2 : 0);
