/**
 * The stream: every subscription of the SDK, each up to a message that something here has caused. Frames that do not
 * parse the SDK drops with a word on the console, where the suite listens.
 */
import * as sdk from "@ellipsis-labs/rise";
import { expect } from "vitest";
import { z } from "zod";
import { channels } from "../../src/contract/index.ts";
import { type Call, type Calls, local, parses } from "./call.ts";
import type { Desk } from "./desk.ts";

const patienceMs = 10_000;

/** Reads on until a message fits. */
async function until<T>(messages: AsyncIterator<T>, fits: (message: T) => boolean): Promise<T> {
  const late = AbortSignal.timeout(patienceMs);
  const tooLate = new Promise<never>((_, reject) => {
    late.addEventListener("abort", () =>
      reject(new Error("no such message came, or none that the SDK could read")),
    );
  });
  for (;;) {
    const { value, done } = await Promise.race([messages.next(), tooLate]);
    if (done) throw new Error("the stream ended");
    if (fits(value)) return value;
  }
}

/** Subscribes, hears the first message that fits, causes something, hears of it, leaves. */
function stream<T>(
  open: (desk: Desk, signal: AbortSignal) => AsyncIterable<T>,
  first: ((message: T, desk: Desk) => boolean) | null,
  cause: (desk: Desk) => Promise<unknown>,
  then: (message: T, desk: Desk) => boolean,
  note: string,
): Call {
  return parses(async (desk) => {
    const leave = new AbortController();
    const messages = open(desk, leave.signal)[Symbol.asyncIterator]();
    try {
      if (first) await until(messages, (it) => first(it, desk));
      else await subscribed(desk);
      await cause(desk);
      await until(messages, (it) => then(it, desk));
      return note;
    } finally {
      leave.abort();
    }
  });
}

/** Subscriptions are answered in order on a connection: one that begins with a message says that the others stand. */
async function subscribed({ client }: Desk): Promise<void> {
  const leave = new AbortController();
  const messages = client.streams!.markPrice("ETH", leave.signal)[Symbol.asyncIterator]();
  await until(messages, () => true);
  leave.abort();
}

let cents = 0;
/** Another price for SOL, near the last one. */
const move = async ({ sim }: Desk) => {
  cents += 1;
  await sim("mark-price", { symbol: "SOL", price: (147 + cents / 100).toFixed(2) });
};
const moved = (price: number | null) => price === Number((147 + cents / 100).toFixed(2));
/** A wallet of another name takes what lies on the book. */
const trade = async (desk: Desk) => {
  await desk.sim("order", { trader: "lived", symbol: "SOL", side: "bid", price: "146", size: "1" });
  await desk.sim("mark-price", { symbol: "SOL", price: "145.9" });
};

const book =
  (name: "l2Book" | "orderbook") =>
  (options: { bypassExecutionBand?: boolean } = {}) =>
    stream(
      ({ client }, signal) => client.streams![name]("SOL", options, signal),
      ({ bids }) => bids.length > 0,
      move,
      ({ bids, asks, ts }, { simulator }) =>
        (bids[0]?.[0] ?? 0) < 147 + cents / 100 &&
        (asks[0]?.[0] ?? 0) > 147 + cents / 100 &&
        ts === simulator.nowMs() - (simulator.nowMs() % 1_000),
      "the book, and the book after a move",
    );

type Streams = sdk.PhoenixWsClient;
type Told = (error: { readonly error: string; readonly code: number }) => void;

/** A channel of one's own: one that the exchange may have and the simulator has not. */
const weather = {
  subscriptionChannel: "weather",
  schema: z.object({ channel: z.literal("weather"), symbol: z.string() }) as never,
  buildKey: (symbol: string) => `weather:${symbol}`,
  buildSubParams: (symbol: string) => ({ symbol }),
  getKeyFromMessage: ({ symbol }: { symbol: string }) => `weather:${symbol}`,
  processMessage: (message: unknown) => message,
};

const own = (subscribe: (streams: Streams) => unknown): Call => ({
  kind: "refused",
  make: async (desk) => {
    const client = desk.newClient({ auth: false });
    const heard = Promise.withResolvers<{ error: string; code: number }>();
    client.streams!.onServerError(heard.resolve);
    subscribe(client.streams!);
    expect(await heard.promise).toMatchObject({ error: "unknown channel", code: 400 });
    return "400 unknown channel: one that neither side has";
  },
});

const serverError = (listen: (client: sdk.PhoenixClient, told: Told) => unknown): Call =>
  parses(async (desk) => {
    const client = desk.newClient({ auth: false });
    const heard = Promise.withResolvers<{ error: string; code: number }>();
    listen(client, heard.resolve);
    client.streams!.markPrice("NOPE");
    expect(await heard.promise).toMatchObject({ error: "unknown symbol", code: 400 });
    return "error frame: 400 unknown symbol";
  });

const closes = (close: (client: sdk.PhoenixClient) => void): Call =>
  parses(async (desk) => {
    const client = desk.newClient();
    await until(client.streams!.markPrice("SOL")[Symbol.asyncIterator](), () => true);
    close(client);
    return "";
  });

const plainSubscription = (symbol: string): Call =>
  parses(async ({ client }) => {
    const { wsClient } = client.streams!;
    const heard = Promise.withResolvers<unknown>();
    const subscription = { channel: "markPrice", symbol };
    const key = `markPrice:${symbol}`;
    wsClient.subscribe(key, { type: "subscribe", subscription }, heard.resolve);
    const message = sdk.ws.MarkPriceMsgSchema.parse(await heard.promise);
    wsClient.unsubscribe(key, { type: "unsubscribe", subscription });
    return message.symbol;
  });

