/** Vocabulary of rules for positions, trader accounts and wallets. */
import type { Source } from "../../domain/sources.ts";
import { group } from "./field.ts";
import type { Field } from "./field-types.ts";

/** Risk is computed from these three sources and is as old as the oldest of them. */
const risk: readonly Source[] = ["traderState", "markets", "marketConfig"];

const state = group(["traderState"]);
const marked = group(risk);
/** Figures of funding use the newest rate of each market that the account holds. */
const funded = group([...risk, "fundingRates"]);
const none = group([]);
const fills = group(["fills"]);
const fundingHistory = group(["funding"]);

export const sides = ["long", "short"] as const;

/** The rights of an account: the exchange's name, and the meaning. */
const capabilities = [
  ["placeLimitOrder", "place limit orders"],
  ["placeMarketOrder", "place market orders"],
  ["riskIncreasingTrade", "trade so that its risk grows"],
  ["riskReducingTrade", "trade so that its risk shrinks"],
  ["depositCollateral", "deposit collateral"],
  ["withdrawCollateral", "withdraw collateral"],
] as const;
export const capabilityNames: readonly string[] = capabilities.map(([name]) => name);
/** `viaActivation`: after the account is made active again, which such an action does by itself. */
export const capabilityWords = ["yes", "viaActivation", "no"] as const;

const position: readonly Field[] = [
  none.text("symbol", "the market"),
  state.oneOf("side", sides, "long or short"),
  marked.number("size", "units", "signed, base units: negative is short"),
  marked.number("notional", "usd", "size × mark price, positive"),
  marked.number("entryPrice", "price", "average entry price"),
  marked.number("markPrice", "price", "mark price"),
  marked.number(
    "liquidationPrice",
    "price",
    "mark price at which the account becomes liquidatable, all else unchanged",
    "0 for a long, +∞ for a short",
  ),
  marked.number("liquidationDistance", "ratio", "|mark − liquidation price| / mark", "+∞"),
  marked.number("unrealizedPnl", "usd", "positive is profit"),
  fills.number(
    "realizedPnlToday",
    "usd",
    "realized by the account in this market since midnight, before fees and funding; positive is profit",
  ),
  state.number("unsettledFunding", "usd", "positive: will be received"),
  state.number("accumulatedFunding", "usd", "settled so far on this position, positive: received"),
  marked.number("initialMargin", "usd", "initial margin of this market, resting orders included"),
  marked.number("maintenanceMargin", "usd", "maintenance margin of this market, resting orders included"),
  marked.number(
    "leverage",
    "times",
    "notional / the account's effective collateral",
    "+∞ without collateral",
  ),
  state.boolean("hasStopLoss", "an active stop loss exists"),
  state.boolean("hasTakeProfit", "an active take profit exists"),
  marked.number("stopLossPrice", "price", "trigger of the nearest stop loss", "0 for a long, +∞ for a short"),
  marked.number(
    "takeProfitPrice",
    "price",
    "trigger of the nearest take profit",
    "+∞ for a long, 0 for a short",
  ),
  marked.number("stopLossCoverage", "ratio", "share of the size that stop losses would close, 0–1", "0"),
  marked.number("stopLossDistance", "ratio", "|mark − nearest stop loss trigger| / mark", "+∞"),
  marked.number(
    "stopLossRoom",
    "ratio",
    "how far the execution price may be worse than the trigger: |execution − trigger| / trigger",
    "+∞",
  ),
  state.awaited("openedAgo", "duration", "fills", "time since it was opened, or turned to this side"),
];

