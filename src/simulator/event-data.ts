/**
 * Default `data` of event notifications by type, for control calls that state the type alone, so that any client can
 * read the inbox. One unit of SOL at its mark.
 */
import type { EVENT_DATA } from "../contract/index.ts";
import { priceUsd, tradeData } from "./accounts/orders.ts";
import { feeOf } from "./accounts/trade.ts";
import type { Account, World } from "./state.ts";

type EventType = keyof typeof EVENT_DATA;

/** @returns empty for an unknown type */
export function usualEventData(world: World, account: Account, type: string): Record<string, unknown> {
  const market = world.markets.get("SOL")!;
  const { symbol, assetId, baseLotsDecimals } = market.spec;
  const lots = 10n ** BigInt(baseLotsDecimals);
  const quote = lots * BigInt(market.markTicks) * market.tickSize;
  const fee = feeOf(market, quote, "taker");
  const [own, house] = [account.address, world.house.address];
  const order = { symbol, orderSequenceNumber: String(market.orderSequence), side: "bid" };
  const traded = () => tradeData(market, account, "bid", lots, -quote, fee);
  const data: Record<EventType, () => Record<string, unknown>> = {
    order_filled: () => ({
      ...order,
      ...{ maker: own, taker: house, tradeSequenceNumber: String(market.tradeSequence) },
      ...{ makerFee: feeOf(market, quote, "maker").toString(), takerFee: fee.toString() },
      ...{ priceInTicks: String(market.markTicks), price: priceUsd(market, market.markTicks) },
      ...{ baseLotsFilled: lots.toString(), quoteLotsFilled: quote.toString(), quantityRemaining: "0" },
      orderbookSequenceNumber: String(market.orderSequence + market.tradeSequence),
    }),
    liquidation: traded,
    stop_loss_executed: traded,
    conditional_order_executed: traded,
    backstop_liquidation: () => ({
      ...{ assetId, liquidatee: own, liquidator: house, baseLotsTransferred: lots.toString() },
      ...{ virtualQuoteLotsTransferred: (-quote).toString(), haircutRate: 100 },
      ...{ liquidateeCollateralChange: "0", liquidatorCollateralChange: "0" },
    }),
    adl: () => ({
      ...{ assetId, caller: house, closedShort: house, closedLong: own, inProfitAccount: own },
      ...{ baseLotsClosed: lots.toString(), atLossCloseValue: quote.toString() },
      ...{ inProfitCloseValue: quote.toString(), atLossCollateralChange: "0", inProfitCollateralChange: "0" },
    }),
    risk_engine_cancel_order: () => ({
      ...{ ...order, trader: own, priceInTicks: String(market.markTicks), reason: null },
      ...{ baseLotsReleased: lots.toString(), quoteLotsReleased: quote.toString(), baseLotsRemaining: "0" },
      orderbookSequenceNumber: null,
    }),
    stop_loss_order_placed: () => ({ ...order, trader: own }),
    spot_collateral_liquidation: () => ({
      ...{ liquidator: house, liquidatedTrader: own, assetIndex: 0, liquidationSize: "1" },
      quoteLotsDeposited: "1",
    }),
  };
  return Object.hasOwn(data, type) ? data[type as EventType]() : {};
}
