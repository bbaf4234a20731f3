/** Reads the example records into the shapes of `risk/`. The daemon has its own reader; tests keep to this one. */

import { readFileSync } from "node:fs";
import type { AccountRisk, MarketRisk, Side } from "../../src/margin/model.ts";
import { bpsFromPercent, intFrom } from "../../src/margin/units.ts";

export interface TokenAmount {
  value: number;
  decimals: number;
}

type Amounts<K extends string> = Record<K, TokenAmount>;

export interface WirePosition
  extends Amounts<
    | "positionSize"
    | "entryPrice"
    | "unrealizedPnl"
    | "discountedUnrealizedPnl"
    | "positionInitialMargin"
    | "initialMargin"
    | "maintenanceMargin"
    | "backstopMargin"
    | "limitOrderMargin"
    | "positionValue"
    | "unsettledFunding"
    | "liquidationPrice"
  > {
  symbol: string;
}

export interface WireView
  extends Amounts<
    | "collateralBalance"
    | "effectiveCollateral"
    | "effectiveCollateralForWithdrawals"
    | "unrealizedPnl"
    | "discountedUnrealizedPnl"
    | "unsettledFundingOwed"
    | "portfolioValue"
    | "maintenanceMargin"
    | "cancelMargin"
    | "initialMargin"
    | "initialMarginForWithdrawals"
  > {
  riskState: string;
  riskTier: string;
  positions: WirePosition[];
}

interface WireState {
  snapshot: {
    subaccounts: {
      subaccountIndex: number;
      collateral: string;
      positions: {
        symbol: string;
        basePositionLots: string;
        virtualQuotePositionLots: string;
        unsettledFundingQuoteLots: string;
      }[];
      orders: {
        symbol: string;
        orders: {
          side: Side;
          priceTicks: string;
          sizeRemainingLots: string;
          reduceOnly: boolean;
          status: string;
        }[];
      }[];
    }[];
  };
}

interface WireMarket {
  symbol: string;
  tickSize: number;
  baseLotsDecimals: number;
  leverageTiers: { maxLeverage: number; maxSizeBaseLots: number; limitOrderRiskFactor: number }[];
  riskFactors: Record<
    "maintenance" | "backstop" | "highRisk" | "upnl" | "upnlForWithdrawals" | "cancelOrder",
    number
  >;
}

function example<T>(name: string): T {
  return JSON.parse(readFileSync(new URL(`./examples/${name}.json`, import.meta.url), "utf8")) as T;
}

export const crossView = example<WireView>("trader-view");
export const isolatedView = example<WireView>("trader-view-isolated");

export const markets: ReadonlyMap<string, MarketRisk> = new Map(
  example<WireMarket[]>("exchange-markets").map((market) => [
    market.symbol,
    {
      symbol: market.symbol,
      tickSize: market.tickSize,
      baseLotsDecimals: market.baseLotsDecimals,
      leverageTiers: market.leverageTiers.map((tier) => ({
        maxSizeBaseLots: tier.maxSizeBaseLots,
        maxLeverage: tier.maxLeverage,
        limitOrderRiskFactorBps: bpsFromPercent(tier.limitOrderRiskFactor),
      })),
      riskFactors: {
        maintenance: bpsFromPercent(market.riskFactors.maintenance),
        cancelOrder: bpsFromPercent(market.riskFactors.cancelOrder),
        backstop: bpsFromPercent(market.riskFactors.backstop),
        highRisk: bpsFromPercent(market.riskFactors.highRisk),
        upnl: bpsFromPercent(market.riskFactors.upnl),
        upnlForWithdrawals: bpsFromPercent(market.riskFactors.upnlForWithdrawals),
      },
    },
  ]),
);

const state = example<WireState>("trader-state-snapshot");

/** Subaccount 0 is cross (BTC long, SOL short, two orders), 1 is isolated (GOLD long). */
export function exampleAccount(subaccountIndex: 0 | 1): AccountRisk {
  const subaccount = state.snapshot.subaccounts.find((one) => one.subaccountIndex === subaccountIndex)!;
  return {
    collateralQuoteLots: intFrom(subaccount.collateral),
    positions: subaccount.positions.map((row) => ({
      symbol: row.symbol,
      baseLots: intFrom(row.basePositionLots),
      virtualQuoteLots: intFrom(row.virtualQuotePositionLots),
      unsettledFundingQuoteLots: intFrom(row.unsettledFundingQuoteLots),
    })),
    orders: subaccount.orders.flatMap(({ symbol, orders }) =>
      orders.map((row) => ({
        symbol,
        side: row.side,
        priceTicks: intFrom(row.priceTicks),
        remainingLots: intFrom(row.sizeRemainingLots),
        reduceOnly: row.reduceOnly,
        status: row.status,
      })),
    ),
  };
}

export const marks: ReadonlyMap<string, number> = new Map([
  ["BTC", 60_400],
  ["SOL", 15_135],
  ["ETH", 30_124],
  ["GOLD", 24_116],
]);
