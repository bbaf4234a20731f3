/**
 * Composes everything that reads the exchange: collectors, their schedules, and their shared parts.
 *
 *   scheduler ──► collector ──► client ──► record ──► translate ──► observation
 *                     └─ histories: paging ─► publisher ─┘
 *   streams ────► feed ────► mirror, live prices, publisher ─┘
 */

import type { Clock, Random } from "../domain/clock.ts";
import type { Event } from "../domain/event.ts";
import type { Observation } from "../domain/observation.ts";
import type { Store } from "../domain/ports.ts";
import type { MarketRead, Source } from "../domain/sources.ts";
import type { ExchangeOutage, ScheduleStatus } from "../domain/status.ts";
import {
  type BadRecordReport,
  type ExchangeClient,
  type ExchangeTime,
  LedgerSlots,
  type RequestBudget,
  type StreamListener,
  type Streams,
} from "../exchange/index.ts";
import { AccountBook } from "./accounts.ts";
import { type BadRecord, BadRecords } from "./anomalies/bad-records.ts";
import type { CollectedWallet, Collector } from "./collector.ts";
import { marketsToRead, type WantedMarkets } from "./collectors/by-market.ts";
import { calendarsCollector } from "./collectors/calendars.ts";
import { candlesCollector } from "./collectors/candles.ts";
import { collateralCollector } from "./collectors/collateral.ts";
import { exchangeStatusCollector } from "./collectors/exchange-status.ts";
import { fillsCollector } from "./collectors/fills.ts";
import { fundingCollector } from "./collectors/funding.ts";
import { fundingRatesCollector } from "./collectors/funding-rates.ts";
import { liquidationsCollector } from "./collectors/liquidations.ts";
import { marketConfigCollector } from "./collectors/market-config.ts";
import { marketsCollector } from "./collectors/markets.ts";
import { notificationsCollector } from "./collectors/notifications.ts";
import { orderbookCollector } from "./collectors/orderbook.ts";
import { ordersCollector } from "./collectors/orders.ts";
import { pnlCollector } from "./collectors/pnl.ts";
import { portfolioCollector } from "./collectors/portfolio.ts";
import { traderStateCollector } from "./collectors/trader-state.ts";
import { traderViewCollector } from "./collectors/trader-view.ts";
import { type InboxReading, readInbox } from "./inbox-reading.ts";
import type { CollectLog } from "./log.ts";
import { MarketBook } from "./market-book.ts";
import { type CollectNeeds, noNeeds } from "./needs.ts";
import { EventPublisher, ownCursors } from "./paging/event-publisher.ts";
import { type Demand, marketReadsOf } from "./schedule/demand.ts";
import type { ScheduleFigures } from "./schedule/figures.ts";
import { Scheduler } from "./schedule/scheduler.ts";
import { type ScheduleSettings, scheduleMs } from "./settings.ts";
import { StreamFeed } from "./stream/feed.ts";

export interface CollectorsOptions {
  readonly client: ExchangeClient;
  readonly wallets: readonly CollectedWallet[];
  readonly schedules: ScheduleSettings;
  /** The request ceiling, to which schedules are stretched. */
  readonly requestsPerSecond: number;
  /** The budget for requests; absent: the ceiling is used. */
  readonly budget?: Pick<RequestBudget, "ratePerSecond" | "limit" | "onLimit">;
  /** The clock, corrected to the exchange's time if that is known. */
  readonly clock: Clock;
  /** The measured time of the exchange; absent: the clock's. */
  readonly time?: Pick<ExchangeTime, "agreed" | "agreement" | "nowMs">;
  readonly random: Random;
  /** Resolves when the observation was judged and stored. */
  readonly observe: (observation: Observation) => Promise<void>;
  readonly store: Pick<Store, "knownEvents" | "events" | "cursors">;
  /** Retention of events in the store, ms; null or left out: unlimited. */
  readonly eventsKeptMs?: number | null;
  /** Returns the margin ratio of a wallet's worst account; null while unknown. */
  readonly marginRatio: (wallet: string) => number | null;
  /** Returns the markets for which a source read market by market is needed now; absent: none. */
  readonly wantedMarkets?: (source: MarketRead) => WantedMarkets;
  /** The reads that rules need beyond the regular ones. Absent: none. */
  readonly needs?: CollectNeeds;
  /** Stores the body of an invalid answer. */
  readonly onBadRecord: (record: BadRecord) => void;
  readonly log: CollectLog;
  /**
   * Returns the current tokens of all sessions: they are removed from stored and logged texts of the exchange. Left
   * out: none.
   */
  readonly secrets?: () => readonly string[];
  /** Creates the stream connections, which call the listener; absent: everything is polled. */
  readonly streams?: (listener: StreamListener) => Streams;
}

