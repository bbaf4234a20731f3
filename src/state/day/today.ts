/**
 * The amounts that each wallet earned, paid and received since midnight of the configured time zone.
 *
 * Fees, funding and realized profit are sums over the day's events, each of which is reported once. Profit is equity less the
 * equity at midnight, less the flows since. All of it is committed together with the events that change it, so that a start
 * continues exactly; events of the meantime are reported then. A sum is unknown until its history was read back to midnight.
 * The equity at midnight is perpwatch's own figure where the daemon was running, else the exchange's.
 */

import type { Event } from "../../domain/event.ts";
import type { Source } from "../../domain/sources.ts";
import type { ChangesBuilder } from "../../domain/stored/changes-builder.ts";
import type { Deadlines, Due } from "../../domain/structures/deadlines.ts";
import { dayOf } from "../../rules/index.ts";
import type { CompletenessTimes } from "../completeness-times.ts";
import { nothingOpen } from "../profit/changes/open-range.ts";
import { accountOf } from "../profit/records/flows.ts";
import type { WalletEntry } from "../wallets/wallets.ts";
import {
  type Book,
  covers,
  type Day,
  type DayFlow,
  isBefore,
  isFromExchange,
  keptToday,
  newBook,
  newDay,
  type ReadBook,
  type StoredToday,
} from "./day-book.ts";
import { noStretches, stretchesOf } from "./stretches.ts";

/** Added to the slot of an account that had two states in one slot. */
const halfSlot = 0.5;
/** Maximum time before midnight at which the equity of midnight may have been read, ms. */
const beforeMidnightMs = 60_000;
const noAccounts: readonly string[] = [];

export class Today implements Due {
  dueMs = Number.POSITIVE_INFINITY;
  queuedMs = Number.POSITIVE_INFINITY;
  place = -1;
  order: number | undefined;
  /** The books of wallets that have any value for the day. */
  readonly #books = new Map<string, Book>();
  /** The book of all other wallets. */
  #emptyBook: ReadBook;
  readonly #wallets: ReadonlyMap<string, WalletEntry>;
  readonly #completeSince: CompletenessTimes;
  readonly #timezone: string;
  readonly #dayOf: (ms: number) => { readonly startMs: number; readonly endMs: number };
  readonly #deadlines: Deadlines;
  readonly #builder: () => ChangesBuilder;
  readonly #rolled: (builder: ChangesBuilder) => void;
  #day: { readonly startMs: number; readonly endMs: number };

  constructor(options: {
    readonly wallets: ReadonlyMap<string, WalletEntry>;
    readonly completeSince: CompletenessTimes;
    readonly timezone: string;
    readonly deadlines: Deadlines;
    readonly builder: () => ChangesBuilder;
    readonly nowMs: number;
    /** Called when a new day has begun and the figures of all wallets have been reset. */
    readonly rolled: (builder: ChangesBuilder) => void;
    readonly before: Today | undefined;
  }) {
    this.order = options.before?.order;
    this.#wallets = options.wallets;
    this.#completeSince = options.completeSince;
    this.#timezone = options.timezone;
    this.#dayOf = dayOf(options.timezone);
    this.#deadlines = options.deadlines;
    this.#builder = options.builder;
    this.#rolled = options.rolled;
    this.#day = this.#dayOf(options.nowMs);
    this.#emptyBook = newBook(this.#day.startMs);
    this.#deadlines.set(this, this.#day.endMs);
  }

  /** Start of today, ms. */
  get startMs(): number {
    return this.#day.startMs;
  }

