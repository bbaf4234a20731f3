/** All subaccounts of a wallet: what risk is computed from. The floor under what the stream tells. */
import type { SubaccountState } from "../../domain/account.ts";
import { ExchangeError, type Mirrored } from "../../exchange/index.ts";
import type { AccountBook } from "../accounts.ts";
import type { BadRecords } from "../bad-records.ts";
import type { CollectedWallet, WalletCollector } from "../collector.ts";
import type { StreamFeed } from "../stream-feed.ts";
import { subaccountState } from "../translate/trader-state.ts";

/** A list of subaccounts that got lost must not read as positions that are gone. */
const holdsAnything = ({ positions, collateralQuoteLots }: SubaccountState): boolean =>
  positions.length > 0 || collateralQuoteLots !== 0n;

const nothing: readonly SubaccountState[] = [];

export function traderStateCollector(parts: {
  readonly accounts: AccountBook;
  readonly badRecords: BadRecords;
  /** A trader account that was not known before. */
  readonly onNewAccount: (wallet: string) => void;
  /** Takes an answer and gives back what is known with it; null: it is older than that. */
  readonly live?: Pick<StreamFeed, "elapsedMs" | "polledState"> | null;
}): WalletCollector {
  const { accounts, badRecords, live } = parts;
  /** The last answers about each wallet, in the order of its PDA indices: the next ones share with them what is the same. */
  const last = new Map<CollectedWallet, (readonly SubaccountState[])[]>();
  const onUnknown = (field: string, word: string) => badRecords.unknownWord("traderState", field, word);
  return {
    source: "traderState",
    scope: "wallet",
    needsSession: false,
    async run({ client, wallet, call, nowMs, observe }) {
      let failure: unknown = null;
      const before = last.get(wallet) ?? Array.from(wallet.pdaIndices, () => nothing);
      last.set(wallet, before);
      for (const [place, pdaIndex] of wallet.pdaIndices.entries()) {
        const { authority } = wallet;
        let state: Awaited<ReturnType<typeof client.traderState>>;
        const askedMs = live?.elapsedMs() ?? 0;
        try {
          state = await client.traderState({ authority, traderPdaIndex: pdaIndex }, call());
        } catch (error) {
          // One that cannot be read does not blind the others.
          if (!(error instanceof ExchangeError)) throw error;
          failure ??= error;
          continue;
        }
        const { subaccounts: listed, capabilities } = state.snapshot;
        const cold = capabilities.state === "cold" || capabilities.state === "uninitialized";
        if (listed.length === 0 && !cold && before[place]?.some(holdsAnything)) {
          failure ??= new ExchangeError({
            endpoint: "traderState",
            reason: "bad-record",
            what: "no subaccounts of an account that holds something and is not cold",
          });
          continue;
        }
        const whole: Mirrored = { ...state, subaccounts: state.snapshot.subaccounts, told: null };
        const known = live ? live.polledState(wallet, pdaIndex, state, askedMs) : whole;
        if (known === null) continue;
        const subaccounts = known.subaccounts.map((row, i) => {
          const there = before[place]?.[i];
          return subaccountState(
            row,
            onUnknown,
            there?.subaccount === row.subaccountIndex ? there : undefined,
          );
        });
        before[place] = subaccounts;
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
          slot: known.slot,
          slotIndex: known.slotIndex,
          subaccounts,
          ...(known.told === null ? {} : { told: known.told }),
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
