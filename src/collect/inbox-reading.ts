/** Reads the exchange's own list of a wallet's notifications, apart from the schedules, for the inbox audit. */
import { endpoints, type NotificationItem, nextPage, notificationKey } from "../contract/index.ts";
import type { Event } from "../domain/event.ts";
import { type ExchangeClient, lanes } from "../exchange/index.ts";
import type { AccountBook } from "./accounts.ts";
import type { CollectedWallet } from "./collector.ts";
import type { MarketBook } from "./market-book.ts";
import { notificationEvents } from "./translate/notification.ts";

/** The contents of the inboxes of a wallet's trader accounts. */
export interface InboxReading {
  /** The start of the reading, ms. */
  readonly atMs: number;
  /** Notifications, each once, and the liquidations that they report. */
  readonly events: readonly Event[];
  /** By the account's address: the list is complete after this time, ms; -∞: the whole inbox. */
  readonly listedAfterMs: ReadonlyMap<string, number>;
}

const PAGE = 100;
const maxPages = 3;
const DEADLINE_MS = 20_000;

/** @throws {ExchangeError} if one of them cannot be read */
export async function readInbox(parts: {
  readonly wallet: CollectedWallet;
  readonly client: ExchangeClient;
  readonly accounts: AccountBook;
  readonly book: MarketBook;
  readonly nowMs: () => number;
  readonly signal?: AbortSignal;
}): Promise<InboxReading> {
  const { wallet, client, accounts, book, nowMs, signal } = parts;
  const atMs = nowMs();
  const call = {
    wallet: wallet.name,
    lane: lanes.inbox,
    deadlineMs: DEADLINE_MS,
    ...(signal ? { signal } : {}),
  };
  const events = new Map<string, Event>();
  const listedAfterMs = new Map<string, number>();
  for (const account of accounts.of(wallet.name)) {
    const traderPubkey = account.address;
    const items = new Map<string, NotificationItem>();
    let older: object | null = {};
    let oldestMs = Number.POSITIVE_INFINITY;
    for (let pages = 0; older !== null && pages < maxPages; pages++) {
      const page = await client.notifications({ traderPubkey, limit: PAGE, ...older }, call);
      for (const item of page.items) {
        items.set(notificationKey(item, wallet.authority), item);
        oldestMs = Math.min(oldestMs, item.createdAt);
      }
      older = nextPage(endpoints.notifications, page, "older");
    }
    listedAfterMs.set(traderPubkey, older === null ? Number.NEGATIVE_INFINITY : oldestMs);
    // An item that it does not list may be one of its unreadable rows: that is no acknowledgement.
    const unacked = await client.notifications({ traderPubkey, unackedOnly: true }, call);
    for (const item of unacked.items) items.set(notificationKey(item, wallet.authority), item);
    for (const item of items.values())
      for (const event of notificationEvents(item, wallet, account, book, nowMs()))
        if (!events.has(`${event.kind}/${event.key}`)) events.set(`${event.kind}/${event.key}`, event);
  }
  return { atMs, events: [...events.values()], listedAfterMs };
}
