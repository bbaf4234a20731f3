/** The lines of context below the summary of a message, for a first check. Names and values. */

import type { Event } from "../../domain/event.ts";
import type { Source } from "../../domain/sources.ts";
import type { Scope } from "../../domain/subject.ts";
import { formatDurationMs } from "../../domain/text/duration.ts";
import { plainWords } from "../../domain/text/plain-words.ts";
import {
  type Env,
  enoughCover,
  type Facts,
  formatAmount,
  formatPercent,
  formatPrice,
  formatUsd,
  type WindowSpec,
} from "../../rules/index.ts";
import { dailyMoveOf } from "../../state/markets/daily-move.ts";

type Line = readonly [string, string];

/** The exchange's scale of permitted actions on an account; it does not measure the distance to them. */
export const tierLine = "Exchange's risk tier";

/** The actions that the exchange may take on an account of a tier. */
const tierMeanings: Readonly<Record<string, string>> = {
  atRisk: "it may refuse what increases risk, and withdrawals",
  cancellable: "it may cancel orders",
  liquidatable: "it may liquidate positions",
  backstopLiquidatable: "its backstop may take positions over",
};

/**
 * Omits outdated values, as texts do, except account holdings that the judgement used (`env.oldAccounts`).
 * @param staleAfterMs of the rule
 */
export function detailsOf(
  scope: Scope,
  env: Env,
  staleAfterMs: Readonly<Record<Source, number>>,
): readonly Line[] {
  const lines: Line[] = [];
  const add = (name: string, text: string | null): void => {
    if (text !== null) lines.push([name, text]);
  };
  const isFresh = (facts: Facts | undefined, ...sources: readonly Source[]): facts is Facts =>
    facts !== undefined &&
    sources.every((source) => {
      const seenMs = facts.seenMs[source];
      if (seenMs === undefined || (source === "traderState" && env.oldAccounts === true)) return true;
      return env.nowMs - seenMs <= staleAfterMs[source];
    });
  const { position, trader, wallet, market, book, pair } = env;
  if (scope === "position") {
    if (isFresh(position, "traderState"))
      add("Position", positionText(position, isFresh(position, "markets")));
    if (isFresh(position, "markets")) add("Mark price", price(position, "markPrice", env));
    if (isFresh(position, "traderState", "markets")) {
      add("Liquidation price", liquidationText(position, env));
      add("Distance", distanceText(position, isFresh(market, "candles") ? market : undefined));
      add("Unrealized PnL", usd(position, "unrealizedPnl"));
    }
  }
  if ((scope === "position" || scope === "trader") && isFresh(trader, "traderState", "markets")) {
    const ratio = percent(trader, "marginRatio");
    add("Margin ratio", ratio === null ? null : `${ratio} (liquidation at 100%)`);
    add("Equity", usd(trader, "equity"));
    add("Free collateral", usd(trader, "freeCollateral"));
    // Beside the figures of an alert "safe" reads as a promise; only permitted actions of the exchange need a line.
    if (trader.values.riskTier !== "safe") add(tierLine, tierText(trader));
  }
  if (scope === "wallet" && isFresh(wallet, "traderState", "markets")) {
    add("Equity", usd(wallet, "equity"));
    add("PnL since watched", usd(wallet, "pnl"));
  }
  if (scope === "market" && market) {
    if (isFresh(market, "markets")) {
      add("Mark price", price(market, "markPrice", env));
      add("Oracle price", price(market, "oraclePrice", env));
    }
    add("Status", text(market, "status"));
  }
  if (scope === "book" && isFresh(book, "traderState", "markets")) {
    add("Net notional", usd(book, "netNotional"));
    add("Gross notional", usd(book, "grossNotional"));
    add("Equity", usd(book, "equity"));
    add("Worst margin ratio", percent(book, "worstMarginRatio"));
    add("Wallets", amount(book, "wallets"));
  }
  if (scope === "pair" && pair) {
    add("Legs", text(pair, "legs"));
    if (isFresh(pair, "traderState")) {
      add("Naked", nakedText(pair, isFresh(pair, "markets")));
      add("Imbalance", percent(pair, "imbalance"));
    }
    const by = text(pair, "brokenBy");
    add("Broken by", by === null ? null : (breakers[by] ?? by));
  }
  return lines;
}

/** The events that break a hedge, in plain words. */
const breakers: Readonly<Record<string, string>> = {
  adl: "auto-deleveraging",
  liquidation: "a liquidation",
  stop: "a stop loss or take profit",
  fill: "a fill on one leg",
};

/** These functions also answer from a part of their window, which the text has to state. */
const fromParts: ReadonlySet<WindowSpec["fn"]> = new Set(["maxOver", "drawdown", "sumOver", "countOver"]);

/**
 * Returns the observed or reported part of windows with missing time: `4m of the last 1d (PnL)`.
 * @param shareOf a window, 0–1
 */
export function coverOf(
  specs: readonly WindowSpec[],
  shareOf: (spec: WindowSpec, index: number) => number,
): readonly Line[] {
  const covered = new Set<string>();
  return specs.flatMap((spec, index): Line[] => {
    const { fn, path, windowMs } = spec;
    if (!fromParts.has(fn)) return [];
    const share = shareOf(spec, index);
    if (share >= enoughCover) return [];
    const name = `${pathText(path)} known for only ${partOf(share, windowMs)}`;
    // A peak and its drawdown use one window.
    if (covered.has(name)) return [];
    covered.add(name);
    return [["History", name]];
  });
}

