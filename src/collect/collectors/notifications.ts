/**
 * The inbox of every known trader account of a wallet.
 *
 * The list of unacknowledged items is read at the start and after gaps, for its content; it ends at 1,000 items, and
 * another client may have emptied it, so completeness depends on the paged list. The count of unacknowledged items
 * comes from it, or from a page that is the whole inbox.
 */
import { endpoints, type NotificationItem, nextPage, notificationKey } from "../../contract/index.ts";
import { type Event, eventName } from "../../domain/event.ts";
import { ExchangeError } from "../../exchange/index.ts";
import type { AccountBook, KnownAccount } from "../accounts.ts";
import type { RunOutcome, WalletCollector, WalletRun } from "../collector.ts";
import type { MarketBook } from "../market-book.ts";
import type { Batch, EventPublisher } from "../paging/event-publisher.ts";
import { catchUpOne, History, type HistoryPage, historyCursor } from "../paging/paging.ts";
import type { StreamFeed } from "../stream/feed.ts";
import { notificationEvents } from "../translate/notification.ts";

const pageSize = 50;
const largePageSize = 100;
const pastSpanMs = 7 * 86_400_000;
/** The interval at which unacknowledged items are counted if the newest page is not the whole inbox. */
const countIntervalMs = 60_000;
const countNoneIntervalMs = 300_000;
/** A closed account rarely receives notifications. */
const closedIntervalMs = 120_000;
/**
 * Maximum runs that wait for the market list, since some items name markets by number; after that they are published
 * without.
 */
const maxWaits = 10;

interface Inbox {
  readonly account: KnownAccount;
  readonly history: History;
  /** Items of the newest page, as read. */
  newest: readonly NotificationItem[];
  whole: boolean;
  /** Keys of unacknowledged items, and the time of the count, monotonic; null: never counted. */
  unacked: ReadonlySet<string>;
  countedMs: number | null;
  readMs: number;
  /** The wall time of its last complete reading, ms; null: none since the start. */
  answeredMs: number | null;
}

