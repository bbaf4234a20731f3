/** Accounts on the ledger that the exchange's instructions name. */
import { logAuthority, stopLossAddress } from "../../wallet/address.ts";
import { exchangeAccounts, keyNamed } from "../server/answers/exchange.ts";
import type { Account, Market } from "../state.ts";
import { splineOf } from "./program-addresses.ts";

/** Accounts that every instruction of the exchange's program names. */
export const programAccounts = {
  logAuthority: logAuthority(),
  globalConfig: exchangeAccounts.globalConfig,
  globalTraderIndex: exchangeAccounts.globalTraderIndex,
  activeTraderBuffer: exchangeAccounts.activeTraderBuffer,
};
export const permissionAccount = keyNamed("onboarding permission");

/** The accounts that a stop loss in a market names, without the payer and the order. */
export function stopLossParts(account: Account, market: Market) {
  return {
    ...programAccounts,
    traderAccount: account.address,
    perpAssetMap: exchangeAccounts.perpAssetMap,
    orderbook: market.spec.marketPubkey,
    spline: splineOf(market.spec),
    positionAuthority: account.wallet.authority,
    stopLossAccount: stopLossAddress(account.address, market.spec.assetId),
  };
}
