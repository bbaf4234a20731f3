/**
 * The exchange's own risk figures of each trader account: a check of the computed ones, and the price of spot
 * collateral.
 */
import { ExchangeError } from "../../exchange/index.ts";
import type { AccountBook } from "../accounts.ts";
import type { BadRecords } from "../anomalies/bad-records.ts";
import type { WalletCollector } from "../collector.ts";
import { traderViewState } from "../translate/trader-view.ts";

export function traderViewCollector(accounts: AccountBook, badRecords: BadRecords): WalletCollector {
  const onUnknown = (field: string, word: string) => badRecords.unknownWord("traderView", field, word);
  return {
    source: "traderView",
    scope: "wallet",
    needsSession: false,
    async run({ client, wallet, call, nowMs, observe }) {
      // Without the state there is nothing to compare with.
      if (!accounts.complete(wallet)) return "later";
      for (const { address } of accounts.present(wallet.name)) {
        try {
          const view = await client.traderView({ traderPubkey: address }, call());
          await observe({
            kind: "traderView",
            atMs: nowMs(),
            wallet: wallet.name,
            view: traderViewState(view, onUnknown),
          });
        } catch (error) {
          // A request for an account that does not exist (yet, or any more) is refused; the others are read anyway.
          if (!(error instanceof ExchangeError && error.reason === "refused")) throw error;
        }
      }
      return "done";
    },
  };
}
