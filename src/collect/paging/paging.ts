/**
 * Reads one paged history of a wallet so that no row is missed and none is published twice, across failures and
 * restarts.
 *
 *  - The newest page is read each time. Reading continues towards older rows until a whole page is known.
 *  - After a gap (start, failures), and every few minutes, that page also has to be 10 minutes older than the newest
 *    row known before: rows can be indexed late, and then appear among known ones.
 *  - The rest that does not fit into one run, and the past of a new wallet, are a backlog: the place to continue and
 *    the end. It is stored in the commit of the rows that were read, so a crash leaves no gap, and is read in the last
 *    lane.
 *
 * Cursors of the exchange are anchored to rows, so new rows at the front shift nothing. A refused cursor is dropped,
 * and the range is read again from the newest row.
 */
import { type Event, eventName } from "../../domain/event.ts";
import { ExchangeError, lanes } from "../../exchange/index.ts";
import type { RunOutcome, WalletRun } from "../collector.ts";
import type { Batch, EventPublisher } from "./event-publisher.ts";
import { type Backlog, coveredMs, type HistoryState, joined, parseState, unreadIn } from "./history-state.ts";

const lateRowsMs = 600_000;

const deepAgainMs = 300_000;

const maxPages = 4;

/** Maximum age of rows that are read again because they may change. */
const maxOpenAgeMs = 90 * 86_400_000;

/** Time reserved at the end of a run, so that rows read before a hanging page are published. */
const publishingMs = 2_000;

export interface HistoryRow {
  /** Its place in the list, ms. */
  readonly atMs: number;
  /** Empty for a row without an event. The row is known if the first of them is. */
  readonly events: readonly Event[];
}

export interface HistoryPage {
  readonly rows: readonly HistoryRow[];
  /** Arguments that lead to older rows; null: none. */
  readonly older: Readonly<Record<string, string>> | null;
}

export interface HistoryOptions {
  /** The name of its cursor in the store: unique for (source, wallet, part). */
  readonly name: string;
  /** The span of the past that is read for a new wallet, ms. */
  readonly pastMs: number;
  readonly publisher: EventPublisher;
  /** The state stored by an earlier start. */
  readonly stored: string | undefined;
  /** Reads a page. @param older null: the newest   @param catchUp with the largest limit */
  readonly page: (
    run: WalletRun,
    older: Readonly<Record<string, string>> | null,
    catchUp: boolean,
    call: ReturnType<WalletRun["call"]>,
  ) => Promise<HistoryPage>;
  /**
   * Returns the time of a row that may still change, ms: deep readings go back to it, after a gap further than `pastMs`
   * if needed.
   */
  readonly openSinceMs?: () => number | null;
}

interface ReadPage extends HistoryPage {
  /** As in the state, for this page. */
  readonly unreadMs: readonly number[];
}

/** The result of a reading, to be published; `done` is called afterwards. */
export interface Reading {
  readonly batch: Batch;
  readonly more: boolean;
  readonly done: () => void;
  /** Rows of the newest page, and if that is the whole list. */
  readonly newest: HistoryPage | null;
  /** The error of a page behind the first; the batch holds the pages before it. */
  readonly failure: unknown;
}

export class History {
  readonly #options: HistoryOptions;
  #state: HistoryState;
  #deepMs = Number.NEGATIVE_INFINITY;
  #known = "";
  /** The open range known to the previous run, until this one has read back to it. */
  #openBeforeMs: number;

  constructor(options: HistoryOptions) {
    this.#options = options;
    this.#state = parseState(options.stored);
    this.#openBeforeMs = this.#state.openMs ?? Number.POSITIVE_INFINITY;
  }

  get hasBacklog(): boolean {
    return this.#state.backlog.length > 0;
  }

