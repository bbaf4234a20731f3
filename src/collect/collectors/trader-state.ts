/**
 * All subaccounts of a wallet: the input of the risk computation, and the fallback for the stream.
 *
 * An active account may be answered without subaccounts. If it may hold something, such an answer is accepted only
 * after three in a row, each of a later slot, and if the trader views of its accounts are empty too. Until then the
 * read counts as failed: a lost list must not look like closed positions. The same applies to a repeated old answer.
 */

import type { TraderView } from "../../contract/index.ts";
import type { SubaccountState } from "../../domain/account.ts";
import {
  type AnswerSlots,
  ExchangeError,
  IMPOSSIBLE_SLOT,
  type LedgerSlots,
  type Mirrored,
} from "../../exchange/index.ts";
import type { AccountBook } from "../accounts.ts";
import type { BadRecords } from "../anomalies/bad-records.ts";
import { type NewestSlot, RepeatedStates } from "../anomalies/repeated-states.ts";
import type { CollectedWallet, WalletCollector, WalletRun } from "../collector.ts";
import type { StreamFeed } from "../stream/feed.ts";
import { subaccountState } from "../translate/trader-state.ts";

/** Answers in a row without subaccounts after which they are accepted. */
const emptyAnswers = 3;

/** Time with the same slot after which answers count as one old answer, ms. */
const maxSameSlotMs = 15_000;

/** Answers without subaccounts that are not accepted yet. */
interface Doubted {
  count: number;
  readonly fromSlot: number;
  slot: number;
}

/** The accounts of one PDA index, by polls. */
interface Place extends NewestSlot, AnswerSlots {
  /** By the last answer; null: none was taken since the start. */
  subaccounts: readonly SubaccountState[] | null;
  doubted: Doubted | null;
}

const holdsAnything = ({ positions, collateralQuoteLots, spotCollaterals }: SubaccountState): boolean =>
  positions.length > 0 || collateralQuoteLots !== 0n || spotCollaterals.some(({ balance }) => balance !== 0n);

const showsAnything = ({ positions, collateralBalance, spotCollaterals }: TraderView): boolean =>
  collateralBalance.value !== 0n ||
  positions.some(({ positionSize }) => positionSize.value !== 0n) ||
  spotCollaterals.some(({ balance }) => balance.value !== 0n);

