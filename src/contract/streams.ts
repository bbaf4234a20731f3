/**
 * Channels of the stream as a table, like the endpoints: what a subscription takes, whether it needs a session, what
 * its messages look like. One WebSocket (`/v1/ws`) carries any number of subscriptions as JSON text frames.
 *
 * A client sends `subscribeFrame("traderState", { authority, traderPdaIndex: 0 })` and hands every inbound frame to
 * `readFrame`, which answers a message of a known channel, a control frame, an unknown one (kept), or the problem.
 */
import { isPublicKey } from "./base58.ts";
import {
  accountIndex,
  flag,
  int,
  key,
  level,
  listOf,
  lots,
  mapOf,
  maybe,
  num,
  type Output,
  orElse,
  record,
  type Schema,
  sequence,
  text,
  time,
  type Wire,
  word,
} from "./fields.ts";
import { collateralAsset, exchangeState, marketSnapshot } from "./records/exchange.ts";
import { marketFill } from "./records/history.ts";
import { candle } from "./records/market.ts";
import { notificationItem } from "./records/notifications.ts";
import { stateCapabilities, subaccountDelta, subaccountSnapshots } from "./records/trader.ts";
import { parseRecord, type ReplyProblem } from "./reply.ts";
import { ArgumentsRefused, type ParamProblem } from "./request.ts";

/** One parameter of a subscription. */
export interface ChannelParam<T = unknown, Need extends boolean = boolean> {
  readonly type: "key" | "string" | "strings" | "integer" | "boolean" | "timeframe" | "encoding";
  readonly required: Need;
  readonly description: string;
  readonly argument?: T;
}
type ChannelParams = Readonly<Record<string, ChannelParam>>;

