/**
 * The stream as a source of observations, beside the polls and never instead of them.
 *
 *   market statistics ─► live prices ──┐
 *   trader state ──────► mirror ───────┼─► coalesced ─► observe (the same queue as polls)
 *   exchange status ───► changes ──────┤
 *   notifications ─────► events ───────┘
 *
 *   came back, does not fit, cannot be read, quiet ─► ask over HTTP
 *
 * What comes is judged as told of just itself: a connection, a pong or silence makes nothing fresh. Announcements are only
 * a reason to read the inbox, since the ids of live copies may not last.
 */
import {
  type ChannelName,
  type MarketStatsMessage,
  type NotificationItem,
  type NotificationMessage,
  notificationKey,
  type TraderStateMessage,
} from "../contract/index.ts";
import type { MarketPrices } from "../domain/account.ts";
import type { Clock } from "../domain/clock.ts";
import type { Event } from "../domain/event.ts";
import type { Observation } from "../domain/observation.ts";
import type { Source } from "../domain/sources.ts";
import {
  type BadRecordReport,
  type DownReason,
  HOLD_MS,
  type Mirrored,
  type StreamListener,
  type StreamMessage,
  type StreamMisfit,
  type Streams,
  type Taken,
  TraderMirror,
} from "../exchange/index.ts";
import type { AccountBook } from "./accounts.ts";
import type { BadRecords } from "./bad-records.ts";
import { Coalescer } from "./coalesce.ts";
import type { CollectedWallet } from "./collector.ts";
import type { EventPublisher } from "./event-publisher.ts";
import { InboxTrust } from "./inbox-trust.ts";
import { LivePrices } from "./live-prices.ts";
import type { CollectLog } from "./log.ts";
import type { MarketBook } from "./market-book.ts";
import { PriceChannel } from "./price-channel.ts";
import { SpreadAsks } from "./spread-asks.ts";
import { StreamOutages } from "./stream-outages.ts";
import { livePricesOf } from "./translate/market.ts";
import { isUnreadLiquidation, notificationEvents } from "./translate/notification.ts";
import { subaccountState } from "./translate/trader-state.ts";

/**
 * A market's own time may be ahead of ours, which is the exchange's where that is known, by this much: a row from the
 * future holds back all that follow until then.
 */
const MOST_AHEAD_MS = 3_000;
/** Between two readings of one wallet, or of the prices, that what does not fit asks for. */
const BETWEEN_DOUBTS_MS = 5_000;
/** Between two readings of an inbox that what it tells asks for. */
const BETWEEN_INBOXES_MS = 10_000;
/** Events of one wallet that wait to be taken; more are left to the inbox. */
const MOST_WAITING_EVENTS = 500;
/**
 * A notification that cannot be read in the stream is reported as it is after so long where the inbox does not show it by then: its
 * reading may wait for the request budget.
 */
const UNREAD_FOR_MS = 45_000;
/** Until then the inbox is asked for it again and again: it may show an item some seconds after the stream does. */
const BETWEEN_UNREAD_MS = 15_000;
/** Changes of the exchange's status that wait to be taken; of more the oldest are left out. */
const MOST_WAITING_STATUSES = 20;
/** Without a message while prices moved, the connection is not believed. */
const SILENT_MS = 60_000;

export interface StreamFeedOptions {
  readonly wallets: readonly CollectedWallet[];
  readonly clock: Clock;
  readonly observe: (observation: Observation) => Promise<void>;
  /** Runs a collector soon; `gap`: something may have been missed. */
  readonly ask: (source: Source, wallet: string | null, gap?: boolean) => void;
  readonly ratePerSecond: () => number;
  readonly marginRatio: (wallet: string) => number | null;
  readonly accounts: AccountBook;
  readonly book: MarketBook;
  readonly publisher: EventPublisher;
  readonly badRecords: BadRecords;
  /** True if nothing at all can be read. */
  readonly exchangeIsDown: () => boolean;
  /** The interval at which an inbox is polled where the stream does not tell it, ms. */
  readonly inboxEveryMs: () => number;
  readonly log: CollectLog;
}

