/** All subaccounts of a wallet: what risk is computed from. */
import { ExchangeError } from "../../exchange/index.ts";
import type { AccountBook } from "../accounts.ts";
import type { BadRecords } from "../bad-records.ts";
import type { WalletCollector } from "../collector.ts";
import { subaccountState } from "../translate/trader-state.ts";

export function traderStateCollector(parts: {
  readonly accounts: AccountBook;
  readonly badRecords: BadRecords;
  /** A trader account that was not known before. */
  readonly onNewAccount: (wallet: string) => void;
}): WalletCollector {
  const { accounts, badRecords } = parts;
  const onUnknown = (field: string, word: string) => badRecords.unknownWord("traderState", field, word);
  return {
    source: "traderState",
    scope: "wallet",
    needsSession: false,
    async run({ client, wallet, call, nowMs, observe }) {
      let failure: unknown = null;
      for (const pdaIndex of wallet.pdaIndices) {
        const { authority } = wallet;
        let state: Awaited<ReturnType<typeof client.traderState>>;
        try {
          state = await client.traderState({ authority, traderPdaIndex: pdaIndex }, call());
        } catch (error) {
          // One that cannot be read does not blind the others.
          if (!(error instanceof ExchangeError)) throw error;
          failure ??= error;
          continue;
        }
        const subaccounts = state.snapshot.subaccounts.map((row) => subaccountState(row, onUnknown));
        const atMs = nowMs();
        const fresh = accounts.take(
          wallet,
          pdaIndex,
          subaccounts.map((one) => one.subaccount),
        );
        await observe({
          kind: "accounts",
          wallet: wallet.name,
          pdaIndex,
          atMs,
          slot: state.slot,
          slotIndex: state.slotIndex,
          subaccounts,
        });
        if (fresh.length > 0) parts.onNewAccount(wallet.name);
      }
      const note = accounts.unstored(wallet, nowMs());
      if (note) {
        await observe(note);
        accounts.stored(wallet);
      }
      if (failure !== null) throw failure;
      return "done";
    },
  };
}
