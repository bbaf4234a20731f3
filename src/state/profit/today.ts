/**
 * The amounts that each wallet earned, paid and received since midnight of the configured time zone.
 *
 * Fees, funding and what trades realized are sums over the day's events, each of which is told once; profit is equity less
 * what it was at midnight, less what came in and went out since. All of it is kept in the commit of what it follows from, so
 * that a start goes on exactly; what happened meanwhile is told as events then. Until a history was read back to midnight its
 * sums are not known. The equity of midnight is our own where we watched, else the exchange tells it.
 */

import { z } from "zod";
import type { ChangesBuilder } from "../../domain/changes-builder.ts";
import type { Deadlines, Due } from "../../domain/deadlines.ts";
import type { Event } from "../../domain/event.ts";
import { KeptKind, keptNumber } from "../../domain/kept.ts";
import type { Source } from "../../domain/sources.ts";
import { dayOf } from "../../rules/index.ts";
import type { CompleteSince } from "../complete-since.ts";
import type { WalletEntry } from "../wallets.ts";
import { accountOf } from "./flows.ts";
import { nothingOpen } from "./open-range.ts";
import { noStretches, type Stretch } from "./profit.ts";
import { type Slots, storedSlots } from "./slots.ts";

/** Added to the slot of an account of which two states of one slot were seen. */
const amidSlot = 0.5;
/** Maximum time before midnight at which the equity of midnight may have been read. */
const beforeMidnightMs = 60_000;

/** Equity of midnight. */
interface Base {
  readonly usd: number;
  /** For baselines of our own: what came in or went out after these slots counts. Absent: see `slot`. */
  readonly slots?: Slots;
  /**
   * For a baseline of our own as an earlier version stored it: one slot for all accounts. Null: after midnight, by the
   * exchange's time.
   */
  readonly slot: number | null;
  /** The PDA indices that it covers. Absent in what an earlier version stored. */
  readonly indices?: readonly number[] | null;
  /** Accounts whose values it adds up, and until when there were no others, ms. */
  readonly accounts: readonly string[];
  readonly readMs: number;
}

interface DayFlow {
  readonly slot: number;
  readonly atMs: number;
  /** Signed; null: nobody can say what it did. */
  readonly usd: number | null;
  readonly account: string | null;
  /** It came after the state of its slot. Absent: that state shows it, as far as is known. */
  readonly after?: true;
  /** The loss of the day when a withdrawal was counted, USD. Absent: none, or equity was not known since. */
  lossUsd?: number;
}

interface Day {
  readonly startMs: number;
  fees: number;
  funding: number;
  /** By account and market, `0.1/SOL`. */
  realized: Readonly<Record<string, number>>;
  flows: readonly DayFlow[];
  base: Base | null;
}

interface StoredToday {
  readonly timezone: string;
  readonly days: readonly Day[];
}

const day: z.ZodType<Day> = z.object({
  startMs: keptNumber,
  fees: keptNumber,
  funding: keptNumber,
  realized: z.record(z.string(), keptNumber),
  flows: z.array(
    z.object({
      slot: keptNumber,
      atMs: keptNumber,
      usd: keptNumber.nullable(),
      account: z.string().nullable(),
      after: z.literal(true).exactOptional(),
      lossUsd: keptNumber.exactOptional(),
    }),
  ),
  base: z
    .object({
      usd: keptNumber,
      slots: storedSlots.exactOptional(),
      slot: keptNumber.nullable(),
      indices: z.array(keptNumber).nullable().exactOptional(),
      accounts: z.array(z.string()),
      readMs: keptNumber,
    })
    .nullable(),
});

/** By wallet. */
export const keptToday: KeptKind<StoredToday> = new KeptKind(
  "wallet/{}/today",
  z.object({ timezone: z.string(), days: z.array(day) }),
);

