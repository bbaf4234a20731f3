/** News of markets and of the exchange on the stream: whatever changed since the last time, to whom it concerns. */
import { TIMEFRAMES } from "../../contract/stream/stream-messages.ts";
import { currentRate } from "../markets/funding.ts";
import { publicFill, publicTrade } from "../server/answers/history.ts";
import {
  type BookChannel,
  bookMessage,
  candleMessage,
  marketMessage,
  mids,
  type PriceChannel,
  statsV2Message,
  statusMessage,
} from "../server/answers/prices.ts";
import type { Market, World } from "../state.ts";
import { createExchangeFeed } from "./exchange-feed.ts";
import { keyOf, type Subscribers } from "./subscribers.ts";

/** The last message about a market. */
interface Sent {
  mark: number;
  oracle: number;
  rate: number;
  fills: number;
  book: number;
}

export interface MarketNews {
  /** Sends what changed since the last time. */
  flush(): void;
  /** Nobody listens: who connects later is told what changes from then on. */
  pass(): void;
  /** Sends the changes of the exchange's configuration that nobody was told of yet. */
  tellExchange(): void;
  /** The configuration of the exchange, as a subscription of it begins. */
  exchangeSnapshot(encoding: "json" | "base64+zstd"): object;
}

export function createMarketNews(world: World, subscribers: Subscribers): MarketNews {
  const sent = new Map<string, Sent>();
  const exchangeFeed = createExchangeFeed(world);
  let status = { ...world.exchange };
  let nextStatus = 1;
  const broadcast = (key: string, message: object) => subscribers.broadcast(key, message);

  function pass(): void {
    sent.clear();
    status = { ...world.exchange };
    exchangeFeed.changes();
  }

  function flush(): void {
    let midsMoved = false;
    const statsMoved = new Set<string>();
    for (const market of world.markets.values()) {
      const { symbol } = market.spec;
      const now: Sent = {
        mark: market.markTicks,
        oracle: market.oracleTicks,
        rate: currentRate(market),
        fills: market.fills.last,
        book: market.bookSequence,
      };
      const before = sent.get(symbol);
      sent.set(symbol, now);
      const moved = before?.mark !== now.mark;
      midsMoved ||= moved;
      if (moved) tellMarket("markPrice", market);
      if (before?.rate !== now.rate) tellMarket("fundingRate", market);
      if (moved || before?.oracle !== now.oracle || before?.rate !== now.rate) {
        tellMarket("marketStats", market);
        tellMarket("market", market);
        statsMoved.add(symbol);
      }
      if (moved || before?.book !== now.book) tellBook(market);
      if (moved || before?.fills !== now.fills) tellCandles(market);
      if (before && before.fills !== now.fills) {
        const fills = market.fills.since(before.fills).map((it) => publicFill(world, symbol, it));
        const trades = market.fills.since(before.fills).map((it) => publicTrade(world, symbol, it));
        broadcast(keyOf("trades", { symbol }), { channel: "trades", symbol, trades });
        const message = { channel: "fills", symbol, fills };
        broadcast(keyOf("fills", {}), message);
        broadcast(keyOf("fills", { marketSymbol: symbol }), message);
      }
    }
    if (midsMoved) broadcast(keyOf("allMids", {}), mids(world));
    if (statsMoved.size > 0) tellStatsV2(statsMoved);
    tellStatus();
    tellExchange();
  }

  /** Each subscription is sent the markets that moved, of those that it is about. */
  function tellStatsV2(moved: ReadonlySet<string>): void {
    for (const key of subscribers.keys()) {
      if (!key.startsWith("marketStatsV2 ")) continue;
      const wanted = key.split(" ")[3] ?? "";
      const some = [...moved].filter((symbol) => wanted === "" || wanted.split(",").includes(symbol));
      if (some.length > 0) broadcast(key, statsV2Message(world, some));
    }
  }

  function tellMarket(channel: PriceChannel, market: Market): void {
    const keys = [keyOf(channel, { symbol: market.spec.symbol })];
    if (channel === "marketStats") keys.push(keyOf(channel, {}));
    if (!keys.some((key) => subscribers.has(key))) return;
    const message = marketMessage(world, channel, market);
    for (const key of keys) broadcast(key, message);
  }

  function tellBook(market: Market): void {
    for (const channel of ["orderbook", "l2Book"] as const satisfies readonly BookChannel[]) {
      for (const bypassExecutionBand of [false, true]) {
        const key = keyOf(channel, { symbol: market.spec.symbol, bypassExecutionBand });
        if (subscribers.has(key)) broadcast(key, bookMessage(world, channel, market, bypassExecutionBand));
      }
    }
  }

  function tellExchange(): void {
    for (const message of exchangeFeed.changes()) broadcast(keyOf("exchange", {}), message);
  }

  function tellCandles(market: Market): void {
    for (const timeframe of TIMEFRAMES) {
      const key = keyOf("candles", { symbol: market.spec.symbol, timeframe });
      if (!subscribers.has(key)) continue;
      const message = candleMessage(world, market, timeframe);
      if (message !== null) broadcast(key, message);
    }
  }

  function tellStatus(): void {
    const now = { ...world.exchange };
    const previous = status;
    status = now;
    const same =
      now.active === previous.active &&
      now.gated === previous.gated &&
      now.withdrawalsAvailable === previous.withdrawalsAvailable;
    if (same) return;
    broadcast(keyOf("exchangeStatus", {}), statusMessage(world, `es-${nextStatus++}`, previous));
  }

  return { flush, pass, tellExchange, exchangeSnapshot: (encoding) => exchangeFeed.snapshot(encoding) };
}
