/**
 * The line of advice about one account:
 * `Sell 23.1 SOL reduce-only, or deposit $1,240.00 to main/0.0: either ends all distance and margin alerts, info too; after that they stay quiet as long as SOL stays above $131.20 (mark $134.10 at 03:12:07 UTC). To end only what is critical: sell 8.2 SOL reduce-only, or deposit $310.00 to main/0.0.`
 */
import type { Advice } from "../domain/alerts/alert.ts";
import { timeOfDay } from "../domain/text/time-text.ts";
import type { ClearAmounts, Clearing } from "../domain/what-if.ts";
import { usdFromTicks } from "../margin/units.ts";
import { formatPercent, formatPrice } from "../rules/index.ts";
import type { Situation } from "./situation.ts";
import { enoughUsd, listed, obstaclesOf, waysOf } from "./texts.ts";

/** Maximum number of positions that are named individually. */
const maxNamed = 3;

const nouns: Readonly<Record<Clearing, string>> = {
  transfer: "transfer",
  reduce: "reduction",
  deposit: "deposit",
};

/**
 * @param marksAtMs the time of the prices, ms
 * @param shortUsd amount by which a liquidatable account's collateral is below its maintenance margin; not positive: not liquidatable
 */
export function adviceLine(
  situation: Situation,
  clear: ClearAmounts,
  marksAtMs: number,
  timezone: string,
  shortUsd: number,
): Omit<Advice, "account"> {
  const { name } = situation;
  const obstacles = obstaclesOf(name, clear);
  const why = obstacles.length === 0 ? "" : ` Not offered: ${obstacles.join("; ")}.`;
  const reductions = leastHarm(situation, clear.reductions);
  const ways = waysOf(name, { ...clear, reductions });
  const at = `at ${timeOfDay(marksAtMs, timezone)}`;
  if (ways.length === 0) {
    const kinds = clear.order.map((kind) => nouns[kind]);
    const last = kinds.pop();
    const all = kinds.length === 0 ? last : `${kinds.join(", ")} or ${last}`;
    const line = `No ${all} ends all distance and margin alerts of ${name} (${marksOf(situation, clear.upTo, at)}).${why}`;
    return { line };
  }
  const text = ways.join(", or ");
  const which = ways.length === 1 ? "this" : ways.length === 2 ? "either" : "any of them";
  const ends = `${which} ends all distance and margin alerts, info too${whileText(situation, clear.upTo)}`;
  const marks = marksOf(situation, clear.upTo, at);
  return {
    line: `${text[0]!.toUpperCase()}${text.slice(1)}: ${ends} (${marks}).${criticalText(name, clear, reductions[0]?.symbol, ways) ?? lessText(shortUsd)}${why}`,
    clears: true,
  };
}

/**
 * The least amounts that end what is critical. Null: nothing is critical; empty: they are not less than the amounts that end all.
 * @param symbol symbol of the offered reduction   @param all the ways that end everything
 */
function criticalText(
  name: string,
  { order, critical }: ClearAmounts,
  symbol: string | undefined,
  all: readonly string[],
): string | null {
  if (critical === null) return null;
  const reductions = critical.reductions.filter((one) => one.symbol === symbol);
  const ways = waysOf(name, { order, ...critical, reductions }).filter((way) => !all.includes(way));
  return ways.length === 0 ? "" : ` To end only what is critical: ${ways.join(", or ")}.`;
}

function lessText(shortUsd: number): string {
  if (Number.isNaN(shortUsd)) return "";
  return shortUsd > 0
    ? ` A deposit of less than ${enoughUsd(shortUsd)} leaves it liquidatable.`
    : " A smaller amount also helps.";
}

/** The reduction with the smallest trade, and those that are not offered. */
function leastHarm(
  { marks, markets }: Situation,
  reductions: ClearAmounts["reductions"],
): ClearAmounts["reductions"] {
  const usdOf = ({ symbol, least, along }: ClearAmounts["reductions"][number]): number => {
    const market = markets.get(symbol);
    const units = [least, ...along].reduce((sum, one) => sum + (one?.units ?? 0), 0);
    return least === null || market === undefined
      ? Number.POSITIVE_INFINITY
      : units * usdFromTicks(marks.get(symbol) ?? 0, market);
  };
  return reductions.toSorted((a, b) => usdOf(a) - usdOf(b)).slice(0, 1);
}

function whileText(situation: Situation, upTo: ClearAmounts["upTo"]): string {
  if (upTo.length === 0) return "";
  if (upTo.length > maxNamed) {
    const shares = upTo.map(({ symbol, usd }) => Math.abs(usd / markUsd(situation, symbol) - 1));
    return `; after that they stay quiet as long as no position moves ${formatPercent(Math.min(...shares))} against it`;
  }
  const bounds = upTo.map(({ symbol, direction, usd }) => {
    return `${symbol} stays ${direction === "down" ? "above" : "below"} ${priceText(situation, symbol, usd)}`;
  });
  return `; after that they stay quiet as long as ${listed(bounds)}`;
}

function marksOf(situation: Situation, upTo: ClearAmounts["upTo"], at: string): string {
  if (upTo.length === 0 || upTo.length > maxNamed) return `prices ${at}`;
  const prices = upTo.map(({ symbol }) => priceText(situation, symbol, markUsd(situation, symbol)));
  return `${upTo.length === 1 ? "mark" : "marks"} ${listed(prices)} ${at}`;
}

function markUsd({ markets, marks }: Situation, symbol: string): number {
  return usdFromTicks(marks.get(symbol) ?? Number.NaN, markets.get(symbol)!);
}

function priceText({ markets }: Situation, symbol: string, usd: number): string {
  return formatPrice(usd, usdFromTicks(1, markets.get(symbol)!));
}