export function notificationsCollector(parts: {
  readonly accounts: AccountBook;
  readonly book: MarketBook;
  readonly publisher: EventPublisher;
  readonly cursors: ReadonlyMap<string, string>;
  readonly elapsedMs: () => number;
  /** Wallets with acknowledgements since their inboxes were read; entries are removed here. */
  readonly acknowledged?: Set<string>;
  /** Compares the read items with those that the stream sent. */
  readonly live?: Pick<StreamFeed, "polledInbox"> | null;
}): WalletCollector {
  const { accounts, book, publisher, elapsedMs } = parts;
  const inboxes = new Map<string, Inbox>();
  const waits = new Map<string, number>();

  function inboxOf(run: WalletRun, account: KnownAccount): Inbox {
    const known = inboxes.get(account.address);
    if (known) return known;
    const name = historyCursor("notifications", run.wallet.name, `${account.pdaIndex}.${account.subaccount}`);
    const inbox: Inbox = {
      account,
      history: new History({
        name,
        pastMs: pastSpanMs,
        publisher,
        stored: parts.cursors.get(name),
        page: async (of, older, catchUp, call): Promise<HistoryPage> => {
          const page = await of.client.notifications(
            { traderPubkey: account.address, limit: catchUp ? largePageSize : pageSize, ...older },
            call,
          );
          if (older === null) inbox.newest = page.items;
          const seenMs = of.nowMs();
          return {
            rows: page.items.map((item) => ({
              atMs: item.createdAt,
              events: notificationEvents(item, of.wallet, account, book, seenMs),
            })),
            older: nextPage(endpoints.notifications, page, "older"),
          };
        },
      }),
      newest: [],
      whole: false,
      unacked: new Set(),
      countedMs: null,
      readMs: Number.NEGATIVE_INFINITY,
      answeredMs: null,
    };
    inboxes.set(account.address, inbox);
    return inbox;
  }

  /** Reads the list of unacknowledged items. */
  async function readUnacked(run: WalletRun, inbox: Inbox): Promise<readonly Event[]> {
    const { account } = inbox;
    const { items } = await run.client.notifications(
      { traderPubkey: account.address, unackedOnly: true },
      run.call(),
    );
    const seenMs = run.nowMs();
    count(run, inbox, items);
    const events = items.flatMap((item) => notificationEvents(item, run.wallet, account, book, seenMs));
    const known = await publisher.known(events);
    return events.filter((event) => !known.has(eventName(event.kind, event.key)));
  }

  function count(run: WalletRun, inbox: Inbox, items: readonly NotificationItem[]): void {
    inbox.unacked = new Set(
      items.filter((item) => !item.acked).map((item) => notificationKey(item, run.wallet.authority)),
    );
    inbox.countedMs = elapsedMs();
  }

  /** Updates the count with the newest page, which is not the whole inbox. */
  function recount(run: WalletRun, inbox: Inbox): void {
    const unacked = new Set(inbox.unacked);
    for (const item of inbox.newest) {
      const key = notificationKey(item, run.wallet.authority);
      if (item.acked) unacked.delete(key);
      else unacked.add(key);
    }
    inbox.unacked = unacked;
  }

  function isDue(inbox: Inbox, now: number): boolean {
    if (inbox.countedMs === null) return true;
    const some = inbox.unacked.size > 0 || inbox.newest.some((item) => !item.acked);
    return now - inbox.countedMs >= (some ? countIntervalMs : countNoneIntervalMs);
  }

  async function readOne(
    run: WalletRun,
    inbox: Inbox,
  ): Promise<{ batch: Batch; done: () => void; more: boolean; failure: unknown }> {
    const now = elapsedMs();
    const first = inbox.countedMs === null;
    const unacked = run.gap || first ? [...(await readUnacked(run, inbox))] : [];
    const reading = await inbox.history.read(run, now);
    parts.live?.polledInbox(run.wallet, inbox.newest);
    inbox.whole = reading.newest?.older === null;
    if (inbox.whole) count(run, inbox, inbox.newest);
    else if (isDue(inbox, now)) unacked.push(...(await readUnacked(run, inbox)));
    else recount(run, inbox);
    const events = new Map(
      [...unacked, ...reading.batch.events].map((event) => [eventName(event.kind, event.key), event]),
    );
    const done = () => {
      reading.done();
      inbox.readMs = now;
    };
    return {
      batch: { ...reading.batch, events: [...events.values()] },
      done,
      more: reading.more,
      failure: reading.failure,
    };
  }

  /** Returns the time by which all of these had been read, ms; null: one was not since the start. */
  function wholeMsOf(some: readonly Inbox[]): number | null {
    let oldestMs = Number.POSITIVE_INFINITY;
    for (const { answeredMs } of some) {
      if (answeredMs === null) return null;
      oldestMs = Math.min(oldestMs, answeredMs);
    }
    return oldestMs;
  }

  /** Counts distinct items of all inboxes; undefined while one of them is not counted. */
  function unackedOf(wallet: string): number | undefined {
    const all = new Set<string>();
    for (const { address } of accounts.of(wallet)) {
      const inbox = inboxes.get(address);
      if (!inbox || inbox.countedMs === null) return undefined;
      for (const key of inbox.unacked) all.add(key);
    }
    return all.size;
  }

  async function read(run: WalletRun): Promise<RunOutcome> {
    const { name } = run.wallet;
    let more = false;
    let failure: unknown = null;
    let answered = false;
    const present = new Set(accounts.present(name).map((account) => account.address));
    const now = elapsedMs();
    const acknowledged = parts.acknowledged?.delete(name) ?? false;
    const due = accounts
      .of(name)
      .map((account) => inboxOf(run, account))
      .filter((inbox) => {
        const { address, subaccount } = inbox.account;
        const gone = accounts.complete(run.wallet) && subaccount > 0 && !present.has(address);
        const countAgain = acknowledged && inbox.unacked.size > 0;
        return !gone || run.gap || countAgain || now - inbox.readMs >= closedIntervalMs;
      });
    for (const inbox of due) {
      let reading: Awaited<ReturnType<typeof readOne>>;
      try {
        reading = await readOne(run, inbox);
      } catch (error) {
        // An unreadable inbox does not affect the others.
        if (!(error instanceof ExchangeError)) throw error;
        failure ??= error;
        continue;
      }
      more ||= reading.more;
      failure ??= reading.failure;
      answered = true;
      if (reading.failure === null) inbox.answeredMs = run.nowMs();
      if (reading.batch.events.length > 0 || reading.batch.cursor)
        await publisher.publish(run, "notifications", { ...reading.batch, wholeMs: wholeMsOf(due) });
      reading.done();
    }
    if (failure !== null && !answered) throw failure;
    const unacked = failure === null ? unackedOf(name) : undefined;
    const counted = unacked === undefined ? {} : { unacked };
    await publisher.publish(run, "notifications", { events: [], ...counted, wholeMs: wholeMsOf(due) });
    if (failure !== null) throw failure;
    return more ? "more" : "done";
  }

  const catchUp = (run: WalletRun): Promise<RunOutcome> =>
    catchUpOne(
      accounts.of(run.wallet.name).map((account) => inboxOf(run, account)),
      run,
      (_inbox, batch) => publisher.publish(run, "notifications", { ...batch, wholeMs: null }),
    );

  return {
    source: "notifications",
    scope: "wallet",
    needsSession: true,
    async run(run) {
      if (run.catchUp) return catchUp(run);
      const waited = waits.get(run.wallet.name) ?? 0;
      if (!book.known && waited < maxWaits) {
        waits.set(run.wallet.name, waited + 1);
        return "later";
      }
      return read(run);
    },
  };
}
