/** Updates the profit of each wallet from the records of its histories. */

import type { Event } from "../../domain/event.ts";
import type { ChangesBuilder } from "../../domain/stored/changes-builder.ts";
import type { Today } from "../day/today.ts";
import type { WalletEntry } from "../wallets/wallets.ts";
import type { ProfitFigures } from "./profit-figures.ts";
import { accountOf, paymentOf, tradeOf, transferOf } from "./records/flows.ts";
import { shownByOtherSide } from "./records/shown-by-other-side.ts";
import type { TransferDirections } from "./records/transfer-directions.ts";

export class ProfitRecords {
  readonly #today: Today;
  readonly #directions: TransferDirections;
  readonly #figures: ProfitFigures;
  readonly #note: (text: string) => void;

  constructor(options: {
    readonly today: Today;
    readonly directions: TransferDirections;
    readonly figures: ProfitFigures;
    /** Writes to the log. */
    readonly note: (text: string) => void;
  }) {
    this.#today = options.today;
    this.#directions = options.directions;
    this.#figures = options.figures;
    this.#note = options.note;
  }

  /**
   * Takes a new record of a history. The caller stores the profit after all records of a reading were taken.
   * @param read all records that were read with it
   * @returns true if the figures changed
   */
  take(entry: WalletEntry, event: Event, read: readonly Event[], builder: ChangesBuilder): boolean {
    if (event.kind === "collateral") return this.#takeFlow(entry, event, read, builder);
    const record = tradeOf(event);
    if (record === null || isPast(entry, event, record.account)) return false;
    if (!entry.profit.changes.takeRecord(record, builder.atMs)) return false;
    this.#figures.refresh(entry, builder, false);
    this.#figures.readHidden(entry, builder);
    return true;
  }

  /** Called after all records of a reading were taken. The caller stores the profit. @returns as for `take` */
  takeRead(entry: WalletEntry, builder: ChangesBuilder): boolean {
    let directed = false;
    for (const { event, read } of this.#directions.takeDirected(entry))
      if (this.#takeFlow(entry, event, read, builder)) directed = true;
    const { changes } = entry.profit;
    const { open } = changes;
    const reopened = changes.settle(builder.atMs);
    if (this.#figures.takeProofs(entry)) entry.profit.keep(builder);
    if (changes.open === open) return directed;
    this.#figures.refresh(entry, builder, false);
    this.#figures.readHidden(entry, builder);
    if (reopened.length > 0) this.#figures.opened(entry, builder);
    return true;
  }

  /** Takes stored payments of the funding history, before the first observation. */
  rememberPayments({ profit }: WalletEntry, stored: readonly Event[], atMs: number): void {
    const payments = stored.flatMap((event) => paymentOf(event) ?? []);
    profit.changes.rememberPayments(payments, atMs);
  }

  /** Takes records of the funding history. The caller stores the profit. @returns as for `take` */
  takePayments(entry: WalletEntry, read: readonly Event[], builder: ChangesBuilder): boolean {
    const payments = read.flatMap((event) => paymentOf(event) ?? []);
    if (!entry.profit.changes.takePayments(payments, builder.atMs)) return false;
    this.#figures.refresh(entry, builder, false);
    return true;
  }

  /** The collateral history was read. @param onlyOlder only older pages of it @returns true if open changes were settled */
  historyRead(entry: WalletEntry, onlyOlder: boolean, builder: ChangesBuilder): boolean {
    entry.node.facts.seenMs.collateral = builder.atMs;
    const { profit } = entry;
    this.#figures.begin(entry, builder);
    const waited = !onlyOlder && profit.changes.open.length > 0;
    const expired = waited && profit.changes.expire(builder.atMs);
    if (!onlyOlder) profit.release(builder.atMs, true);
    this.#figures.refresh(entry, builder);
    if (!entry.injected) profit.publish();
    if (waited) profit.keep(builder);
    else profit.keepHigh(builder);
    return expired;
  }

  /** @returns as for `take` */
  #takeFlow(entry: WalletEntry, event: Event, read: readonly Event[], builder: ChangesBuilder): boolean {
    const { profit, wallet } = entry;
    const account = accountOf(event);
    const usd = this.#directions.flowOf(entry, event, read);
    const transfer = transferOf(event);
    const { slot, slotIndex: index, fields } = event;
    const after = typeof fields.after === "number" ? { afterUsd: fields.after } : {};
    const within = transfer?.within ? ({ within: true } as const) : {};
    const own =
      account === null || usd === null
        ? null
        : ({ kind: "flow", account, slot, index, usd, ...after, ...within } as const);
    const record = own === null ? null : { ...own, ...shownByOtherSide(entry, event, own, read) };
    const isAfter = record !== null && profit.changes.isAfterState(record);
    // A transfer between two watched accounts leaves the wallet's total unchanged.
    this.#today.take(event, usd ?? (transfer?.within ? 0 : null), isAfter);
    if (account === null || isPast(entry, event, account)) return false;
    if (usd === null) {
      profit.changes.explained.rough.takeUnknown({ account, slot, index });
      if (transfer !== null) this.#directions.wait(wallet.name, event, read);
      if (transfer !== null && !transfer.within)
        this.#note(
          `${wallet.name}: a transfer at slot ${event.slot} does not say whether it came in or went out; wallet.pnl counts it as profit or loss`,
        );
      return false;
    }
    if (usd === 0 || record === null) return false;
    const other = transfer === null ? undefined : this.#directions.takeOtherSide(entry, event, usd);
    const movedBefore = other !== undefined && this.#takeFlow(entry, other, [event], builder);
    const counts = profit.takeFlow(account, slot, usd, isAfter);
    // A transfer within the wallet was never part of the profit. Nor was a flow that an open change shows: with it profit
    // was unknown, or contained the change as what it is.
    const isHidden = transfer?.within !== true && !profit.changes.isOpenAt(record);
    if (counts && usd > 0 && isHidden) profit.takePaidIn(account, slot, usd, isAfter);
    if (!profit.changes.takeRecord(record, builder.atMs) && !counts) return movedBefore;
    this.#figures.refresh(entry, builder, false);
    return true;
  }
}

/** True for a record from before profit began: the first reading of a history contains such records, and so does one after a stop. */
function isPast({ profit }: WalletEntry, { backfilled, slot }: Event, account: string): boolean {
  return backfilled && !profit.isSince(account, slot);
}
