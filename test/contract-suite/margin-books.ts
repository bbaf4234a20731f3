/** The input of the SDK's calculators, out of what the simulator answers about one wallet. */
import * as sdk from "@ellipsis-labs/rise";
import { traderAddress } from "../../src/wallet/address.ts";
import type { Desk } from "./desk.ts";

type Snapshot = Awaited<ReturnType<ReturnType<sdk.PhoenixHttpClient["traders"]>["getTraderStateSnapshot"]>>;

export interface Books {
  readonly snapshot: Snapshot["snapshot"] & {
    authority: string;
    traderPdaIndex: number;
    messageType: "snapshot";
  };
  readonly inputs: sdk.TraderMarginInputs;
  /** The margin inputs of subaccount 0. */
  readonly cross: sdk.SubaccountMarginInputs;
  readonly summaries: sdk.MarketSummary[];
  readonly marks: Record<string, number>;
  readonly params: sdk.MarketParams[];
  readonly markets: sdk.NormalizedMarketParamsBySymbol;
  readonly views: sdk.TraderView[];
  readonly desk: Desk;
}

export async function openBooks(desk: Desk, authority = desk.lived.authority): Promise<Books> {
  const { client } = desk;
  const { snapshot, ...head } = await client.api.traders().getTraderStateSnapshot(authority);
  const message = {
    ...head,
    ...snapshot,
    authority,
    traderPdaIndex: 0,
    messageType: "snapshot" as const,
  };
  const inputs = sdk.buildTraderMarginInputsFromSnapshot(message as never);
  const summaries = (await client.api.markets().getMarkets()).map(summaryOf);
  const stats = (await client.api.markets().getLatestMarketsStats()).markets;
  const marks = Object.fromEntries(stats.map((it) => [it.symbol, it.mark_price]));
  const params = Object.values(sdk.buildMarketParamsBySymbol(summaries, marks)) as sdk.MarketParams[];
  const views = [];
  for (const { subaccountIndex } of inputs.subaccounts) {
    const pda = traderAddress(authority, { pdaIndex: 0, subaccount: subaccountIndex });
    views.push(await client.api.traders().getTrader(pda));
  }
  return {
    snapshot: message as never,
    inputs,
    cross: inputs.subaccounts[0]!,
    summaries,
    marks,
    params,
    markets: sdk.buildNormalizedMarketParamsBySymbol(params),
    views,
    desk,
  };
}

/** The calculators read an older form of a market, which the API gives no more: basis points, units in a group. */
function summaryOf(market: sdk.ExchangeMarketConfig): sdk.MarketSummary {
  const none = { value: 0, decimals: 0, ui: "0" } as never;
  const bps = (name: keyof typeof market.riskFactors) => Math.round(Number(market.riskFactors[name]) * 100);
  return {
    ...market,
    units: { tickSizeInQuoteLotsPerBaseLot: market.tickSize, baseLotsDecimals: market.baseLotsDecimals },
    fees: { takerFeeMicro: market.takerFee * 1e6, makerFeeMicro: market.makerFee * 1e6 },
    openInterest: none,
    openInterestCap: none,
    maxLiquidationSize: none,
    leverageTiers: market.leverageTiers.map((tier) => ({
      maxLeverage: tier.maxLeverage,
      maxSizeBaseLots: Number(tier.maxSizeBaseLots),
      limitOrderRiskFactor: Math.round(tier.limitOrderRiskFactor * 100),
    })),
    riskFactors: {
      maintenance: bps("maintenance"),
      backstop: bps("backstop"),
      highRisk: bps("highRisk"),
      upnl: bps("upnl"),
      upnlForWithdrawals: bps("upnlForWithdrawals"),
      cancelOrder: bps("cancelOrder"),
    },
    fundingIntervalInSlots: 0,
    fundingPeriodInSlots: 0,
    fundingStartIntervalSlot: 0,
    cumulativeFundingRate: 0,
  } as never;
}