export const streamCalls: Calls = {
  "client.streams.traderState": stream(
    ({ client, lived }, signal) => client.streams!.traderState(lived.authority, 0, signal),
    ({ messageType, subaccounts }) => messageType === "snapshot" && subaccounts.length === 2,
    (desk) => desk.sim("position", { trader: "lived", symbol: "ETH", size: "0.5" }),
    ({ messageType, deltas }) =>
      messageType === "delta" && deltas.some((it) => it.positions?.some((row) => row.symbol === "ETH")),
    "snapshot of 2 subaccounts, then a delta",
  ),
  "client.streams.notifications": stream(
    ({ client, lived }, signal) => client.streams!.notifications({ authority: lived.authority }, signal),
    null,
    (desk) =>
      desk.sim("notification", {
        trader: "lived",
        source: "general",
        notificationType: "news",
        title: "a",
        body: "b",
      }),
    (item) => item.notificationType === "news" && !item.acked,
    "on the authenticated connection",
  ),
  "client.streams.marketStats": stream(
    ({ client }, signal) => client.streams!.marketStats(undefined, signal),
    ({ symbol }) => symbol === "GOLD",
    move,
    ({ symbol, stats }) => symbol === "SOL" && moved(stats.markPrice),
    "all markets, then the one that moved",
  ),
  "client.streams.markPrice": stream(
    ({ client }, signal) => client.streams!.markPrice("SOL", signal),
    () => true,
    move,
    ({ markPrice }) => moved(markPrice),
    "the price, and the next",
  ),
  "client.streams.market": stream(
    ({ client }, signal) => client.streams!.market("SOL", signal),
    () => true,
    move,
    ({ markPx, midPx }) => moved(markPx) && moved(midPx ?? null),
    "statistics, and the next",
  ),
  "client.streams.allMids": stream(
    ({ client }, signal) => client.streams!.allMids(signal),
    ({ mids }) => Object.keys(mids).length === 4,
    move,
    ({ mids }) => moved(mids.SOL ?? null),
    "4 mids, then 4 again",
  ),
  "client.streams.fundingRate": stream(
    ({ client }, signal) => client.streams!.fundingRate("SOL", signal),
    () => true,
    (desk) => desk.sim("funding-rate", { symbol: "SOL", ratePercentage: "0.02" }),
    ({ funding }) => funding === 0.0002,
    "the rate, and the next",
  ),
  "client.streams.exchangeStatus": stream(
    ({ client }, signal) => client.streams!.exchangeStatus(signal),
    null,
    async (desk) => {
      await desk.sim("exchange", { gated: true });
      await desk.sim("exchange", { gated: false });
    },
    ({ data }) => data.exchangeStatusBits === 129 && data.previousExchangeStatusBits === 131,
    "gated, and not any more",
  ),
  "client.streams.exchange": stream(
    ({ client }, signal) => client.streams!.exchange(signal),
    (message) => message.messageType === "snapshot" && message.markets.length === 4,
    async (desk) => {
      await desk.sim("market", { symbol: "ETH", status: "postOnly" });
      await desk.sim("market", { symbol: "ETH", status: "active" });
    },
    (message) =>
      message.messageType === "delta" &&
      message.ops.some((it) => it.kind === "marketStatusChanged" && it.newMarketStatus === "active"),
    "compressed snapshot, then deltas",
  ),
  "client.streams.fills": stream(
    ({ client }, signal) => client.streams!.fills(undefined, signal),
    null,
    trade,
    ({ symbol, fill }) => symbol === "SOL" && fill.timestampMs > 0,
    "of all markets, as they are traded",
  ),
  "client.streams.candles": stream(
    ({ client }, signal) => client.streams!.candles("SOL", "1d", signal),
    ({ timeframe }) => timeframe === "1d",
    move,
    ({ candle }) => moved(candle.markClose ?? null),
    "the candle under way, and again",
  ),
  "client.streams.l2Book": book("l2Book")(),
  "client.streams.orderbook": book("orderbook")({ bypassExecutionBand: true }),
  "client.streams.orderbookSnapshot": stream(
    ({ client }, signal) => client.streams!.orderbookSnapshot("SOL", {}, signal),
    ({ orderbook }) => orderbook.bids.length > 0,
    move,
    ({ orderbook }) => moved(orderbook.mid),
    "the book, and the book after a move",
  ),
  "client.streams.registerSubscription": own((streams) => streams.registerSubscription(weather)("SOL")),
  "client.streams.registerSubscriptions": own((streams) =>
    streams.registerSubscriptions({ weather }).weather("SOL"),
  ),
  "client.streams.onServerError": serverError((client, told) => client.streams!.onServerError(told)),
  "client.streams.close": closes((client) => client.streams!.close()),
  "client.streams.wsClient.subscribe": plainSubscription("BTC"),
  "client.streams.wsClient.unsubscribe": plainSubscription("GOLD"),
  "client.streams.wsClient.registerChannel": local((desk) => {
    const { wsClient } = desk.newClient().streams!;
    const channel = { validate: () => true, getKey: () => "weather" };
    wsClient.registerChannel("weather", channel)();
    // For every channel of the contract the SDK has an adapter, and refuses a second one.
    const free = Object.values(channels).filter(({ messages }) => {
      try {
        wsClient.registerChannel(messages, channel);
        return true;
      } catch {
        return false;
      }
    });
    expect(free.map(({ messages }) => messages).sort()).toEqual(["marketStatsV2", "trades"]);
    return "only the two channels that newer servers have are without an adapter";
  }),
  "client.streams.wsClient.onServerError": serverError((client, told) =>
    client.streams!.wsClient.onServerError(told),
  ),
  "client.streams.wsClient.close": closes((client) => client.streams!.wsClient.close()),
};
