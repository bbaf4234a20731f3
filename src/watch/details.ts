/** The lines of context that stand in a message below its summary: what a person checks first. Names and values. */

import { formatDurationMs } from "../domain/duration.ts";
import type { Event } from "../domain/event.ts";
import type { Scope } from "../domain/subject.ts";
import {
  type Env,
  enoughCover,
  type Facts,
  formatAmount,
  formatPercent,
  formatPrice,
  formatUsd,
  type WindowSpec,
} from "../rules/index.ts";

type Line = readonly [string, string];

/** The exchange's scale of what it may do to an account, which is no word on how near that is. */
export const tierLine = "Exchange's tier";

export function detailsOf(scope: Scope, env: Env): readonly Line[] {
  const lines: Line[] = [];
  const add = (name: string, text: string | null): void => {
    if (text !== null) lines.push([name, text]);
  };
  if (scope === "position" && env.position) {
    add("Position", positionText(env.position));
    add("Mark price", price(env.position, "markPrice", env));
    add("Liquidation price", liquidationText(env.position, env));
    add("Distance", percent(env.position, "liquidationDistance"));
    add("Unrealized PnL", usd(env.position, "unrealizedPnl"));
  }
  if ((scope === "position" || scope === "trader") && env.trader) {
    add("Margin ratio", percent(env.trader, "marginRatio"));
    add("Equity", usd(env.trader, "equity"));
    add("Free collateral", usd(env.trader, "freeCollateral"));
    add(tierLine, text(env.trader, "riskTier"));
  }
  if (scope === "wallet" && env.wallet) {
    add("Equity", usd(env.wallet, "equity"));
    add("PnL", usd(env.wallet, "pnl"));
  }
  if (scope === "market" && env.market) {
    add("Mark price", price(env.market, "markPrice", env));
    add("Oracle price", price(env.market, "oraclePrice", env));
    add("Status", text(env.market, "status"));
  }
  if (scope === "book" && env.book) {
    add("Net notional", usd(env.book, "netNotional"));
    add("Gross notional", usd(env.book, "grossNotional"));
    add("Equity", usd(env.book, "equity"));
    add("Worst margin ratio", percent(env.book, "worstMarginRatio"));
    add("Wallets", amount(env.book, "wallets"));
  }
  if (scope === "pair" && env.pair) {
    add("Legs", text(env.pair, "legs"));
    add("Naked", nakedText(env.pair));
    add("Imbalance", percent(env.pair, "imbalance"));
    add("Broken by", text(env.pair, "brokenBy"));
  }
  return lines;
}

/** What answers from a part of its window too: a person has to know that it is a part. */
const fromParts: ReadonlySet<WindowSpec["fn"]> = new Set(["maxOver", "drawdown", "sumOver", "countOver"]);

/**
 * How much of their time was watched, or told, of windows that miss a part of it.
 * @param shareOf a window, 0–1
 */
export function coverOf(
  specs: readonly WindowSpec[],
  shareOf: (spec: WindowSpec, index: number) => number,
): readonly Line[] {
  const told = new Set<string>();
  return specs.flatMap((spec, index): Line[] => {
    const { fn, path, windowMs } = spec;
    if (!fromParts.has(fn)) return [];
    const share = shareOf(spec, index);
    if (share >= enoughCover) return [];
    const name = `${pathText(path)}, ${windowMs === "today" ? windowMs : formatDurationMs(windowMs)}`;
    // A peak and the fall from it look through one window.
    if (told.has(name)) return [];
    told.add(name);
    return [[`Seen of ${fn}(${name})`, formatPercent(Math.floor(share * 100) / 100)]];
  });
}

function pathText(path: WindowSpec["path"]): string {
  if (path.kind === "event") return path.field === null ? path.event : `${path.event}.${path.field}`;
  return `${path.symbol === null ? path.scope : `${path.scope}[${path.symbol}]`}.${path.field}`;
}

/**
 * Figures of an event, each with its unit.
 * @param market of the event, whose tick its price has
 */
export function eventDetailsOf(event: Event, market?: Facts): readonly Line[] {
  const lines: Line[] = [];
  for (const [name, label, write] of eventFields) {
    const value = event.fields[name];
    if (value === null || value === undefined || value === "") continue;
    lines.push([
      label,
      typeof value === "number" ? write(value, tickOf(market)) : (bookSides[String(value)] ?? String(value)),
    ]);
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

/** An order's side, as people say it. */
const bookSides: Readonly<Record<string, string>> = { bid: "buy", ask: "sell" };

function text(facts: Facts, field: string): string | null {
  const value = facts.values[field];
  return typeof value === "string" && value !== "" ? value : null;
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

function nakedText(pair: Facts): string | null {
  const size = number(pair, "nakedSize");
  if (size === null) return null;
  const notional = usd(pair, "nakedNotional");
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
  return Number.isFinite(distance) ? price(position, "liquidationPrice", env) : "none";
}

function percent(facts: Facts, field: string): string | null {
  const value = number(facts, field);
  return value === null ? null : formatPercent(value);
}

function positionText(position: Facts): string | null {
  const size = number(position, "size");
  const side = text(position, "side");
  const symbol = text(position, "symbol");
  if (size === null || side === null || symbol === null) return null;
  const notional = usd(position, "notional");
  return `${side} ${formatAmount(Math.abs(size))} ${symbol}${notional ? ` (${notional})` : ""}`;
}