interface Followed {
  readonly wallet: CollectedWallet;
  readonly pdaIndex: number;
  readonly mirror: TraderMirror;
}

export class StreamFeed implements StreamListener {
  readonly #options: StreamFeedOptions;
  readonly #clock: Clock;
  readonly #followed = new Map<string, Followed>();
  readonly #byName = new Map<string, CollectedWallet>();
  readonly #prices = new LivePrices();
  readonly #coalescer: Coalescer;
  readonly #spread: SpreadAsks;
  readonly #notedPrices = new Map<string, MarketPrices>();
  readonly #notedStates = new Map<string, Set<number> | null>();
  /** In the order in which they were told: each change is an event. */
  readonly #notedStatuses: ExchangeStatus[] = [];
  readonly #notedEvents = new Map<string, Event[]>();
  #statusToldMs = Number.NEGATIVE_INFINITY;
  readonly #readMs = new Map<string, number>();
  readonly #later = new Map<string, () => void>();
  /** Notifications that cannot be read in the stream, by key, with what calls off that they are reported as they are. */
  readonly #unread = new Map<string, () => void>();
  readonly #askedMs = new Map<string, number>();
  readonly #outages: StreamOutages;
  readonly #trust = new InboxTrust();
  #streams: Streams | null = null;
  #priceChannel: PriceChannel | null = null;
  #missed = 0;

