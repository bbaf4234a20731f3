/** The first messages of a new subscription on the stream. */
import type { ChannelName } from "../../contract/stream/stream-channels.ts";
import { bookMessage, candleMessage, marketMessage, mids, statsV2Message } from "../server/answers/prices.ts";
import { stateSnapshot } from "../server/answers/trader.ts";
import type { Market, World } from "../state.ts";
import { present as ledgerPresent } from "../world.ts";
import type { MarketNews } from "./market-news.ts";
import { type Connection, send, symbolOf } from "./subscribers.ts";

/** Sends a subscription of this connection what it begins with. */
export function sendFirst(
  { world, news }: { readonly world: World; readonly news: MarketNews },
  connection: Connection,
  channel: ChannelName,
  params: Readonly<Record<string, unknown>>,
): void {
  switch (channel) {
    case "traderState": {
      const authority = params.authority as string;
      const traderPdaIndex = params.traderPdaIndex as number;
      const wallet = world.wallets.get(authority);
      const { slot } = ledgerPresent(world);
      const snapshot = stateSnapshot(world, wallet, traderPdaIndex);
      send(connection, { channel, authority, traderPdaIndex, slot, messageType: "snapshot", ...snapshot });
      return;
    }
    case "marketStatsV2":
      send(connection, statsV2Message(world, params.symbols as readonly string[] | undefined));
      return;
    case "marketStats":
    case "market":
    case "markPrice":
    case "fundingRate":
      for (const market of world.markets.values()) {
        if (concerns(params.symbol, market)) send(connection, marketMessage(world, channel, market));
      }
      return;
    case "allMids":
      send(connection, mids(world));
      return;
    case "candles":
    case "orderbook":
    case "l2Book":
      for (const market of world.markets.values()) {
        if (!concerns(symbolOf(params), market)) continue;
        const message =
          channel === "candles"
            ? candleMessage(world, market, params.timeframe as string)
            : bookMessage(world, channel, market, params.bypassExecutionBand === true);
        if (message !== null) send(connection, message);
      }
      return;
    case "exchange":
      send(connection, news.exchangeSnapshot(params.encoding === "json" ? "json" : "base64+zstd"));
      return;
    default:
  }
}

const concerns = (symbol: unknown, market: Market): boolean =>
  typeof symbol !== "string" || symbol.toUpperCase() === market.spec.symbol;