export interface Collectors {
  /** Starts reading; stops also when the signal aborts. */
  start(signal?: AbortSignal): Promise<void>;
  stop(): Promise<void>;
  /** Runs a collector as soon as possible; two requests cause one run. */
  ask(source: Source, wallet: string | null): void;
  /** Notifications of a wallet were acknowledged: they are counted again soon. */
  acknowledged(wallet: string): void;
  /** Reads the exchange's own list of a wallet's notifications. @throws {ExchangeError} */
  readInbox(wallet: string): Promise<InboxReading>;
  /** Publishes notifications that were found apart from the schedules. */
  publishInbox(wallet: string, events: readonly Event[]): Promise<void>;
  /** Returns the stream connections, and the number of changes that they missed; null: everything is polled. */
  streams(): { readonly streams: Streams; readonly missed: number } | null;
  /** Takes a report of unreadable data from the client (its `onBadRecord`). */
  badRecord(report: BadRecordReport): void;
  status(): ScheduleStatus[];
  /** Returns the outage while nothing can be read from the exchange; else null. */
  outage(): ExchangeOutage | null;
  demand(): Demand;
  /** @param isSignInReported true if an alert reports why sign-ins fail: failures without a session are then not counted */
  figures(isSignInReported?: boolean): ScheduleFigures & { readonly badRecords: number };
}

type StreamFeedAsk = ConstructorParameters<typeof StreamFeed>[0]["ask"];