const trader: readonly Field[] = [
  none.text("name", "as people call it: main/0.0"),
  none.number("account", "none", "PDA index"),
  none.number("subaccount", "none", "subaccount index, 0 is cross margin"),
  state.oneOf("state", ["uninitialized", "cold", "active", "reduceOnly", "frozen"], "state of the account"),
  marked.oneOf(
    "riskState",
    ["healthy", "unhealthy", "underwater", "zeroCollateralNoPositions"],
    "effective collateral against initial margin",
  ),
  marked.oneOf(
    "riskTier",
    ["safe", "atRisk", "cancellable", "liquidatable", "backstopLiquidatable", "highRisk"],
    "what the exchange may do to the account",
  ),
  marked.number("equity", "usd", "collateral + unrealized PnL + unsettled funding (+ spot)"),
  state.number("collateral", "usd", "deposited collateral after realized profit, fees and funding"),
  marked.number("effectiveCollateral", "usd", "what margin is measured against"),
  marked.number("freeCollateral", "usd", "effective collateral less initial margin, never negative"),
  marked.number("unrealizedPnl", "usd", "positive is profit"),
  marked.number("initialMargin", "usd", "initial margin of the account"),
  marked.number("maintenanceMargin", "usd", "maintenance margin of the account"),
  marked.number("cancelMargin", "usd", "below it the exchange may cancel orders"),
  marked.numberUpTo(
    10,
    "marginRatio",
    "ratio",
    "maintenance margin / effective collateral; liquidation begins at 1",
    "0 with nothing at stake, +∞ with margin but no collateral",
  ),
  marked.number("leverage", "times", "gross notional / effective collateral", "+∞ without collateral"),
  marked.number("grossNotional", "usd", "sum of the positions' notionals"),
  marked.number("netNotional", "usd", "longs less shorts"),
  marked.number(
    "moveToLiquidation",
    "ratio",
    "smallest move of all marks together, either way, that makes it liquidatable",
    "+∞",
  ),
  marked.number(
    "adverseMoveToLiquidation",
    "ratio",
    "smallest move of each mark against its own position that makes it liquidatable",
    "+∞",
  ),
  funded.duration(
    "fundingUntilMaintenance",
    "time until funding alone, at the present rates, makes it liquidatable",
    undefined,
    "+∞: it receives, or holds nothing",
  ),
  marked.list("positions", "positions", "its open positions, with the fields of `position`"),
  marked.list("orders", "orders", "its resting orders"),
  state.list("capabilities", "capabilities", "what it may do: trader.capabilities.placeLimitOrder"),
];

const pnl = group([...risk, "collateral"]);
const inbox = group(["notifications"]);
const flows = group(["collateral"]);

const wallet: readonly Field[] = [
  none.text("name", "its name in the configuration"),
  none.text("authority", "the wallet's key"),
  none.map(
    "labels",
    "texts",
    "its labels in the configuration: wallet.labels.desk",
    '"" for a missing label',
  ),
  none.map(
    "limits",
    "numbers",
    "its limits in the configuration: wallet.limits.maxInventory; of one that differs by market, that of the subject's market",
    "unknown",
  ),
  none.boolean("signedIn", "it has a working session"),
  state.duration("dataAge", "time since its trader state was read", "dataAge"),
  inbox.number("unacked", "count", "unacknowledged notifications at the exchange"),
  marked.number("equity", "usd", "of all its accounts"),
  flows.number(
    "netDeposits",
    "usd",
    "deposits less withdrawals since watching began, as the collateral history tells",
  ),
  pnl.number(
    "pnl",
    "usd",
    "equity less net deposits and transfers, since watching began; judged both ways while a change of collateral may be either",
  ),
  pnl.awaited(
    "pnlToday",
    "usd",
    "portfolio",
    "equity less what it was at midnight and what was paid in and out since; positive is profit; judged as `pnl`",
  ),
  pnl.awaited(
    "lossToday",
    "ratio",
    "portfolio",
    "share of its capital that was lost today, 0–1; 0 without a loss (see *Profit*); judged as `pnl`",
  ),
  fills.number("feesToday", "usd", "trading fees since midnight, positive: paid; rebates count against them"),
  fundingHistory.number(
    "fundingToday",
    "usd",
    "funding of the hours that ended since midnight, positive: received",
  ),
  pnl.number("highWaterMark", "usd", "highest pnl since watching began"),
  marked.number(
    "moveToLiquidation",
    "ratio",
    "smallest move of all marks together, either way, that makes one of its accounts liquidatable",
    "+∞",
  ),
  marked.number(
    "adverseMoveToLiquidation",
    "ratio",
    "smallest move of each mark against its own position that makes one of its accounts liquidatable",
    "+∞",
  ),
  funded.duration(
    "fundingUntilMaintenance",
    "time until funding alone, at the present rates, makes one of its accounts liquidatable",
    undefined,
    "+∞: they receive, or hold nothing",
  ),
];

export const accountFields = { position, trader, wallet } as const;

/** Items of `trader.positions`: the fields of a position, each with its own name. */
export const positionItemFields: readonly Field[] = position;

/** Fields of the items of `trader.orders`. */
export const orderItemFields: readonly Field[] = [
  state.text("symbol", "the market"),
  state.oneOf("side", ["bid", "ask"], "bid buys, ask sells"),
  marked.number("price", "price", "limit price"),
  marked.number("size", "units", "what remains, positive"),
  marked.number("notional", "usd", "size × price"),
  state.boolean("reduceOnly", "it can only reduce a position"),
  state.text("kind", "as the exchange calls it: limit, stopLoss, …"),
  state.awaited("age", "duration", "orders", "time since it was placed"),
];

/** Members of `trader.capabilities`. */
export const capabilityFields: readonly Field[] = capabilities.map(([name, what]) =>
  state.boolean(name, `it may ${what}, if only by being made active again`),
);