export interface Channel<P extends ChannelParams = ChannelParams, S extends Schema = Schema> {
  readonly summary: string;
  /** Needs a connection opened with an access token. */
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

/**
 * Snapshot or delta of all subaccounts of one (authority, PDA index). In a snapshot every header field is there and
 * `subaccounts` is everything; in a delta `deltas` is what changed and a header field is null unless it changed.
 */
export const traderStateMessage = record({
  authority: key,
  traderPdaIndex: accountIndex,
  slot: int,
  messageType: word(["snapshot", "delta"]),
  version: maybe(int),
  capabilities: maybe(stateCapabilities),
  makerFeeOverrideMultiplier: maybe(num),
  takerFeeOverrideMultiplier: maybe(num),
  /** Null in a delta. */
  subaccounts: maybe(subaccountSnapshots),
  deltas: listOf(subaccountDelta),
});
export type TraderStateMessage = Output<typeof traderStateMessage>;

/** A copy of what the inbox will show. The id of an event may not last; its five indices do. */
export const notificationMessage = record({
  payload: notificationItem,
  authority: key,
  traderPubkey: maybe(key),
  traderPdaIndex: maybe(int),
});
export type NotificationMessage = Output<typeof notificationMessage>;

const marketStatsFields = {
  symbol: text,
  timestamp: time,
  openInterest: num,
  markPrice: num,
  oraclePrice: num,
  prevDayMarkPrice: num,
  dayVolumeUsd: num,
  dayVolumeBase: num,
  currentFundingRate: num,
  eightHourFundingRate: num,
  annualizedFundingRate: num,
};

/** Newest statistics of one market. */
export const marketStatsMessage = record(marketStatsFields);
export type MarketStatsMessage = Output<typeof marketStatsMessage>;

/** The same of several markets in one message. */
export const marketStatsV2Message = record({
  stats: listOf(record({ ...marketStatsFields, midPrice: maybe(num) })),
});
export type MarketStatsV2Message = Output<typeof marketStatsV2Message>;

/** The exchange's status changed. */
export const exchangeStatusMessage = record({
  id: text,
  notificationType: text,
  data: record({
    exchangeStatusBits: int,
    previousExchangeStatusBits: int,
    active: flag,
    gated: flag,
    withdrawalsAvailable: orElse(flag, true),
    authority: maybe(key),
  }),
  isRead: orElse(flag, false),
  createdAt: time,
  traderId: maybe(int),
  readAt: maybe(time),
});
export type ExchangeStatusMessage = Output<typeof exchangeStatusMessage>;

export const markPriceMessage = record({ symbol: text, slot: int, slotIndex: int, markPrice: num });
export type MarkPriceMessage = Output<typeof markPriceMessage>;
export const allMidsMessage = record({ mids: mapOf(num), slot: int, slotIndex: int });
export type AllMidsMessage = Output<typeof allMidsMessage>;
export const fundingRateMessage = record({ symbol: text, funding: num });
export type FundingRateMessage = Output<typeof fundingRateMessage>;
/** Public trades of one market: what one taker took at once. Lots and sequence numbers as decimal strings. */
export const tradesMessage = record({
  symbol: text,
  trades: listOf(
    record({
      slot: int,
      slotIndex: int,
      timestamp: time,
      symbol: text,
      taker: key,
      tradeSequenceNumber: sequence,
      side: text,
      baseLotsFilled: lots,
      quoteLotsFilled: lots,
      feeInQuoteLots: lots,
      baseAmount: num,
      quoteAmount: num,
      numFills: int,
    }),
  ),
});
export type TradesMessage = Output<typeof tradesMessage>;
export const fillsMessage = record({ symbol: text, fills: listOf(marketFill) });
export type FillsMessage = Output<typeof fillsMessage>;

/** Lengths of a candle that the stream knows. */
export const TIMEFRAMES = ["1s", "5s", "1m", "5m", "15m", "30m", "1h", "4h", "1d"] as const;
export type Timeframe = (typeof TIMEFRAMES)[number];

/** The candle under way, each time that it changes. */
export const candleMessage = record({ symbol: text, timeframe: word(TIMEFRAMES), candle });
export type CandleMessage = Output<typeof candleMessage>;
/** The whole book, best first, USD and units. */
export const orderbookMessage = record({
  symbol: text,
  orderbook: record({ bids: listOf(level), asks: listOf(level), mid: maybe(num) }),
  bypassExecutionBand: maybe(flag),
});
export type OrderbookMessage = Output<typeof orderbookMessage>;
/** The same book in another form: a market is a coin, and there is the time of it. */
export const l2BookMessage = record({
  coin: text,
  timestamp: time,
  slot: int,
  bids: listOf(level),
  asks: listOf(level),
  bypassExecutionBand: maybe(flag),
});
export type L2BookMessage = Output<typeof l2BookMessage>;
/** Newest statistics of one market, in short. USD and units; `funding` as in `fundingRate`. */
export const marketMessage = record({
  symbol: text,
  openInterest: num,
  markPx: num,
  midPx: maybe(num),
  oraclePx: num,
  prevDayPx: num,
  dayNtlVlm: num,
  funding: num,
});
export type MarketMessage = Output<typeof marketMessage>;

/** Forms of the first message of `exchange`. */
export const SNAPSHOT_ENCODINGS = ["json", "base64+zstd"] as const;
export type SnapshotEncoding = (typeof SNAPSHOT_ENCODINGS)[number];

/**
 * The exchange's configuration: a snapshot, then what changed. Snapshots have `exchange` and `markets`, or, where they
 * are encoded, `payload`: base64 of the zstd-compressed JSON of such a snapshot. Deltas have `ops`, whose fields depend
 * on `kind`. The sequence grows by one with each message: a gap means subscribe again.
 */
export const exchangeMessage = record({
  messageType: word(["snapshot", "encodedSnapshot", "delta"]),
  version: int,
  sequenceNumber: sequence,
  slot: int,
  slotIndex: int,
  reason: maybe(text),
  exchange: maybe(exchangeState),
  markets: listOf(marketSnapshot),
  spotCollaterals: listOf(collateralAsset),
  encoding: maybe(word(SNAPSHOT_ENCODINGS)),
  payload: maybe(text),
  ops: listOf(record({ kind: text })),
});
export type ExchangeMessage = Output<typeof exchangeMessage>;

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
/** A message of a channel, as read and as a server may write it (without `channel`). */
export type MessageFor<N extends ChannelName> = Output<Channels[N]["schema"]>;
export type MessageWireFor<N extends ChannelName> = Wire<Channels[N]["schema"]>;

/** The client's frame; throws ArgumentsRefused when the parameters do not fit. */
export function subscribeFrame<N extends ChannelName>(
  name: N,
  params: SubscriptionFor<N>,
  type: "subscribe" | "unsubscribe" = "subscribe",
): { type: "subscribe" | "unsubscribe"; subscription: Record<string, unknown> } {
  const problems = checkSubscription(name, params as Readonly<Record<string, unknown>>);
  if (problems.length > 0) throw new ArgumentsRefused(name, problems);
  return { type, subscription: { channel: name, ...params } };
}

/** Reads a server's frame: the channel and its parameters, or why not. */
export function readSubscription(
  frame: unknown,
):
  | { ok: true; type: "subscribe" | "unsubscribe"; channel: ChannelName; params: Record<string, unknown> }
  | { ok: false; message: string; subscription: unknown } {
  const { type, subscription } = (typeof frame === "object" && frame !== null ? frame : {}) as Record<
    string,
    unknown
  >;
  const refuse = (message: string) => ({ ok: false, message, subscription }) as const;
  if (type !== "subscribe" && type !== "unsubscribe") return refuse("type must be subscribe or unsubscribe");
  if (typeof subscription !== "object" || subscription === null)
    return refuse("subscription must be an object");
  const { channel: name, ...params } = subscription as Record<string, unknown>;
  if (typeof name !== "string" || !Object.hasOwn(channels, name)) return refuse("unknown channel");
  const problems = checkSubscription(name as ChannelName, params);
  if (problems.length > 0) return refuse(problems.map((problem) => problem.message).join("; "));
  return { ok: true, type, channel: name as ChannelName, params };
}

function checkSubscription(name: ChannelName, params: Readonly<Record<string, unknown>>): ParamProblem[] {
  const problems: ParamProblem[] = [];
  for (const [own, param] of Object.entries(channels[name].params as ChannelParams)) {
    const value = params[own];
    const wrong =
      value === undefined || value === null
        ? param.required
          ? "required"
          : null
        : misfit(param.type, value);
    if (wrong !== null) problems.push({ parameter: own, message: `${own}: ${wrong}` });
  }
  return problems;
}

/** The mistake in a value; null: nothing. */
function misfit(type: ChannelParam["type"], value: unknown): string | null {
  switch (type) {
    case "key":
      return typeof value === "string" && isPublicKey(value)
        ? null
        : "must be a base58 public key of 32 bytes";
    case "string":
      return typeof value === "string" && value !== "" ? null : "must be text that is not empty";
    case "strings":
      return Array.isArray(value) && value.every((one) => typeof one === "string" && one !== "")
        ? null
        : "must be a list of texts that are not empty";
    case "integer":
      return Number.isSafeInteger(value) && (value as number) >= 0
        ? null
        : "must be an integer of at least 0";
    case "boolean":
      return typeof value === "boolean" ? null : "must be true or false";
    case "timeframe":
      return (TIMEFRAMES as readonly unknown[]).includes(value)
        ? null
        : `must be one of ${TIMEFRAMES.join(" ")}`;
    case "encoding":
      return (SNAPSHOT_ENCODINGS as readonly unknown[]).includes(value)
        ? null
        : `must be one of ${SNAPSHOT_ENCODINGS.join(" ")}`;
  }
}

/** The content of a control frame of any of the four forms. */
export interface ControlFrame {
  readonly accepted: boolean;
  readonly subscription: unknown;
  readonly code: string | null;
  readonly message: string | null;
}

export type InboundFrame =
  | {
      [N in ChannelName]: { readonly kind: "message"; readonly channel: N; readonly message: MessageFor<N> };
    }[ChannelName]
  | ({ readonly kind: "control" } & ControlFrame)
  /** A channel or form that is not known: kept by whoever wants to, never fatal. */
  | { readonly kind: "unknown"; readonly frame: unknown }
  /** A known channel whose message does not fit. */
  | {
      readonly kind: "misfit";
      readonly channel: ChannelName;
      readonly problem: ReplyProblem;
      readonly frame: unknown;
    };

const byMessages = new Map<unknown, ChannelName>(
  Object.entries(channels).map(([name, row]) => [row.messages, name as ChannelName]),
);

/** Reads one inbound frame (parsed with `parseJson`). */
export function readFrame(frame: unknown): InboundFrame {
  if (typeof frame !== "object" || frame === null) return { kind: "unknown", frame };
  const fields = frame as Record<string, unknown>;
  const control = controlFrame(fields);
  if (control !== null) return { kind: "control", ...control };
  const name = byMessages.get(fields.channel);
  if (name === undefined) return { kind: "unknown", frame };
  const read = parseRecord(name, channels[name].schema as Schema, frame);
  if (!read.ok) return { kind: "misfit", channel: name, problem: read.problem, frame };
  return { kind: "message", channel: name, message: read.record } as InboundFrame;
}

function controlFrame(fields: Readonly<Record<string, unknown>>): ControlFrame | null {
  const { type, channel: name, subscription, code, message, error } = fields;
  const words = (accepted: boolean, said: unknown): ControlFrame => ({
    accepted,
    subscription,
    code: typeof code === "string" || typeof code === "number" ? String(code) : null,
    message: typeof said === "string" ? said : null,
  });
  if (type === "subscriptionConfirmed") return words(true, null);
  if (type === "subscriptionError") return words(false, message);
  if (name === "subscriptionStatus") return words(fields.status === "subscribed", message);
  return name === "error" ? words(false, error) : null;
}

/** Close codes and reasons that mean: the session is not accepted (any more); refresh and reconnect at once. */
export function sessionRefused(closeCode: number, reason: string): boolean {
  return closeCode === 4401 || closeCode === 4403 || closeCode === 1008 || SESSION_REASONS.has(reason);
}
const SESSION_REASONS: ReadonlySet<string> = new Set([
  "access_token_expired",
  "invalid_access_token",
  "access_jti_mismatch",
  "session_missing",
  "authz_refresh_required",
]);
