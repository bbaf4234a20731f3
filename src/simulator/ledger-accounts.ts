/** Accounts on the chain that the exchange's instructions name. */
import { PROGRAM_ID, STOP_LOSS_SEED } from "../contract/index.ts";
import { addressBytes, logAuthority, programAddress } from "../wallet/address.ts";
import { exchangeAccounts, keyNamed } from "./answers/exchange.ts";
import { splineOf } from "./program-addresses.ts";
import type { Account, Market } from "./state.ts";

/** Accounts that every instruction of the exchange's program names. */
export const programAccounts = {
  logAuthority: logAuthority(),
  globalConfig: exchangeAccounts.globalConfig,
  globalTraderIndex: exchangeAccounts.globalTraderIndex,
  activeTraderBuffer: exchangeAccounts.activeTraderBuffer,
};
export const permissionAccount = keyNamed("onboarding permission");

/** Where the stop loss of a trader account in a market is kept. */
export function stopLossAddress(traderAccount: string, assetId: number): string {
  const asset = new Uint8Array(8);
  new DataView(asset.buffer).setBigUint64(0, BigInt(assetId), true);
  const seeds = [new TextEncoder().encode(STOP_LOSS_SEED), addressBytes(traderAccount), asset];
  return programAddress(seeds, PROGRAM_ID);
}

/** What a stop loss of an account in a market names, but for who pays and what it says. */
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
