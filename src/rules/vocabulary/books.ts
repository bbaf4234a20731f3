/** Vocabulary of rules for aggregates over several wallets: books (what a rule selects) and pairs (declared hedges). */
import type { Source } from "../../domain/sources.ts";
import { group } from "./field.ts";
import type { Field } from "./field-types.ts";

const risk: readonly Source[] = ["traderState", "markets", "marketConfig"];
const held = group(["traderState", "marketConfig"]);
const marked = group(risk);
const pnl = group([...risk, "collateral"]);
const flows = group(["collateral"]);
const fills = group(["fills"]);
const funding = group(["funding"]);
const none = group([]);

/** The causes of a pair's break; empty: not broken, or the cause is not known. */
const breakers = ["adl", "liquidation", "stop", "fill", ""];

const book: readonly Field[] = [
  marked.number("netNotional", "usd", "longs less shorts of what it counts: of its market, or of all"),
  marked.number("grossNotional", "usd", "longs and shorts of what it counts"),
  marked.number("netSize", "units", "signed, base units; of books of one market"),
  marked.number("equity", "usd", "of its wallets, whatever they hold"),
  pnl.awaited("pnlToday", "usd", "portfolio", "sum of its wallets' pnlToday; positive is profit"),
  flows.number("netDeposits", "usd", "sum of its wallets' netDeposits"),
  fills.number("feesToday", "usd", "sum of its wallets' feesToday; positive: paid"),
  funding.number("fundingToday", "usd", "sum of its wallets' fundingToday; positive: received"),
  marked.numberUpTo(
    10,
    "worstMarginRatio",
    "ratio",
    "highest margin ratio among its wallets' accounts",
    "0 with nothing at stake, +∞ with margin but no collateral",
  ),
  marked.number(
    "moveToLiquidation",
    "ratio",
    "smallest move of all marks together, either way, that makes one of its wallets' accounts liquidatable",
    "+∞",
  ),
  marked.number(
    "adverseMoveToLiquidation",
    "ratio",
    "smallest move of each mark against its own position that makes one of its wallets' accounts liquidatable",
    "+∞",
  ),
  none.text("label", "of a book by label: the value of the label; else empty"),
  none.number("wallets", "count", "wallets that it is made of"),
  none.derivedNumber(
    "staleWallets",
    "count",
    "those whose accounts were not read for too long; its other figures are unknown while there are any",
    "staleWallets",
  ),
];

const pair: readonly Field[] = [
  none.text("name", "its name in the configuration"),
  none.text("symbol", "the market that it hedges in"),
  none.number("tolerance", "ratio", "the imbalance up to which it counts as whole"),
  held.numberUpTo(
    2,
    "imbalance",
    "ratio",
    "|sum of the legs' sizes| / size of the largest leg: 0 hedged, 1 a leg without its counterpart",
    "0 with all legs flat",
  ),
  held.number("nakedSize", "units", "sum of the legs' sizes, signed: what is not hedged"),
  marked.number("nakedNotional", "usd", "|naked size| × mark price", "0 when nothing is naked"),
  held.oneOf(
    "brokenBy",
    breakers,
    "what happened on a leg since it was last whole; empty: not known, or whole",
  ),
  held.duration(
    "lopsidedFor",
    "time since its imbalance was last within the tolerance; 0 while it is",
    "lopsidedFor",
    "+∞ when it was not since watching began",
  ),
  held.text("legs", "each leg with its size, for people"),
];

export const aggregateFields = { book, pair } as const;