  /** Reads the newest rows, and as far back as needed. */
  async read(run: WalletRun, elapsedMs: number): Promise<Reading> {
    const { publisher, pastMs } = this.#options;
    const { edgeMs, backlog, unreadMs = [] } = this.#state;
    const openMs = this.#openMs(true);
    const farthestMs = Math.max(openMs, run.nowMs() - maxOpenAgeMs);
    const pastLimitMs = Math.min(run.nowMs() - pastMs, run.gap ? farthestMs : Number.POSITIVE_INFINITY);
    const firstMs = publisher.firstMs(run.wallet.name);
    // A row in the future is not used as the edge: all rows indexed late would be older.
    const baseMs = Math.min(edgeMs ?? firstMs, run.nowMs());
    const untilMs = Math.max(pastLimitMs, Math.min(baseMs - lateRowsMs, openMs));
    const deep =
      run.gap || edgeMs === null || (elapsedMs - this.#deepMs > deepAgainMs && backlog.length === 0);
    const fresh: Event[] = [];
    let oldestReadMs = Number.POSITIVE_INFINITY;
    let newestMs = edgeMs ?? Number.NEGATIVE_INFINITY;
    let first: HistoryPage | null = null;
    let left: Backlog | null = null;
    let failure: unknown = null;
    let digest = this.#known;
    let older: HistoryPage["older"] = null;
    const unread: number[] = [];
    let ended = false;
    for (let pages = 1; ; pages++) {
      let page: ReadPage;
      try {
        const newerMs = Math.min(oldestReadMs, run.nowMs());
        page = await this.#page(run, older, false, pages === 1 ? run.call() : laterCall(run), newerMs);
      } catch (error) {
        if (first === null) throw error;
        failure = error;
        left = { older, untilMs, fromMs: oldestReadMs };
        break;
      }
      first ??= page;
      const names = digestOf(page);
      const same = pages === 1 && names === digest;
      const unknown = same ? [] : await this.#unknown(page);
      if (pages === 1) digest = names;
      fresh.push(...unknown);
      unread.push(...page.unreadMs);
      const oldestMs = oldestOf(page);
      oldestReadMs = Math.min(oldestReadMs, oldestMs);
      for (const row of page.rows) newestMs = Math.max(newestMs, row.atMs);
      ended = page.older === null;
      if (ended || oldestMs < pastLimitMs) break;
      // Without a gap new rows come before all known ones.
      if (
        deep ? unknown.length === 0 && oldestMs <= untilMs : !unknown.some((event) => inLastRow(page, event))
      )
        break;
      older = page.older;
      // The rest is the past, or too much for one run.
      if (oldestMs <= Math.min(untilMs, baseMs - lateRowsMs) || pages === maxPages) {
        left = { older, untilMs, fromMs: oldestReadMs };
        break;
      }
    }
    const next = this.#withOpen({
      edgeMs: Number.isFinite(newestMs) ? newestMs : edgeMs,
      backlog: left === null ? backlog : joined([left, ...backlog]),
      ...unreadIn([...unread, ...unreadMs.filter((ms) => !ended && ms <= oldestReadMs)]),
    });
    const walked = deep && next.backlog.length === 0;
    return {
      batch: this.#batch(unique(fresh), next),
      more: next.backlog.length > 0,
      done: () => {
        this.#state = next;
        this.#known = digest;
        if (deep && failure === null) this.#deepMs = elapsedMs;
        if (walked) this.#openBeforeMs = Number.POSITIVE_INFINITY;
      },
      newest: first,
      failure,
    };
  }

  /** Reads one page of the backlog. */
  async catchUp(run: WalletRun): Promise<Reading> {
    const [current, ...rest] = this.#state.backlog;
    if (!current) return { batch: { events: [] }, more: false, done: () => {}, newest: null, failure: null };
    let backlog: readonly Backlog[];
    let fresh: readonly Event[] = [];
    let { unreadMs = [] } = this.#state;
    try {
      const newerMs = Math.min(current.fromMs ?? Number.POSITIVE_INFINITY, run.nowMs());
      const page = await this.#page(run, current.older, true, run.call(lanes.catchUp), newerMs);
      fresh = await this.#unknown(page);
      // It would be read endlessly. The rows behind it stay unread.
      if (fresh.length === 0 && isSame(page.older, current.older))
        throw new ExchangeError({
          endpoint: this.#options.name,
          reason: "bad-record",
          what: "a page that leads to itself",
        });
      const oldestMs = oldestOf(page);
      const ended =
        page.older === null ||
        oldestMs < Math.min(run.nowMs() - this.#options.pastMs, current.untilMs) ||
        (fresh.length === 0 && oldestMs <= current.untilMs);
      unreadMs = [...page.unreadMs, ...unreadMs.filter((ms) => ms > newerMs || ms <= oldestMs)];
      const fromMs = Math.min(oldestMs, current.fromMs ?? Number.POSITIVE_INFINITY);
      backlog = ended
        ? rest
        : [{ ...current, ...(Number.isFinite(fromMs) ? { fromMs } : {}), older: page.older }, ...rest];
    } catch (error) {
      const refused = error instanceof ExchangeError && error.reason === "refused";
      if (!refused || current.older === null) throw error;
      // A cursor expires: start at the newest row again.
      backlog = [{ ...current, older: null }, ...rest];
    }
    const next = this.#withOpen({ edgeMs: this.#state.edgeMs, backlog, ...unreadIn(unreadMs) });
    return {
      batch: this.#batch(unique(fresh), next),
      more: backlog.length > 0,
      done: () => {
        this.#state = { ...next, edgeMs: this.#state.edgeMs };
        if (backlog.length === 0) this.#openBeforeMs = Number.POSITIVE_INFINITY;
      },
      newest: null,
      failure: null,
    };
  }

  /** @param before includes the range known to an earlier run */
  #openMs(before: boolean): number {
    const ownMs = this.#options.openSinceMs?.() ?? Number.POSITIVE_INFINITY;
    return before ? Math.min(ownMs, this.#openBeforeMs) : ownMs;
  }

  #withOpen(state: Omit<HistoryState, "openMs">): HistoryState {
    if (!this.#options.openSinceMs) return state;
    const openMs = this.#openMs(state.backlog.length > 0);
    return { ...state, openMs: Number.isFinite(openMs) ? openMs : null };
  }

  #batch(events: readonly Event[], next: HistoryState): Batch {
    const before = JSON.stringify(this.#state);
    const value = JSON.stringify(next);
    const batch = { events, coversMs: Math.max(coveredMs(next.backlog), ...(next.unreadMs ?? [])) };
    return value === before ? batch : { ...batch, cursor: { name: this.#options.name, value } };
  }

  /** @param newerMs the time of the row before the page, ms */
  async #page(
    run: WalletRun,
    older: HistoryPage["older"],
    catchUp: boolean,
    call: ReturnType<WalletRun["call"]>,
    newerMs: number,
  ): Promise<ReadPage> {
    let places: readonly number[] = [];
    const onRejected = (all: readonly number[]): void => {
      places = all;
    };
    const page = await this.#options.page(run, older, catchUp, { ...call, onRejected });
    // Places count unreadable rows too; `rows` does not contain them.
    const gaps = new Map<number, number>();
    for (const [before, place] of places.entries())
      gaps.set(place - before, (gaps.get(place - before) ?? 0) + 1);
    const unreadMs: number[] = [];
    for (const [at, count] of gaps) {
      const gapMs = page.rows[at - 1]?.atMs ?? newerMs;
      if ((await this.#knownIn(run, page, at, gapMs)) < count) unreadMs.push(gapMs);
    }
    return { ...page, unreadMs };
  }

  /**
   * Counts known rows between two rows of a page: a list loses no rows, so these are among the rows that cannot be read
   * now.
   * @param at place of the older of the two   @param toMs time of the newer one
   */
  async #knownIn(run: WalletRun, { rows, older }: HistoryPage, at: number, toMs: number): Promise<number> {
    const end = rows[at];
    if (end === undefined && older !== null) return 0;
    const events = rows.flatMap((row) => row.events);
    const eventsPerRow = Math.max(1, ...rows.map((row) => row.events.length));
    const span = { fromMs: end?.atMs ?? 0, toMs };
    return Math.floor(
      (await this.#options.publisher.knownBeside(run.wallet.name, events, span)) / eventsPerRow,
    );
  }

  async #unknown(page: HistoryPage): Promise<Event[]> {
    const events = page.rows.flatMap((row) => row.events);
    const known = await this.#options.publisher.known(events);
    return events.filter((event) => !known.has(eventName(event.kind, event.key)));
  }
}

/**
 * Reads one page of the first part that has a backlog and can be read.
 * @throws {ExchangeError} of an unreadable part; it does not prevent the others
 */
export async function catchUpOne<P extends { readonly history: History }>(
  parts: readonly P[],
  run: WalletRun,
  publish: (part: P, batch: Batch) => Promise<void>,
): Promise<RunOutcome> {
  let failure: ExchangeError | null = null;
  for (const part of parts) {
    if (!part.history.hasBacklog) continue;
    let reading: Reading;
    try {
      reading = await part.history.catchUp(run);
    } catch (error) {
      if (!(error instanceof ExchangeError)) throw error;
      failure ??= error;
      continue;
    }
    if (reading.batch.events.length > 0 || reading.batch.cursor) await publish(part, reading.batch);
    reading.done();
    break;
  }
  if (failure !== null) throw failure;
  return parts.some(({ history }) => history.hasBacklog) ? "more" : "done";
}

/** Returns the name of the cursor that stores a history's state. */
export const historyCursor = (source: string, wallet: string, part: string): string =>
  `history/${source}/${wallet}/${part}`;

function isSame(one: Backlog["older"], other: Backlog["older"]): boolean {
  return one !== null && JSON.stringify(one) === JSON.stringify(other);
}

function laterCall(run: WalletRun): ReturnType<WalletRun["call"]> {
  const call = run.call(lanes.catchUp);
  return { ...call, deadlineMs: Math.max(0, (call.deadlineMs ?? 0) - publishingMs) };
}

function inLastRow(page: HistoryPage, event: Event): boolean {
  return page.rows.at(-1)?.events.includes(event) ?? false;
}

/**
 * Returns a digest for comparing a page with the last one without keeping its keys: there are thousands of histories.
 */
function digestOf(page: HistoryPage): string {
  let a = 0xdeadbeef;
  let b = 0x41c6ce57;
  for (const row of page.rows) {
    for (const { key } of row.events) {
      for (let i = 0; i < key.length; i++) {
        const code = key.charCodeAt(i);
        a = Math.imul(a ^ code, 2_654_435_761);
        b = Math.imul(b ^ code, 1_597_334_677);
      }
      a = Math.imul(a ^ (a >>> 16), 2_246_822_507);
      b = Math.imul(b ^ (b >>> 13), 3_266_489_909);
    }
  }
  return `${page.rows.length}.${a >>> 0}.${b >>> 0}`;
}

function oldestOf(page: HistoryPage): number {
  let oldestMs = Number.POSITIVE_INFINITY;
  for (const row of page.rows) oldestMs = Math.min(oldestMs, row.atMs);
  // A page without rows has no age, and ends the range only if it has no older page.
  return oldestMs;
}

/** Removes duplicates of rows that were on two pages. */
function unique(events: readonly Event[]): Event[] {
  return [...new Map(events.map((event) => [eventName(event.kind, event.key), event])).values()];
}
