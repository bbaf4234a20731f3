/**
 * Table of the stream's channels, like that of the endpoints: the parameters of a subscription, if it needs a session,
 * and the schema of its messages. One WebSocket (`/v1/ws`) carries any number of subscriptions as JSON text frames.
 */
import type { Output, Schema, Wire } from "../fields.ts";
import {
  allMidsMessage,
  candleMessage,
  exchangeMessage,
  exchangeStatusMessage,
  fillsMessage,
  fundingRateMessage,
  l2BookMessage,
  marketMessage,
  marketStatsMessage,
  marketStatsV2Message,
  markPriceMessage,
  notificationMessage,
  orderbookMessage,
  type SnapshotEncoding,
  type Timeframe,
  traderStateMessage,
  tradesMessage,
} from "./stream-messages.ts";

/** One parameter of a subscription. */
export interface ChannelParam<T = unknown, Need extends boolean = boolean> {
  readonly type: "key" | "string" | "strings" | "integer" | "boolean" | "timeframe" | "encoding";
  readonly required: Need;
  readonly description: string;
  readonly argument?: T;
}
export type ChannelParams = Readonly<Record<string, ChannelParam>>;

export interface Channel<P extends ChannelParams = ChannelParams, S extends Schema = Schema> {
  readonly summary: string;
  /** True if it needs a connection that was opened with an access token. */
  readonly session: boolean;
  readonly params: P;
  /** Value of `channel` in its messages. */
  readonly messages: string;
  readonly schema: S;
}

const channel = <P extends ChannelParams, S extends Schema>(row: Channel<P, S>): Channel<P, S> => row;
const need = <T>(type: ChannelParam["type"], description: string): ChannelParam<T, true> => ({
  type,
  required: true,
  description,
});
const may = <T>(type: ChannelParam["type"], description: string): ChannelParam<T, false> => ({
  type,
  required: false,
  description,
});

export const channels = {
  traderState: channel({
    summary: "Snapshot, then deltas, of every subaccount of one wallet under one PDA index.",
    session: false,
    params: {
      authority: need<string>("key", "The wallet."),
      traderPdaIndex: need<number>("integer", "Which of the wallet's account families."),
    },
    messages: "traderState",
    schema: traderStateMessage,
  }),
  notifications: channel({
    summary: "Notifications of one wallet as they happen; nothing is replayed.",
    session: true,
    params: { authority: need<string>("key", "The wallet, which has to be the session's.") },
    messages: "notification",
    schema: notificationMessage,
  }),
  marketStats: channel({
    summary: "Statistics of one market, or of all of them.",
    session: false,
    params: { symbol: may<string>("string", "Only this market.") },
    messages: "marketStats",
    schema: marketStatsMessage,
  }),
  marketStatsV2: channel({
    summary: "Statistics of several markets in one message, of all of them unless symbols are given.",
    session: false,
    params: { symbols: may<readonly string[]>("strings", "Only these markets.") },
    messages: "marketStatsV2",
    schema: marketStatsV2Message,
  }),
  exchangeStatus: channel({
    summary: "Changes of the exchange's status.",
    session: false,
    params: {},
    messages: "exchangeStatus",
    schema: exchangeStatusMessage,
  }),
  markPrice: channel({
    summary: "Mark price of one market, USD.",
    session: false,
    params: { symbol: need<string>("string", "The market.") },
    messages: "markPrice",
    schema: markPriceMessage,
  }),
  allMids: channel({
    summary: "Mid prices of every market, USD.",
    session: false,
    params: {},
    messages: "allMids",
    schema: allMidsMessage,
  }),
  fundingRate: channel({
    summary: "Current funding rate of one market.",
    session: false,
    params: { symbol: need<string>("string", "The market.") },
    messages: "fundingRate",
    schema: fundingRateMessage,
  }),
  fills: channel({
    summary: "Public fills of one market, or of all of them.",
    session: false,
    params: { marketSymbol: may<string>("string", "Only this market.") },
    messages: "fills",
    schema: fillsMessage,
  }),
  trades: channel({
    summary: "Public trades of one market.",
    session: false,
    params: { symbol: need<string>("string", "The market.") },
    messages: "trades",
    schema: tradesMessage,
  }),
  candles: channel({
    summary: "The candle under way of one market, when it changes.",
    session: false,
    params: {
      symbol: need<string>("string", "The market."),
      timeframe: need<Timeframe>("timeframe", "Length of a candle."),
    },
    messages: "candle",
    schema: candleMessage,
  }),
  orderbook: channel({
    summary: "Order book of one market, when it changes.",
    session: false,
    params: {
      symbol: need<string>("string", "The market."),
      bypassExecutionBand: may<boolean>("boolean", "Levels outside of the execution band, too."),
    },
    messages: "orderbook",
    schema: orderbookMessage,
  }),
  l2Book: channel({
    summary: "Order book of one market in the form that calls a market a coin, when it changes.",
    session: false,
    params: {
      coin: need<string>("string", "The market."),
      bypassExecutionBand: may<boolean>("boolean", "Levels outside of the execution band, too."),
    },
    messages: "l2Book",
    schema: l2BookMessage,
  }),
  market: channel({
    summary: "Statistics of one market in short, when they change.",
    session: false,
    params: { symbol: need<string>("string", "The market.") },
    messages: "market",
    schema: marketMessage,
  }),
  exchange: channel({
    summary: "The exchange's configuration: a snapshot, then what changed.",
    session: false,
    params: {
      encoding: may<SnapshotEncoding>(
        "encoding",
        "Form of the snapshot; compressed unless json is asked for.",
      ),
    },
    messages: "exchange",
    schema: exchangeMessage,
  }),
} as const;

export type Channels = typeof channels;
export type ChannelName = keyof Channels;
type ParamsOf<N extends ChannelName> = Channels[N]["params"];
type NeededIn<P> = { [K in keyof P]: P[K] extends ChannelParam<unknown, true> ? K : never }[keyof P];
type ValueOf<T> = T extends ChannelParam<infer A> ? A : never;
/** The parameters of a subscription. */
export type SubscriptionFor<N extends ChannelName> = {
  [K in NeededIn<ParamsOf<N>>]: ValueOf<ParamsOf<N>[K]>;
} & { [K in Exclude<keyof ParamsOf<N>, NeededIn<ParamsOf<N>>>]?: ValueOf<ParamsOf<N>[K]> | undefined };
/** A message of a channel, parsed and on the wire (without `channel`). */
export type MessageFor<N extends ChannelName> = Output<Channels[N]["schema"]>;
export type MessageWireFor<N extends ChannelName> = Wire<Channels[N]["schema"]>;