function partOf(share: number, windowMs: WindowSpec["windowMs"]): string {
  if (windowMs === "today") return `${formatPercent(Math.floor(share * 100) / 100)} of today`;
  const unitMs = windowMs >= 600_000 ? 60_000 : 1_000;
  const partMs = Math.floor((share * windowMs) / unitMs + 1e-6) * unitMs;
  return `${partMs < unitMs ? `under ${formatDurationMs(unitMs)}` : formatDurationMs(partMs)} of the last ${formatDurationMs(windowMs)}`;
}

/** Returns the value of a window in plain words: `PnL`, `funding payment`, `mark price of SOL`. */
function pathText(path: WindowSpec["path"]): string {
  const field = (name: string) => plainWords(name).replace(/\bpnl\b/, "PnL");
  if (path.kind === "event")
    return path.field === null ? field(path.event) : `${field(path.event)} ${field(path.field)}`;
  return `${field(path.field)}${path.symbol === null ? "" : ` of ${path.symbol}`}`;
}

/**
 * Returns the figures of an event, each with its unit.
 * @param market of the event, for the tick of its price
 */
export function eventDetailsOf(event: Event, market?: Facts): readonly Line[] {
  const lines: Line[] = [];
  for (const [name, label, write] of eventFields) {
    const value = event.fields[name];
    if (value === null || value === undefined || value === "") continue;
    const words =
      typeof value === "number" ? write(value, tickOf(market)) : (bookSides[String(value)] ?? String(value));
    lines.push([label, name === "size" && event.symbol !== null ? `${words} ${event.symbol}` : words]);
  }
  return lines;
}

const eventFields: readonly (readonly [string, string, (value: number, tickUsd?: number) => string])[] = [
  ["side", "Side", (value) => String(value)],
  ["size", "Size", formatAmount],
  ["price", "Price", formatPrice],
  ["notional", "Notional", formatUsd],
  ["collateralChange", "Collateral change", formatUsd],
  ["payment", "Payment", formatUsd],
  ["amountUsd", "Amount", formatUsd],
];

/** An order's side, in plain words. */
const bookSides: Readonly<Record<string, string>> = { bid: "buy", ask: "sell" };

function text(facts: Facts, field: string): string | null {
  const value = facts.values[field];
  return typeof value === "string" && value !== "" ? value : null;
}

/** `cancellable (it may cancel orders)`. */
function tierText(trader: Facts): string | null {
  const tier = text(trader, "riskTier");
  if (tier === null) return null;
  const meaning = tierMeanings[tier];
  return meaning === undefined ? plainWords(tier) : `${plainWords(tier)} (${meaning})`;
}

function number(facts: Facts, field: string): number | null {
  const value = facts.values[field];
  return typeof value === "number" && !Number.isNaN(value) ? value : null;
}

function tickOf(market: Facts | undefined): number | undefined {
  return (market && number(market, "tickSize")) ?? undefined;
}

function amount(facts: Facts, field: string): string | null {
  const value = number(facts, field);
  return value === null ? null : formatAmount(value);
}

function nakedText(pair: Facts, priced: boolean): string | null {
  const size = number(pair, "nakedSize");
  if (size === null) return null;
  const notional = priced ? usd(pair, "nakedNotional") : null;
  const side = size === 0 ? "nothing" : `${size > 0 ? "long" : "short"} ${formatAmount(Math.abs(size))}`;
  return notional === null || size === 0 ? side : `${side} (${notional})`;
}

function usd(facts: Facts, field: string): string | null {
  const value = number(facts, field);
  return value === null ? null : formatUsd(value);
}

function price(facts: Facts, field: string, { market }: Env): string | null {
  const value = number(facts, field);
  return value === null || !Number.isFinite(value) ? null : formatPrice(value, tickOf(market));
}

function liquidationText(position: Facts, env: Env): string | null {
  const distance = number(position, "liquidationDistance");
  if (distance === null) return null;
  if (distance <= 0) return "passed";
  return Number.isFinite(distance) ? price(position, "liquidationPrice", env) : "none";
}

/** `4.2%, 0.8 daily moves`: the latter where the market's volatility is known. */
function distanceText(position: Facts, market: Facts | undefined): string | null {
  const share = percent(position, "liquidationDistance");
  const distance = number(position, "liquidationDistance") ?? Number.NaN;
  const exact = distance / dailyMoveOf(market);
  if (share === null || !Number.isFinite(exact)) return share;
  const moves = formatAmount(exact < 10 ? Number(exact.toPrecision(2)) : Math.round(exact));
  return `${share}, ${moves} daily ${moves === "1" ? "move" : "moves"}`;
}

function percent(facts: Facts, field: string): string | null {
  const value = number(facts, field);
  return value === null ? null : formatPercent(value);
}

function positionText(position: Facts, priced: boolean): string | null {
  const size = number(position, "size");
  const side = text(position, "side");
  const symbol = text(position, "symbol");
  if (size === null || side === null || symbol === null) return null;
  const notional = priced ? usd(position, "notional") : null;
  return `${side} ${formatAmount(Math.abs(size))} ${symbol}${notional ? ` (${notional})` : ""}`;
}