  constructor(options: StreamFeedOptions) {
    this.#options = options;
    this.#clock = options.clock;
    for (const wallet of options.wallets) {
      this.#byName.set(wallet.name, wallet);
      for (const pdaIndex of wallet.pdaIndices)
        this.#followed.set(familyOf(wallet.authority, pdaIndex), {
          wallet,
          pdaIndex,
          mirror: new TraderMirror(),
        });
    }
    const { exchangeIsDown, inboxEveryMs } = options;
    this.#outages = new StreamOutages(options.clock, options.log, exchangeIsDown, inboxEveryMs);
    this.#coalescer = new Coalescer(options.clock, () => this.#handOn());
    this.#spread = new SpreadAsks({
      clock: options.clock,
      ratePerSecond: options.ratePerSecond,
      marginRatio: options.marginRatio,
      ask: (source, wallet) => options.ask(source, wallet, true),
      readMs: (source, wallet) => this.#readMs.get(`${source} ${wallet}`) ?? Number.NEGATIVE_INFINITY,
    });
  }

  /** Subscribes to everything, and begins. */
  start(streams: Streams): void {
    this.#streams = streams;
    // Few and for all first, in case the exchange takes only so many.
    const { clock, log } = this.#options;
    this.#priceChannel = new PriceChannel({ link: streams.common, clock, log });
    streams.common.subscribe("exchangeStatus", {});
    // Of this only that something changed: its snapshot comes compressed, and is not read.
    streams.common.subscribe("exchange", {});
    for (const { wallet, pdaIndex } of this.#followed.values())
      streams.common.subscribe("traderState", { authority: wallet.authority, traderPdaIndex: pdaIndex });
    streams.start();
  }

  async stop(): Promise<void> {
    await this.#streams?.stop();
    this.#outages.stop();
    this.#priceChannel?.stop();
    this.#spread.stop();
    for (const cancel of [...this.#later.values(), ...this.#unread.values()]) cancel();
    this.#later.clear();
    this.#unread.clear();
    await this.#coalescer.stop();
  }

  /** Changes of accounts, and notifications, that a poll told first and the stream never did. */
  get missed(): number {
    return this.#missed;
  }

  /** True if a wallet's notifications are streamed now. */
  tellsNotifications(wallet: string): boolean {
    return !this.#trust.doubted(wallet) && (this.#streams?.tellsNotifications(wallet) ?? false);
  }

  /** An inbox that the stream tells is polled seldom: what was acknowledged would be shown as waiting until then. */
  acknowledged(wallet: string): void {
    this.#askInbox(wallet);
  }

  /** Monotonic ms; what a poll says when it asks. */
  elapsedMs(): number {
    return this.#clock.elapsedMs();
  }

  // ── what polls bring ────────────────────────────────────────────────────────────────────────────────────────────

  /** An answer of the trader state; null: nothing of it is newer than what is known. */
  polledState(
    wallet: CollectedWallet,
    pdaIndex: number,
    answer: { readonly slot: number; readonly slotIndex: number; readonly snapshot: PolledSnapshot },
    askedMs: number,
  ): Mirrored | null {
    const followed = this.#followed.get(familyOf(wallet.authority, pdaIndex));
    if (!followed) return { ...answer, subaccounts: answer.snapshot.subaccounts, told: null, exact: true };
    const atMs = this.#clock.elapsedMs();
    const subscription = { authority: wallet.authority, traderPdaIndex: pdaIndex };
    const common = this.#streams?.common;
    const streaming =
      common?.connected === true && common.subscriptions.stateOf("traderState", subscription) === "confirmed";
    const { mirrored, missed } = followed.mirror.takePoll(
      answer,
      answer.snapshot.subaccounts,
      { askedMs, atMs },
      streaming,
    );
    // It contains all that the stream noted before, which would be handed on without its place in the slot.
    if (mirrored?.exact) this.#notedStates.delete(familyOf(wallet.authority, pdaIndex));
    this.#readMs.set(`traderState ${wallet.name}`, askedMs);
    // An answer of before the message that is missing does not fill the hole.
    if (followed.mirror.holding) this.#doubt(wallet.name);
    if (missed > 0) {
      if (this.#missed === 0)
        this.#options.log.warn({ wallet: wallet.name }, "the stream left out a change that a poll told");
      this.#missed += missed;
      common?.resubscribe("traderState", subscription);
    }
    return mirrored;
  }

  /** The newest items of an inbox as a poll read them. */
  polledInbox(wallet: CollectedWallet, items: readonly NotificationItem[]): void {
    const { name, authority } = wallet;
    if (!this.#streams?.tellsNotifications(name)) return;
    const doubted = this.#trust.doubted(name);
    const missed = this.#trust.polled(name, authority, items, this.#clock.nowMs());
    this.#missed += missed;
    if (missed === 0 || doubted) return;
    this.#options.log.warn(
      { wallet: name, missed },
      `the stream of ${name} told nothing of ${missed === 1 ? "a notification" : `${missed} notifications`} that the inbox shows; it is polled as without a stream until it tells something`,
    );
    this.#streams.of(name)?.resubscribe("notifications", { authority });
  }

  /** Prices of all markets as a poll brought them, with what is newer. */
  polledPrices(rows: readonly MarketPrices[], askedMs: number): readonly MarketPrices[] {
    const common = this.#streams?.common;
    if (common?.connected && common.quietMs > SILENT_MS && this.#prices.movedSince(rows)) {
      common.restart("prices moved and it told nothing");
    }
    const newest = this.#prices.takePoll(rows, askedMs);
    // A price that the stream told before the poll was asked, and that waits to be handed over, would take it back.
    for (const prices of newest) {
      const key = prices.symbol.toUpperCase();
      if (this.#notedPrices.get(key) !== prices) this.#notedPrices.delete(key);
    }
    return newest;
  }

  /** True if the stream has sent the exchange's status since then: an answer to a question of before may be the older. */
  toldStatusSince(askedMs: number): boolean {
    return this.#statusToldMs >= askedMs;
  }

  // ── what the stream brings ──────────────────────────────────────────────────────────────────────────────────────

  message(wallet: string | null, { channel, message }: StreamMessage): void {
    switch (channel) {
      case "marketStats":
        this.#takePrices([message]);
        return;
      case "marketStatsV2":
        if (message.stats.length > 0) this.#priceChannel?.told();
        this.#takePrices(message.stats);
        return;
      case "traderState":
        this.#takeState(message);
        return;
      case "exchangeStatus": {
        const { active, gated, withdrawalsAvailable } = message.data;
        this.#statusToldMs = this.#clock.elapsedMs();
        this.#noteStatus({ active, gated, withdrawalsAvailable });
        this.#options.ask("exchangeStatus", null);
        return;
      }
      case "exchange":
        // The status has a channel of its own; of anything else the market list tells how it is now.
        if (message.ops.some(({ kind }) => kind !== "exchangeStatusChanged"))
          this.#askSoon("marketConfig", null, BETWEEN_DOUBTS_MS);
        return;
      case "notifications":
        if (wallet !== null) this.#takeNotification(wallet, message);
        return;
      default:
    }
  }

  misfit(wallet: string | null, { channel, frame }: StreamMisfit): void {
    if (channel === "notifications" && wallet !== null) this.#askInbox(wallet);
    else if (channel === "exchangeStatus") this.#options.ask("exchangeStatus", null);
    else if (channel === "marketStats" || channel === "marketStatsV2") {
      if (channel === "marketStatsV2") this.#priceChannel?.misfit();
      this.#askSoon("markets", null, BETWEEN_DOUBTS_MS);
    } else if (channel === "traderState") {
      const { authority, traderPdaIndex } = frame as Record<string, unknown>;
      const followed = this.#followed.get(familyOf(String(authority), Number(traderPdaIndex)));
      if (followed) this.#doubt(followed.wallet.name);
    }
  }

  refused(wallet: string | null, channel: ChannelName | null): void {
    if (wallet === null) this.#priceChannel?.refused(channel);
  }

  badFrame(report: BadRecordReport): void {
    this.#options.badRecords.take(report);
  }

  up(wallet: string | null, again: boolean): void {
    const { ask } = this.#options;
    this.#outages.up(wallet);
    if (wallet !== null) {
      this.#trust.up(wallet, this.#clock.nowMs());
      this.#spread.add("notifications", [wallet]);
      return;
    }
    this.#priceChannel?.up();
    if (!again) return;
    ask("markets", null);
    ask("exchangeStatus", null);
    this.#spread.add("traderState", [...this.#byName.keys()]);
  }

  down(wallet: string | null, detail: string, why: DownReason): void {
    if (wallet === null) {
      this.#priceChannel?.down();
      for (const { mirror } of this.#followed.values()) mirror.lost();
    }
    // From now on the inbox is read as often as without a stream.
    if (this.#outages.down(wallet, detail, why) && wallet !== null)
      this.#spread.add("notifications", [wallet]);
  }

  quiet(wallet: string | null): void {
    // What moved meanwhile decides whether that is a still market or a dead stream.
    if (wallet === null) this.#options.ask("markets", null);
  }

  #noteStatus(status: ExchangeStatus): void {
    const last = this.#notedStatuses.at(-1);
    const { active, gated, withdrawalsAvailable } = status;
    if (last?.active === active && last.gated === gated && last.withdrawalsAvailable === withdrawalsAvailable)
      return;
    this.#notedStatuses.push(status);
    if (this.#notedStatuses.length > MOST_WAITING_STATUSES) this.#notedStatuses.shift();
    this.#coalescer.noted();
  }

  /** @throws when the time of a row of a known market is ahead of the clock; the other rows are taken */
  #takePrices(rows: readonly MarketStatsMessage[]): void {
    const nowMs = this.#clock.nowMs();
    let ahead = false;
    for (const row of rows) {
      const prices = livePricesOf(row);
      // Markets are what the market list says, here as in polls. Before that was answered our clock may be off by any time.
      if (!this.#options.book.of(prices.symbol)) continue;
      ahead ||= prices.exchangeMs > nowMs + MOST_AHEAD_MS;
      if (prices.exchangeMs > nowMs + MOST_AHEAD_MS) continue;
      if (!this.#prices.takeLive(prices, this.#clock.elapsedMs())) continue;
      this.#notedPrices.set(prices.symbol.toUpperCase(), prices);
      this.#coalescer.noted();
    }
    if (ahead) throw new Error("its time is ahead of the clock");
  }

  #takeState(message: TraderStateMessage): void {
    const key = familyOf(message.authority, message.traderPdaIndex);
    const followed = this.#followed.get(key);
    if (!followed) return;
    this.#noteState(key, followed, followed.mirror.takeMessage(message, this.#clock.elapsedMs()));
  }

  #noteState(key: string, { wallet, mirror }: Followed, { mirrored, doubt }: Taken): void {
    if (doubt !== null) this.#doubt(wallet.name);
    if (mirror.holding) this.#releaseLater(key);
    else this.#cancelRelease(key);
    if (mirrored === null) return;
    const { told } = mirrored;
    const noted = this.#notedStates.get(key);
    if (told === null || noted === null) this.#notedStates.set(key, null);
    else this.#notedStates.set(key, new Set([...(noted ?? []), ...told]));
    this.#coalescer.noted();
  }

  /** Takes changes that were held for another subaccount for the longest time. */
  #releaseLater(key: string): void {
    const name = `release ${key}`;
    if (this.#later.has(name)) return;
    const release = (): void => {
      this.#later.delete(name);
      const followed = this.#followed.get(key);
      if (followed?.mirror.holding)
        this.#noteState(key, followed, followed.mirror.takeOverdue(this.#clock.elapsedMs()));
    };
    this.#later.set(name, this.#clock.after(HOLD_MS, release));
  }

  #cancelRelease(key: string): void {
    const name = `release ${key}`;
    this.#later.get(name)?.();
    this.#later.delete(name);
  }

  #takeNotification(name: string, message: NotificationMessage): void {
    const { accounts, book } = this.#options;
    const wallet = this.#byName.get(name);
    if (!wallet || message.authority !== wallet.authority) return;
    const { payload, traderPubkey, traderPdaIndex } = message;
    this.#trust.told(name, wallet.authority, payload);
    if (traderPdaIndex !== null && !wallet.pdaIndices.includes(traderPdaIndex)) return;
    const account = accounts.of(name).find((one) => one.address === traderPubkey);
    this.#askInbox(name);
    if (payload.source !== "event" || !account || !book.known) return;
    const seenMs = this.#clock.nowMs();
    const note = (): void => {
      const events = this.#notedEvents.get(name) ?? [];
      if (events.length >= MOST_WAITING_EVENTS) return;
      events.push(...notificationEvents(payload, wallet, account, book, seenMs));
      this.#notedEvents.set(name, events);
      this.#coalescer.noted();
    };
    // Once it is reported, the inbox does not report it again, and which liquidation it is would not be known.
    if (isUnreadLiquidation(payload))
      this.#afterInbox(name, notificationKey(payload, wallet.authority), note);
    else note();
  }

  /** Notes a notification that the inbox was to report: if it did by then, nothing is reported twice. */
  #afterInbox(name: string, key: string, note: () => void): void {
    if (this.#unread.has(key) || this.#unread.size >= MOST_WAITING_EVENTS) return;
    let looks = UNREAD_FOR_MS / BETWEEN_UNREAD_MS;
    const wait = (): void => {
      this.#unread.set(key, this.#clock.after(BETWEEN_UNREAD_MS, look));
    };
    const look = (): void => {
      looks--;
      if (looks > 0) {
        this.#askInbox(name);
        wait();
        return;
      }
      this.#unread.delete(key);
      note();
    };
    wait();
  }

  /** Hands on everything that is noted, of each thing the newest. */
  async #handOn(): Promise<void> {
    try {
      await Promise.all(this.#handed());
    } catch (error) {
      const detail = error instanceof Error ? error.message : "unknown";
      this.#options.log.warn({ detail }, "what the stream told could not be recorded");
    }
  }

  #handed(): Promise<void>[] {
    const { observe } = this.#options;
    const handed: Promise<void>[] = [];
    const atMs = this.#clock.nowMs();
    // Each at a moment of its own, by which events are told apart.
    for (const [index, status] of this.#notedStatuses.splice(0).entries())
      handed.push(observe({ kind: "exchangeStatus", atMs: atMs + index, ...status }));
    if (this.#notedPrices.size > 0) {
      handed.push(observe({ kind: "prices", atMs, markets: [...this.#notedPrices.values()], live: true }));
      this.#notedPrices.clear();
    }
    for (const [key, told] of this.#notedStates) {
      const followed = this.#followed.get(key);
      if (followed) handed.push(...this.#states(followed, told, atMs));
    }
    this.#notedStates.clear();
    for (const [name, events] of [...this.#notedEvents]) {
      this.#notedEvents.delete(name);
      handed.push(this.#tell(name, events));
    }
    return handed;
  }

  #states({ wallet, pdaIndex, mirror }: Followed, told: Set<number> | null, atMs: number): Promise<void>[] {
    const { accounts, badRecords, observe, ask } = this.#options;
    const onUnknown = (field: string, word: string) => badRecords.unknownWord("traderState", field, word);
    const mirrored = mirror.now();
    const rows = mirrored.subaccounts;
    const fresh = accounts.take(
      wallet,
      pdaIndex,
      rows.map((row) => row.subaccountIndex),
    );
    if (fresh.length > 0) ask("notifications", wallet.name);
    const { slot, slotIndex } = mirrored;
    return [
      observe({
        kind: "accounts",
        wallet: wallet.name,
        pdaIndex,
        atMs,
        slot,
        slotIndex,
        subaccounts: rows
          .filter((row) => told === null || told.has(row.subaccountIndex))
          .map((row) => subaccountState(row, onUnknown)),
        ...(told === null ? {} : { told: [...told] }),
      }),
    ];
  }

  async #tell(name: string, events: readonly Event[]): Promise<void> {
    const { publisher, observe } = this.#options;
    const wallet = this.#byName.get(name);
    if (!wallet) return;
    const run = { wallet, observe, nowMs: () => this.#clock.nowMs() };
    await publisher.tell(run, "notifications", { events, live: true });
  }

  // ── asking over HTTP ────────────────────────────────────────────────────────────────────────────────────────────

  #doubt(wallet: string): void {
    this.#askSoon("traderState", wallet, BETWEEN_DOUBTS_MS);
  }

  #askInbox(wallet: string): void {
    this.#askSoon("notifications", wallet, BETWEEN_INBOXES_MS);
  }

  /** Now, or when the last such asking is long enough ago: never not at all. */
  #askSoon(source: Source, wallet: string | null, betweenMs: number): void {
    const key = `${source} ${wallet}`;
    if (this.#later.has(key)) return;
    const ask = () => {
      this.#later.delete(key);
      this.#askedMs.set(key, this.#clock.elapsedMs());
      this.#options.ask(source, wallet);
    };
    const waitMs = (this.#askedMs.get(key) ?? Number.NEGATIVE_INFINITY) + betweenMs - this.#clock.elapsedMs();
    if (waitMs <= 0) ask();
    else this.#later.set(key, this.#clock.after(waitMs, ask));
  }
}

type ExchangeStatus = Pick<
  Extract<Observation, { kind: "exchangeStatus" }>,
  "active" | "gated" | "withdrawalsAvailable"
>;
type PolledSnapshot = { readonly subaccounts: Mirrored["subaccounts"] };

function familyOf(authority: string, pdaIndex: number): string {
  return `${authority} ${pdaIndex}`;
}
