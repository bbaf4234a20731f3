/** Vocabulary of rules for markets, the exchange and perpwatch itself. */

import { group } from "./field.ts";
import type { Field } from "./field-types.ts";

const prices = group(["markets"]);
const rates = group(["fundingRates"]);
const running = group(["fundingRates", "markets"]);
const config = group(["marketConfig"]);
const book = group(["orderbook"]);
const hours = group(["calendars"]);
const candles = group(["candles"]);
const status = group(["exchangeStatus"]);
const none = group([]);

const market: readonly Field[] = [
  none.text("symbol", "the market"),
  prices.number("markPrice", "price", "mark price"),
  prices.number("oraclePrice", "price", "oracle price"),
  book.number(
    "midPrice",
    "price",
    "middle of the best bid and the best ask",
    "unknown where a side is empty",
  ),
  book.number("bid", "price", "best price that anybody bids", "0"),
  book.number("ask", "price", "best price that anybody asks", "+∞"),
  book.number("spread", "ratio", "(ask − bid) / midPrice", "+∞ where a side is empty"),
  book.number(
    "bidDepth50Bps",
    "usd",
    "what can be sold within 50 bps of the middle: notional of the bids there",
    "0",
  ),
  book.number(
    "askDepth50Bps",
    "usd",
    "what can be bought within 50 bps of the middle: notional of the asks there",
    "0",
  ),
  running.number(
    "fundingRate",
    "rate",
    "of the running hour, from the market statistics; positive: longs pay. Until their unit is decided: of the last " +
      "settled hour. Its history (`avgOver` and the like) holds the settled hours",
  ),
  running.number("annualizedFundingRate", "yearlyRate", "fundingRate × 24 × 365"),
  rates.number("settledFundingRate", "rate", "of the last settled hour"),
  prices.number("openInterest", "units", "open interest, base units"),
  group(["markets", "marketConfig"]).numberUpTo(2, "openInterestCapUsed", "ratio", "open interest / its cap"),
  prices.number("dayVolume", "usd", "volume of the last 24 h"),
  candles.numberUpTo(
    2,
    "dailyVolatility",
    "ratio",
    "how much the mark moves in a day: one standard deviation, by the hours of the last week",
    "unknown before a day of history",
  ),
  candles.number(
    "externalPrice",
    "price",
    "price on other venues, the middle one of them; as old as the schedule of candles",
    "unknown where no other venue is told of",
  ),
  hours.oneOf("sessionState", ["open", "afterHours"], "in session or not; always open without a calendar"),
  hours.time("nextTransition", "when sessionState changes next; +∞ where it never does"),
  config.oneOf(
    "status",
    ["uninitialized", "active", "postOnly", "paused", "closed", "tombstoned"],
    "status of the market",
  ),
  config.number("tickSize", "price", "the smallest step of its price"),
  config.number("maxLeverage", "times", "leverage of the first tier"),
  config.number("takerFee", "ratio", "a fraction of the notional"),
];

const exchange: readonly Field[] = [
  status.boolean("active", "trading is on"),
  status.boolean("gated", "access is restricted"),
  status.boolean("withdrawalsAvailable", "collateral can be withdrawn"),
];

const daemon: readonly Field[] = [
  none.text("host", "the name of the machine that it runs on"),
  none.duration("lag", "how late the latest poll is against its schedule"),
  none.duration("loopLag", "how late timers run in this process"),
  none.number("failedPolls", "count", "polls in a row that failed, of the worst collector"),
  none.text("failingReads", "which reads fail and why, for people; empty while none does"),
  none.number("blindWallets", "count", "wallets without fresh data"),
  none.number("noDataAlerts", "count", "no-data alerts that fire (Blind, ExchangeUnreachable)"),
  none.duration("clockOffset", "our clock less the exchange's; signed"),
  none.boolean(
    "streamConnected",
    "the live stream is connected, and that of each wallet that is signed in (true where streams are off)",
  ),
  none.number("budgetUsed", "ratio", "share of the request ceiling in use; 0 during a rate limit"),
  none.boolean("rateLimited", "the exchange refuses requests with 429"),
  none.number("undelivered", "count", "messages that wait to be delivered"),
  none.duration("oldestUndelivered", "how long the oldest of them has waited"),
  none.text("waitingChannels", "which channels they wait for and why, for people; empty while none does"),
  none.number("databaseBytes", "bytes", "size of the database"),
  group(["portfolio"]).number(
    "equityMismatch",
    "ratio",
    "largest difference of an account's equity from the exchange's portfolio value, as a share of that; differences of prices within the seconds between readings are left out",
  ),
  group(["portfolio"]).text("equityMismatchAccount", "the account of that difference"),
  group(["portfolio"]).text("equityMismatchSide", "above or below, as the equity computed here is"),
  none.number("authFailures", "count", "sign-ins and sessions that the exchange refused, over all runs"),
  none.number(
    "repeatedAuthFailures",
    "count",
    "those that came more than a minute after their wallet's first within 15 min",
  ),
  none.text("refusedWallets", "whose they were within 15 min, for people; empty while none was refused"),
  none.number("signingWallets", "count", "wallets that have a key"),
  none.number("signedOutWallets", "count", "those of them without a session"),
  none.text("loginTextRefused", "why the text of logins is not signed, for people; empty while it is"),
  none.text("signerUnavailable", "why no wallet can be signed in, for people; empty while each can"),
  none.number("deadMessages", "count", "messages that their channels would not take, since the start"),
  none.number("badRecords", "count", "records that did not fit the contract, over all runs"),
  none.number("brokenChannels", "count", "channels that cannot be used now"),
];

export const worldFields = { market, exchange, daemon } as const;