interface Book {
  /** Today first; the next one as soon as the exchange's clock has come there. */
  days: readonly Day[];
  changed: boolean;
  /** It includes all reports of the day before. */
  whole: boolean;
}

interface ReadBook extends Readonly<Book> {
  readonly days: readonly Readonly<Day>[];
}

// Shared: on most days most wallets have none.
const noRealized: Day["realized"] = {};
const noFlows: Day["flows"] = [];
const noAccounts: readonly string[] = [];

export class Today implements Due {
  dueMs = Number.POSITIVE_INFINITY;
  queuedMs = Number.POSITIVE_INFINITY;
  place = -1;
  order: number | undefined;
  /** The books of wallets of which something is known. */
  readonly #books = new Map<string, Book>();
  /** The book of all others. */
  #emptyBook: ReadBook;
  readonly #wallets: ReadonlyMap<string, WalletEntry>;
  readonly #told: CompleteSince;
  readonly #timezone: string;
  readonly #dayOf: (ms: number) => { readonly startMs: number; readonly endMs: number };
  readonly #deadlines: Deadlines;
  readonly #builder: () => ChangesBuilder;
  readonly #rolled: (builder: ChangesBuilder) => void;
  #day: { readonly startMs: number; readonly endMs: number };

  constructor(options: {
    readonly wallets: ReadonlyMap<string, WalletEntry>;
    readonly told: CompleteSince;
    readonly timezone: string;
    readonly deadlines: Deadlines;
    readonly builder: () => ChangesBuilder;
    readonly nowMs: number;
    /** A new day began, and every wallet's figures are those of it. */
    readonly rolled: (builder: ChangesBuilder) => void;
    readonly before: Today | undefined;
  }) {
    this.order = options.before?.order;
    this.#wallets = options.wallets;
    this.#told = options.told;
    this.#timezone = options.timezone;
    this.#dayOf = dayOf(options.timezone);
    this.#deadlines = options.deadlines;
    this.#builder = options.builder;
    this.#rolled = options.rolled;
    this.#day = this.#dayOf(options.nowMs);
    this.#emptyBook = newBook(this.#day.startMs);
    this.#deadlines.set(this, this.#day.endMs);
  }

  /** Since when it is today, ms. */
  get startMs(): number {
    return this.#day.startMs;
  }