export function createCollectors(options: CollectorsOptions): Collectors {
  const { wallets, clock, log } = options;
  const badRecords = new BadRecords(clock, log, options.onBadRecord, options.secrets);
  let scheduler: Scheduler | null = null;
  let feed: StreamFeed | null = null;
  const acknowledged = new Set<string>();
  let streams: Streams | null = null;
  let stopWaiting: () => void = () => {};
  let parts: {
    readonly accounts: AccountBook;
    readonly book: MarketBook;
    readonly publisher: EventPublisher;
  } | null = null;
  const stopping = new AbortController();
  const walletOf = (name: string) => {
    const wallet = wallets.find((one) => one.name === name);
    if (!wallet || !parts) throw new Error(`${name} is not read`);
    return { wallet, ...parts };
  };

  async function create(): Promise<Scheduler> {
    const cursors = ownCursors(await options.store.cursors(), wallets);
    const book = new MarketBook();
    const accounts = new AccountBook(wallets, cursors);
    const publisher = new EventPublisher(
      options.store,
      wallets,
      cursors,
      clock,
      options.eventsKeptMs,
      options.time,
    );
    parts = { accounts, book, publisher };
    const elapsedMs = () => clock.elapsedMs();
    const slots = new LedgerSlots();
    const shared = { publisher, badRecords, cursors, elapsedMs, slots };
    const onNewAccount = (wallet: string) => scheduler?.ask("notifications", wallet);
    const ratePerSecond = () => options.budget?.ratePerSecond ?? options.requestsPerSecond;
    if (options.streams) {
      const ask: StreamFeedAsk = (source, wallet, gap) => scheduler?.ask(source, wallet, gap);
      const exchangeIsDown = () => (scheduler?.outage ?? null) !== null;
      const inboxEveryMs = () =>
        scheduler?.demand().sources.find(({ source }) => source === "notifications")?.effectiveMs ??
        scheduleMs(options.schedules.notifications, clock.nowMs());
      const own = { ask, ratePerSecond, accounts, book, publisher, badRecords, exchangeIsDown, inboxEveryMs };
      feed = new StreamFeed({ ...options, ...own });
    }
    const live = feed;
    const wantedMarkets = options.wantedMarkets ?? (() => new Set<string>());
    const ofMarkets = { book, wanted: wantedMarkets };
    const askCalendars = () => scheduler?.ask("calendars", null);
    const calendars = calendarsCollector({ ...ofMarkets, badRecords, clock, ask: askCalendars });
    stopWaiting = calendars.stop;
    const needs = options.needs ?? noNeeds;
    const everyMs = scheduleMs(options.schedules.traderState, clock.nowMs());
    const collectors: Collector[] = [
      marketConfigCollector(book, badRecords, elapsedMs),
      marketsCollector(live, elapsedMs),
      exchangeStatusCollector(live),
      traderStateCollector({ accounts, badRecords, onNewAccount, live, elapsedMs, everyMs, slots }),
      traderViewCollector(accounts, badRecords),
      notificationsCollector({ accounts, book, publisher, cursors, elapsedMs, acknowledged, live }),
      liquidationsCollector(shared, accounts),
      fundingCollector(shared),
      collateralCollector(shared),
      ordersCollector(shared, () => needs.orderAges()),
      fillsCollector(shared),
      orderbookCollector(ofMarkets),
      calendars.collector,
      candlesCollector(ofMarkets),
      fundingRatesCollector(book, cursors),
      portfolioCollector(accounts, needs),
      pnlCollector(accounts, cursors),
    ];
    return new Scheduler({
      ...options,
      collectors,
      settings: options.schedules,
      ratePerSecond,
      accounts: (wallet) => accounts.count(wallet),
      marketReads: () => marketReadsOf((source) => marketsToRead(ofMarkets, source)?.length ?? 0),
      equityCheck: () => needs.equityCheck(),
      ...(live ? { streaming: (wallet) => live.streamsNotifications(wallet) } : {}),
    });
  }

  async function stop(): Promise<void> {
    stopWaiting();
    stopping.abort(new Error("perpwatch is stopping"));
    await feed?.stop();
    await scheduler?.stop();
  }

  return {
    async start(signal) {
      signal?.throwIfAborted();
      scheduler = await create();
      signal?.addEventListener("abort", () => void stop(), { once: true });
      if (signal?.aborted) return;
      const { observe } = options;
      const runs = wallets.map((wallet) => ({ wallet, observe, nowMs: () => clock.nowMs() }));
      // A history may be read long after accounts; the downtime before that does not count as past.
      parts?.publisher.begin(runs).catch(() => {});
      scheduler.start();
      if (!feed || !options.streams) return;
      streams = options.streams(feed);
      feed.start(streams);
    },
    stop,
    ask: (source, wallet) => scheduler?.ask(source, wallet),
    acknowledged(wallet) {
      acknowledged.add(wallet);
      feed?.acknowledged(wallet);
    },
    readInbox(name) {
      const { wallet, accounts, book } = walletOf(name);
      const nowMs = () => clock.nowMs();
      return readInbox({ wallet, client: options.client, accounts, book, nowMs, signal: stopping.signal });
    },
    publishInbox(name, events) {
      const { wallet, publisher } = walletOf(name);
      const { observe } = options;
      return publisher.publish({ wallet, observe, nowMs: () => clock.nowMs() }, "notifications", {
        events,
        live: true,
      });
    },
    streams: () => streams && { streams, missed: feed?.missed ?? 0 },
    badRecord: (report) => badRecords.take(report),
    status: () => scheduler?.status() ?? [],
    outage: () => scheduler?.outage ?? null,
    demand: () => {
      if (!scheduler) throw new Error("collecting has not begun");
      return scheduler.demand();
    },
    figures: (isSignInReported) => ({
      lagMs: 0,
      failedPolls: 0,
      failingReads: "",
      ...scheduler?.figures(isSignInReported),
      badRecords: badRecords.count,
    }),
  };
}
