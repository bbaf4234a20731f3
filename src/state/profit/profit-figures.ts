/** Refreshes the figures of profit and of the day after states or records changed them; starts after all of a wallet was read. */

import type { ChangesBuilder } from "../../domain/stored/changes-builder.ts";
import type { Accounts } from "../accounts/accounts.ts";
import type { Today } from "../day/today.ts";
import type { WalletEntry } from "../wallets/wallets.ts";
import type { SpotFlow } from "./changes/spot-flows.ts";
import type { HistoryReadings } from "./history-readings.ts";

export class ProfitFigures {
  readonly #accounts: Accounts;
  readonly #today: Today;
  readonly #readings: HistoryReadings;
  readonly #note: (text: string) => void;
  readonly #onSpotFlow: (wallet: string, atMs: number) => void;

  constructor(options: {
    readonly accounts: Accounts;
    readonly today: Today;
    readonly readings: HistoryReadings;
    /** Writes to the log. */
    readonly note: (text: string) => void;
    /** Called when collateral in other assets was paid in or out. */
    readonly onSpotFlow: (wallet: string, atMs: number) => void;
  }) {
    this.#accounts = options.accounts;
    this.#today = options.today;
    this.#readings = options.readings;
    this.#note = options.note;
    this.#onSpotFlow = options.onSpotFlow;
  }

  begin(entry: WalletEntry, builder: ChangesBuilder): void {
    const { profit, wallet, node, injected } = entry;
    if (injected || profit.hasBegun) return;
    if (!(wallet.pdaIndices ?? profit.comparedIndices).every((one) => profit.comparedIndices.includes(one)))
      return;
    if (profit.comparedIndices.length === 0) return;
    const historyRead = node.facts.seenMs.collateral !== undefined;
    const text = profit.begin(wallet.pdaIndices, this.#accounts.ofWallet(wallet.name), historyRead, builder);
    if (text !== null) this.#note(`${wallet.name}: ${text}`);
    if (!profit.hasBegun) return;
    this.#today.refresh(entry);
    profit.publish();
  }

  /** @param keep false: the caller stores the day later */
  refresh(entry: WalletEntry, builder: ChangesBuilder, keep = true): void {
    for (const flow of entry.profit.changes.takeSpotFlows()) this.takeSpotFlow(entry, flow, builder);
    entry.profit.refresh();
    this.#today.refresh(entry);
    if (keep) this.#today.keep(entry.wallet.name, builder);
  }

  /** Takes a flow of collateral in other assets. */
  takeSpotFlow({ profit, wallet }: WalletEntry, flow: SpotFlow, builder: ChangesBuilder): void {
    profit.takeFlow(flow.account, flow.slot, flow.usd, flow.after);
    this.#onSpotFlow(wallet.name, builder.atMs);
    this.#today.takeFlow(wallet.name, flow);
    this.#today.keep(wallet.name, builder);
    profit.keep(builder);
  }

  /** Called when open changes changed: stores them, and requests readings of the histories. */
  opened(entry: WalletEntry, builder: ChangesBuilder): void {
    entry.profit.keep(builder);
    this.#readings.ask(entry, builder);
  }

  /** Called when the estimate of a trade may hide a flow: requests readings of the collateral history, now if none is running, and later. */
  readHidden(entry: WalletEntry, builder: ChangesBuilder): void {
    const { profit } = entry;
    const usd = profit.changes.explained.rough.takeHidden(profit.hiddenLimits, builder.atMs);
    if (usd === 0 || !this.#readings.asked) return;
    const isUnderWay = this.#readings.isUnderWay(entry);
    profit.held.add(builder.atMs, usd);
    this.takeProofs(entry);
    profit.keep(builder);
    if (!isUnderWay) this.#readings.ask(entry, builder);
  }

  /** @returns true if there were any: the profit that is held back changes then */
  takeProofs({ profit: { changes, held } }: WalletEntry): boolean {
    const proofs = changes.explained.rough.takeProofs();
    for (const proof of proofs) held.prove(proof);
    return proofs.length > 0;
  }
}