  /** True if the events of today have to be read again: nothing was kept of them for this time zone. */
  get incomplete(): boolean {
    for (const name of this.#wallets.keys()) if (!this.#book(name).whole) return true;
    return false;
  }

  /** Midnight, where the equity of then is not known, ms; else null. */
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

  /** An event of today from history, where nothing was kept. */
  remember(event: Event): void {
    if (event.wallet === null || !this.#wallets.has(event.wallet) || this.#book(event.wallet).whole) return;
    const { amountUsd } = event.fields;
    const within = (event.data as { readonly within?: boolean } | null)?.within === true;
    this.take(event, within ? 0 : typeof amountUsd === "number" ? amountUsd : null);
  }

  /** @param flowUsd of a collateral move: what it brought in or, negative, took out; null: nobody can say */
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
    // An hour of funding belongs to the day in which it ends, and that which ends at midnight to the day that ends.
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

  /** Brings the sums over events into the wallet's figures. */
  publish({ wallet, node, injected }: WalletEntry): void {
    if (injected) return;
    const book = this.#book(wallet.name);
    const { values } = node.facts;
    const [day] = book.days;
    if (this.#isTold(wallet.name, "fills")) values.feesToday = day!.fees;
    else if (values.feesToday !== undefined) delete values.feesToday;
    if (this.#isTold(wallet.name, "funding", wallet.pdaIndices)) values.fundingToday = day!.funding;
    else if (values.fundingToday !== undefined) delete values.fundingToday;
  }

  /** The amount that an account realized today in a market; undefined while that is not known. */
  realized(wallet: string, account: string, symbol: string): number | undefined {
    const book = this.#book(wallet);
    if (!this.#isTold(wallet, "fills")) return undefined;
    return book.days[0]!.realized[`${account}/${symbol}`] ?? 0;
  }

  /** Works out from what equity on the profit of today counts, after flows, states or the equity of midnight. */
  refresh({ wallet, node, profit, injected }: WalletEntry): void {
    if (injected) return;
    const book = this.#books.get(wallet.name);
    const { equity, pnlToday } = node.facts.values;
    profit.zeroTodayUsd = Number.NaN;
    profit.openToday = nothingOpen;
    profit.stretches = noStretches;
    // After a start the states of before it have to be compared first.
    if (!book || !profit.hasBegun || !this.#isTold(wallet.name, "collateral")) return;
    const { base, flows, startMs } = book.days[0]!;
    if (!base) return;
    let usd = base.usd;
    const counted: DayFlow[] = [];
    for (const flow of flows) {
      const { account, atMs } = flow;
      if (isBefore(flow, base, startMs)) continue;
      // An account that was gone when the values of midnight were asked for may have held something then.
      const untold =
        isFromExchange(base) && atMs <= base.readMs && !(account && base.accounts.includes(account));
      if (flow.usd === null || untold) return;
      // What no state shows yet is not in the equity.
      if (account !== null && profit.changes.ahead.isWaiting({ account, slot: flow.slot, usd: flow.usd }))
        continue;
      usd += flow.usd;
      counted.push(flow);
    }
    profit.zeroTodayUsd = usd;
    // Before this withdrawal was counted, or, where its change of collateral was not explained until now, by the equity after it.
    const lossUsd =
      typeof pnlToday === "number" ? -pnlToday : typeof equity === "number" ? usd - equity : undefined;
    profit.stretches = stretchesOf(base.usd, counted, (flow) => {
      if (flow.lossUsd !== undefined || lossUsd === undefined) return;
      flow.lossUsd = lossUsd;
      book.changed = true;
    });
    profit.openToday = profit.changes.rangeAfter(isFromExchange(base) ? startMs - 1 : base.readMs);
  }

  /** The exchange tells the equity of midnight; where we saw it ourselves, that counts. @returns whether it is taken */
  midnight(
    wallet: string,
    startMs: number,
    told: { readonly usd: number; readonly accounts: readonly string[]; readonly readMs: number },
  ): boolean {
    const book = this.#ownBook(wallet);
    const [day] = book.days;
    if (day!.startMs !== startMs || day!.base) return false;
    day!.base = { ...told, slot: null, indices: this.#wallets.get(wallet)?.wallet.pdaIndices ?? null };
    book.changed = true;
    return true;
  }

  /** Puts what changed where a start finds it. */
  keep(wallet: string, builder: ChangesBuilder): void {
    const book = this.#books.get(wallet);
    if (!book?.changed) return;
    book.changed = false;
    book.whole = true;
    keptToday.put(wallet, { timezone: this.#timezone, days: book.days }, builder);
  }

  /** Midnight. */
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
      // It has the newest of several states of a slot: records of that slot may be read later.
      for (const account of profit.changes.shownTwice()) slots.set(account, slots.of(account) + amidSlot);
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
      // One that came after a state of its slot may be shown by the next one of that slot.
      const isShown = ({ account, slot, usd, after }: DayFlow): boolean =>
        after === true &&
        account !== null &&
        usd !== null &&
        !profit.changes.ahead.isWaiting({ account, slot, usd });
      const late = since.filter((flow) => !isBefore(flow, base, startMs) && !isShown(flow));
      if (late.length > 0) day.flows = day.flows.concat(late);
    }
    // They are the day's that is over.
    for (const flow of day.flows) delete flow.lossUsd;
    if (!entry.injected) entry.profit.endDay();
    book.changed = true;
    this.keep(name, builder);
    this.refresh(entry);
    if (!entry.injected) profit.publish();
    this.publish(entry);
  }

  /** Takes what was paid in or, negative, out of an account; null: nobody can say. */
  takeFlow(wallet: string, flow: Omit<DayFlow, "lossUsd">): void {
    const book = this.#ownBook(wallet);
    const { atMs } = flow;
    const [today] = book.days;
    const base = today?.base;
    const late =
      base && !isFromExchange(base) && atMs < today.startMs && !isBefore(flow, base, today.startMs);
    const day = late ? today : this.#dayFor(book, atMs);
    if (!day) return;
    // A transfer without a direction may be told one by its other side.
    const isUnknown = (one: DayFlow): boolean =>
      one.usd === null && one.slot === flow.slot && one.account === flow.account;
    day.flows = day.flows.filter((one) => !isUnknown(one)).concat(flow);
    book.changed = true;
  }

  /** Undefined: it was over before. */
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

  /** True if all of today was reported. */
  #isTold(wallet: string, source: Source, pdaIndices?: readonly number[]): boolean {
    return this.#told.sinceMs(wallet, source, pdaIndices) < this.#day.startMs;
  }

  /** The book of a wallet, to read. */
  #book(wallet: string): ReadBook {
    return this.#books.get(wallet) ?? this.#emptyBook;
  }

  /** The book of a wallet, to write into. */
  #ownBook(wallet: string): Book {
    const known = this.#books.get(wallet);
    if (known) return known;
    const book = newBook(this.#day.startMs);
    this.#books.set(wallet, book);
    return book;
  }
}

/**
 * Returns the stretches of a day against which its loss is measured: all of it, and from each withdrawal on.
 *
 * @param onWithdrawal is called with the last flow of each slot in which more went out than came in
 */
function stretchesOf(
  midnightUsd: number,
  flows: readonly DayFlow[],
  onWithdrawal: (flow: DayFlow) => void,
): readonly Stretch[] {
  const stretches = [{ lossUsd: 0, capitalUsd: midnightUsd }];
  const sorted = [...flows].sort((a, b) => a.slot - b.slot);
  let usd = midnightUsd;
  let slotUsd = 0;
  for (const [i, flow] of sorted.entries()) {
    slotUsd += flow.usd!;
    // Both sides of a transfer have one slot.
    if (sorted[i + 1]?.slot === flow.slot) continue;
    usd += slotUsd;
    for (const one of stretches) one.capitalUsd = Math.max(one.capitalUsd, usd);
    if (slotUsd < 0) {
      onWithdrawal(flow);
      if (flow.lossUsd !== undefined) stretches.push({ lossUsd: flow.lossUsd, capitalUsd: usd });
    }
    slotUsd = 0;
  }
  return stretches;
}

function isFromExchange({ slot, slots }: Base): boolean {
  return slot === null && slots === undefined;
}

/** True if a flow is contained in the equity of midnight. */
function isBefore({ slot, account, atMs, after }: DayFlow, base: Base, startMs: number): boolean {
  if (base.slots !== undefined) return account !== null && slot - (after ? 0 : 1) < base.slots.of(account);
  return base.slot === null ? atMs < startMs : slot <= base.slot;
}

/** True if a stored equity of midnight is the sum over these PDA indices, as far as that is known. */
function covers(base: Base | null, indices: readonly number[] | undefined): boolean {
  if (base === null || indices === undefined || base.indices === null) return true;
  // Our own of an earlier version may be a sum over those that had been read.
  if (base.indices === undefined) return base.slot === null || indices.length <= 1;
  return base.indices.length === indices.length && indices.every((one) => base.indices!.includes(one));
}

function newBook(startMs: number): Book {
  return { days: [newDay(startMs)], changed: false, whole: false };
}

function newDay(startMs: number): Day {
  return { startMs, fees: 0, funding: 0, realized: noRealized, flows: noFlows, base: null };
}

function numberOf(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) ? value : 0;
}