export function traderStateCollector(parts: {
  readonly accounts: AccountBook;
  readonly badRecords: BadRecords;
  /** Called for a trader account that was not known before. */
  readonly onNewAccount: (wallet: string) => void;
  /** Takes an answer and returns the merged state; null: the answer is older than the known state. */
  readonly live?: Pick<StreamFeed, "polledState"> | null;
  /** Monotonic. */
  readonly elapsedMs: () => number;
  /** The regular time between two readings of a wallet, ms. */
  readonly everyMs: number;
  /** Takes the slots of all answers. */
  readonly slots: LedgerSlots;
}): WalletCollector {
  const { accounts, badRecords, live, elapsedMs, everyMs, slots } = parts;
  // The default age from which rules treat a state as stale.
  const repeated = new RepeatedStates(Math.max(maxSameSlotMs, 3 * everyMs));
  /** The last answers about each wallet, in the order of its PDA indices: later ones share their unchanged objects. */
  const last = new Map<CollectedWallet, readonly Place[]>();
  const onUnknown = (field: string, word: string) => badRecords.unknownWord("traderState", field, word);

  /** Counts an answer without subaccounts. @returns the reason why it is not accepted; null: it is */
  async function doubtOf(
    run: WalletRun,
    place: Place,
    pdaIndex: number,
    slot: number,
  ): Promise<string | null> {
    const { wallet, client, call } = run;
    place.doubted ??= { count: 0, fromSlot: slot, slot: Number.NEGATIVE_INFINITY };
    const { doubted } = place;
    if (slot > doubted.slot) doubted.count++;
    doubted.slot = Math.max(doubted.slot, slot);
    const { count, fromSlot } = doubted;
    if (count < emptyAnswers)
      return `no subaccounts of an account that is not cold, in ${count} of ${emptyAnswers} answers that it takes`;
    const listed = accounts.present(wallet.name).filter((one) => one.pdaIndex === pdaIndex);
    const asked = listed.length > 0 ? listed : accounts.of(wallet.name);
    for (const account of asked) {
      if (account.pdaIndex !== pdaIndex) continue;
      try {
        const view = await client.traderView({ traderPubkey: account.address }, call());
        if (view.slot < fromSlot) return "no subaccounts of an account whose trader view is older";
        if (showsAnything(view))
          return "no subaccounts of an account whose trader view shows positions or collateral";
      } catch (error) {
        // An account that does not exist (any more) is refused.
        if (!(error instanceof ExchangeError && error.reason === "refused")) throw error;
      }
    }
    return null;
  }

  /** Reads one PDA index. @throws ExchangeError if it cannot be read */
  async function readIndex(run: WalletRun, place: Place, pdaIndex: number): Promise<void> {
    const { client, wallet, call, nowMs, observe } = run;
    const { authority } = wallet;
    const before = place.subaccounts;
    const askedMs = elapsedMs();
    const state = await client.traderState({ authority, traderPdaIndex: pdaIndex }, call());
    // By the corrected time: the ledger continues while this machine sleeps.
    if (!slots.take(state.slot, nowMs(), place))
      throw new ExchangeError({ endpoint: "traderState", reason: "bad-record", what: IMPOSSIBLE_SLOT });
    const repeatedMs = repeated.take(place, state, elapsedMs());
    if (repeatedMs !== null) {
      const what = `repeats an answer of ${new Date(nowMs() - repeatedMs).toISOString().slice(11, 19)} UTC`;
      throw new ExchangeError({ endpoint: "traderState", reason: "server-error", what });
    }
    const { subaccounts: listed, capabilities } = state.snapshot;
    const cold = capabilities.state === "cold" || capabilities.state === "uninitialized";
    if (listed.length === 0 && !cold && (before === null || before.some(holdsAnything))) {
      const what = await doubtOf(run, place, pdaIndex, state.slot);
      if (what !== null) throw new ExchangeError({ endpoint: "traderState", reason: "bad-record", what });
    }
    place.doubted = null;
    const whole: Mirrored = { ...state, subaccounts: listed, received: null, exact: true };
    const known = live ? live.polledState(wallet, pdaIndex, state, askedMs) : whole;
    if (known === null) return;
    const subaccounts = known.subaccounts.map((row, i) => {
      const there = before?.[i];
      return subaccountState(row, onUnknown, there?.subaccount === row.subaccountIndex ? there : undefined);
    });
    place.subaccounts = subaccounts;
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
      ...(known.exact ? { exact: true } : {}),
      subaccounts,
      ...(known.received === null ? {} : { told: known.received }),
    });
    if (fresh.length > 0) parts.onNewAccount(wallet.name);
  }

  return {
    source: "traderState",
    scope: "wallet",
    needsSession: false,
    async run(run) {
      const { wallet, nowMs, observe } = run;
      const places =
        last.get(wallet) ??
        Array.from(
          wallet.pdaIndices,
          (): Place => ({
            ...{ subaccounts: null, doubted: null, newestSlot: -1, newestSinceMs: 0, doubtedSlot: null },
          }),
        );
      last.set(wallet, places);
      // All at once: a slow or unreadable one does not prevent the others.
      const reads = await Promise.allSettled(
        wallet.pdaIndices.map((pdaIndex, index) => readIndex(run, places[index]!, pdaIndex)),
      );
      const failures = reads.flatMap((one) => (one.status === "rejected" ? [one.reason as unknown] : []));
      const own = failures.find((one) => !(one instanceof ExchangeError));
      if (own !== undefined) throw own;
      const note = accounts.unstored(wallet, nowMs());
      if (note) {
        await observe(note);
        accounts.stored(wallet);
      }
      if (failures.length > 0) throw failures[0];
      return "done";
    },
  };
}