  /** True if the events of today have to be read again: no book is stored for this time zone. */
  get incomplete(): boolean {
    for (const name of this.#wallets.keys()) if (!this.#book(name).whole) return true;
    return false;
  }

  /** Returns midnight, ms, if the equity at that time is not known, else null. */
  missingMs(wallet: string): number | null {
    return this.#book(wallet).days[0]!.base === null ? this.#day.startMs : null;
  }

  restore(wallet: string, kept: StoredToday): void {
    if (kept.timezone !== this.#timezone) return;
    const book = this.#ownBook(wallet);
    const { pdaIndices } = this.#wallets.get(wallet)?.wallet ?? {};
    const { startMs: todayMs } = this.#day;
    const days = kept.days.filter(({ startMs }) => startMs >= todayMs);
    for (const day of days) if (!covers(day.base, pdaIndices)) day.base = null;
    book.days = days[0]?.startMs === todayMs ? days : [newDay(todayMs), ...days];
    book.whole = true;
  }

  /** Takes an event of today from history, for a wallet without a stored book. */
  remember(event: Event): void {
    if (event.wallet === null || !this.#wallets.has(event.wallet) || this.#book(event.wallet).whole) return;
    const { amountUsd } = event.fields;
    const within = (event.data as { readonly within?: boolean } | null)?.within === true;
    this.take(event, within ? 0 : typeof amountUsd === "number" ? amountUsd : null);
  }

  /** @param flowUsd amount of a collateral move, USD; positive: paid in, negative: paid out, null: direction not known */
  take(event: Event, flowUsd: number | null, isAfter = false): void {
    const { wallet, kind, fields, happenedMs, symbol } = event;
    if (wallet === null || (kind !== "fill" && kind !== "funding" && kind !== "collateral")) return;
    if (kind === "collateral") {
      const { slot, happenedMs: atMs } = event;
      const after = isAfter ? ({ after: true } as const) : {};
      if (flowUsd !== 0)
        this.takeFlow(wallet, { slot, atMs, usd: flowUsd, account: accountOf(event), ...after });
      return;
    }
    // An hour of funding belongs to the day in which it ends; an hour that ends at midnight belongs to the day that ends.
    const book = this.#ownBook(wallet);
    const day = this.#dayFor(book, kind === "funding" ? happenedMs - 1 : happenedMs);
    if (!day) return;
    book.changed = true;
    if (kind === "funding") day.funding += numberOf(fields.payment);
    else {
      day.fees += numberOf(fields.fee);
      if (symbol === null) return;
      const name = `${event.pdaIndex ?? 0}.${event.subaccount ?? 0}/${symbol.toUpperCase()}`;
      const realized = (day.realized[name] ?? 0) + numberOf(fields.realizedPnl);
      day.realized = { ...day.realized, [name]: realized };
    }
  }

  /** Writes the sums over events to the wallet's figures. */
  publish({ wallet, node, injected }: WalletEntry): void {
    if (injected) return;
    const book = this.#book(wallet.name);
    const { values } = node.facts;
    const [day] = book.days;
    if (this.#isComplete(wallet.name, "fills")) values.feesToday = day!.fees;
    else if (values.feesToday !== undefined) delete values.feesToday;
    if (this.#isComplete(wallet.name, "funding", wallet.pdaIndices)) values.fundingToday = day!.funding;
    else if (values.fundingToday !== undefined) delete values.fundingToday;
  }

  /** Returns the amount that an account realized today in a market, USD; undefined if not known. */
  realized(wallet: string, account: string, symbol: string): number | undefined {
    const book = this.#book(wallet);
    if (!this.#isComplete(wallet, "fills")) return undefined;
    return book.days[0]!.realized[`${account}/${symbol}`] ?? 0;
  }

  /** Computes the equity at which the profit of today is 0, after flows, states or the equity at midnight changed. */
  refresh({ wallet, node, profit, injected }: WalletEntry): void {
    if (injected) return;
    const book = this.#books.get(wallet.name);
    const { equity, pnlToday } = node.facts.values;
    profit.zeroTodayUsd = Number.NaN;
    profit.openToday = nothingOpen;
    profit.stretches = noStretches;
    // After a start the states from before it have to be compared first.
    if (!book || !profit.hasBegun || !this.#isComplete(wallet.name, "collateral")) return;
    const { base, flows, startMs } = book.days[0]!;
    if (!base) return;
    let usd = base.usd;
    const counted: DayFlow[] = [];
    for (const flow of flows) {
      const { account, atMs } = flow;
      if (isBefore(flow, base, startMs)) continue;
      // An account that did not exist when the values of midnight were requested may have held collateral at midnight.
      const isUnknownBefore =
        isFromExchange(base) && atMs <= base.readMs && !(account && base.accounts.includes(account));
      if (flow.usd === null || isUnknownBefore) return;
      // Equity does not contain a flow that no state shows yet.
      if (account !== null && profit.changes.ahead.isWaiting({ account, slot: flow.slot, usd: flow.usd }))
        continue;
      usd += flow.usd;
      counted.push(flow);
    }
    profit.zeroTodayUsd = usd;
    // From before this withdrawal was counted; if its change of collateral was not explained until now, from the equity after it.
    const lossUsd =
      typeof pnlToday === "number" ? -pnlToday : typeof equity === "number" ? usd - equity : undefined;
    profit.stretches = stretchesOf(base.usd, counted, (flow) => {
      if (flow.lossUsd !== undefined || lossUsd === undefined) return;
      flow.lossUsd = lossUsd;
      book.changed = true;
    });
    profit.openToday = profit.changes.rangeAfter(isFromExchange(base) ? startMs - 1 : base.readMs);
  }

  /** Takes the exchange's equity at midnight. A value that perpwatch recorded itself has precedence. @returns true if it is taken */
  midnight(
    wallet: string,
    startMs: number,
    values: { readonly usd: number; readonly accounts: readonly string[]; readonly readMs: number },
  ): boolean {
    const book = this.#ownBook(wallet);
    const [day] = book.days;
    if (day!.startMs !== startMs || day!.base) return false;
    day!.base = { ...values, slot: null, indices: this.#wallets.get(wallet)?.wallet.pdaIndices ?? null };
    book.changed = true;
    return true;
  }

  /** Stores a changed book for the next start. */
  keep(wallet: string, builder: ChangesBuilder): void {
    const book = this.#books.get(wallet);
    if (!book?.changed) return;
    book.changed = false;
    book.whole = true;
    keptToday.put(wallet, { timezone: this.#timezone, days: book.days }, builder);
  }

  /** Called at midnight. */
  onDue(nowMs: number): void {
    const builder = this.#builder();
    this.#day = this.#dayOf(nowMs);
    this.#emptyBook = newBook(this.#day.startMs);
    for (const entry of this.#wallets.values()) this.#roll(entry, builder);
    this.#deadlines.set(this, this.#day.endMs);
    this.#rolled(builder);
  }

  #roll(entry: WalletEntry, builder: ChangesBuilder): void {
    const { startMs } = this.#day;
    const { name } = entry.wallet;
    const book = this.#ownBook(name);
    const before = book.days;
    const day = before.find((one) => one.startMs === startMs) ?? newDay(startMs);
    book.days = [day];
    const { profit } = entry;
    if (profit.answerMs < startMs && profit.answerMs >= startMs - beforeMidnightMs) {
      const indices = entry.wallet.pdaIndices ?? null;
      const slots = profit.changes.states.slots();
      // Equity has the newest of several states of a slot, and records of that slot may be read later.
      for (const account of profit.changes.shownTwice()) slots.set(account, slots.of(account) + halfSlot);
      day.base = {
        usd: profit.answerUsd,
        slots,
        slot: null,
        indices,
        accounts: noAccounts,
        readMs: profit.answerMs,
      };
      const { base } = day;
      const since = before.flatMap((one) => (one === day ? [] : one.flows));
      // The next state of a slot may show a flow that came after an earlier state of that slot.
      const isShown = ({ account, slot, usd, after }: DayFlow): boolean =>
        after === true &&
        account !== null &&
        usd !== null &&
        !profit.changes.ahead.isWaiting({ account, slot, usd });
      const late = since.filter((flow) => !isBefore(flow, base, startMs) && !isShown(flow));
      if (late.length > 0) day.flows = day.flows.concat(late);
    }
    // These losses belong to the previous day.
    for (const flow of day.flows) delete flow.lossUsd;
    if (!entry.injected) entry.profit.endDay();
    book.changed = true;
    this.keep(name, builder);
    this.refresh(entry);
    if (!entry.injected) profit.publish();
    this.publish(entry);
  }

  /** Takes an amount that was paid into an account or, negative, out of it; null: direction not known. */
  takeFlow(wallet: string, flow: Omit<DayFlow, "lossUsd">): void {
    const book = this.#ownBook(wallet);
    const { atMs } = flow;
    const [today] = book.days;
    const base = today?.base;
    const late =
      base && !isFromExchange(base) && atMs < today.startMs && !isBefore(flow, base, today.startMs);
    const day = late ? today : this.#dayFor(book, atMs);
    if (!day) return;
    // The other side of a transfer may give the direction of one that had none.
    const isUnknown = (one: DayFlow): boolean =>
      one.usd === null && one.slot === flow.slot && one.account === flow.account;
    day.flows = day.flows.filter((one) => !isUnknown(one)).concat(flow);
    book.changed = true;
  }

  /** Returns undefined if the time is before today. */
  #dayFor(book: Book, ms: number): Day | undefined {
    const { startMs, endMs } = this.#day;
    if (ms < startMs) return undefined;
    if (ms < endMs) return book.days[0];
    const known = book.days.find((one) => one.startMs === endMs);
    if (known) return known;
    const next = newDay(endMs);
    book.days = book.days.concat(next);
    return next;
  }

  /** True if a history of today is complete. */
  #isComplete(wallet: string, source: Source, pdaIndices?: readonly number[]): boolean {
    return this.#completeSince.sinceMs(wallet, source, pdaIndices) < this.#day.startMs;
  }

  /** Returns the book of a wallet for reading. */
  #book(wallet: string): ReadBook {
    return this.#books.get(wallet) ?? this.#emptyBook;
  }

  /** Returns the book of a wallet for writing. */
  #ownBook(wallet: string): Book {
    const known = this.#books.get(wallet);
    if (known) return known;
    const book = newBook(this.#day.startMs);
    this.#books.set(wallet, book);
    return book;
  }
}

function numberOf(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) ? value : 0;
}
