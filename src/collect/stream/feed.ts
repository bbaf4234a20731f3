/**
 * The stream as a source of observations, in addition to polls.
 *
 *   market statistics ─► live prices ──┐
 *   trader state ──────► mirror ───────┼─► coalesced ─► observe (the same queue as polls)
 *   exchange status ───► changes ──────┤
 *   notifications ─────► events ───────┘
 *
 *   reconnected, inconsistent, unreadable, silent ─► read over HTTP
 *
 * A message refreshes only its own data: a connection, a pong or silence refreshes nothing. Announcements only trigger
 * a read of the inbox, since the ids of live copies may be temporary.
 */
import {
  type ChannelName,
  type MarketStatsMessage,
  type NotificationItem,
  type NotificationMessage,
  notificationKey,
  type TraderStateMessage,
} from "../../contract/index.ts";
import type { MarketPrices } from "../../domain/account.ts";
import type { Clock } from "../../domain/clock.ts";
import type { Observation } from "../../domain/observation.ts";
import type { Source } from "../../domain/sources.ts";
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
} from "../../exchange/index.ts";
import type { AccountBook } from "../accounts.ts";
import type { BadRecords } from "../anomalies/bad-records.ts";
import type { CollectedWallet } from "../collector.ts";
import type { CollectLog } from "../log.ts";
import type { MarketBook } from "../market-book.ts";
import type { EventPublisher } from "../paging/event-publisher.ts";
import { livePricesOf } from "../translate/market.ts";
import { isUnreadLiquidation, notificationEvents } from "../translate/notification.ts";
import { type Followed, FollowedTraders, familyOf } from "./followed-traders.ts";
import { InboxTrust } from "./inbox-trust.ts";
import { LivePrices } from "./live-prices.ts";
import { StreamOutages } from "./outages.ts";
import { betweenDoubtsMs, PacedReads } from "./paced-reads.ts";
import { PriceChannel } from "./price-channel.ts";
import { SpreadReads } from "./spread-reads.ts";
import { StreamBuffer } from "./stream-buffer.ts";
import { UnreadNotifications } from "./unread-notifications.ts";

/**
 * Maximum time by which a market's time may be ahead of ours, which is the exchange's if known: a row from the future
 * would block all later ones until then.
 */
const maxAheadMs = 3_000;
/** Time without a message while prices moved after which the connection counts as failed. */
const silentMs = 60_000;

export interface StreamFeedOptions {
  readonly wallets: readonly CollectedWallet[];
  readonly clock: Clock;
  readonly observe: (observation: Observation) => Promise<void>;
  /** Runs a collector soon; `gap`: data may have been missed. */
  readonly ask: (source: Source, wallet: string | null, gap?: boolean) => void;
  readonly ratePerSecond: () => number;
  readonly marginRatio: (wallet: string) => number | null;
  readonly accounts: AccountBook;
  readonly book: MarketBook;
  readonly publisher: EventPublisher;
  readonly badRecords: BadRecords;
  /** Returns true if nothing at all can be read. */
  readonly exchangeIsDown: () => boolean;
  /** Returns the interval at which an inbox is polled without a stream, ms. */
  readonly inboxEveryMs: () => number;
  readonly log: CollectLog;
}

export class StreamFeed implements StreamListener {
  readonly #options: StreamFeedOptions;
  readonly #clock: Clock;
  readonly #followed: FollowedTraders;
  readonly #prices = new LivePrices();
  readonly #buffer: StreamBuffer;
  readonly #reads: PacedReads;
  readonly #unread: UnreadNotifications;
  readonly #spread: SpreadReads;
  #statusReceivedMs = Number.NEGATIVE_INFINITY;
  readonly #readMs = new Map<string, number>();
  /** Cancels the waits of changes that are held for another subaccount. */
  readonly #releases = new Map<string, () => void>();
  readonly #outages: StreamOutages;
  readonly #trust = new InboxTrust();
  #streams: Streams | null = null;
  #priceChannel: PriceChannel | null = null;
  #missed = 0;

  constructor(options: StreamFeedOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#followed = new FollowedTraders(options.wallets);
    const { exchangeIsDown, inboxEveryMs } = options;
    this.#outages = new StreamOutages(options.clock, options.log, exchangeIsDown, inboxEveryMs);
    this.#buffer = new StreamBuffer(
      { ...options, onNewAccount: (wallet) => options.ask("notifications", wallet) },
      this.#followed,
    );
    this.#reads = new PacedReads(options.clock, (source, wallet) => options.ask(source, wallet));
    this.#unread = new UnreadNotifications(options.clock, this.#reads);
    this.#spread = new SpreadReads({
      clock: options.clock,
      ratePerSecond: options.ratePerSecond,
      marginRatio: options.marginRatio,
      ask: (source, wallet) => options.ask(source, wallet, true),
      readMs: (source, wallet) => this.#readMs.get(`${source} ${wallet}`) ?? Number.NEGATIVE_INFINITY,
    });
  }

  /** Subscribes to everything, and starts. */
  start(streams: Streams): void {
    this.#streams = streams;
    // The common ones first, in case the exchange limits the number.
    const { clock, log } = this.#options;
    this.#priceChannel = new PriceChannel({ link: streams.common, clock, log });
    streams.common.subscribe("exchangeStatus", {});
    // Only the fact of a change is used: its snapshot is compressed, and is not read.
    streams.common.subscribe("exchange", {});
    for (const { wallet, pdaIndex } of this.#followed.all())
      streams.common.subscribe("traderState", { authority: wallet.authority, traderPdaIndex: pdaIndex });
    streams.start();
  }

  async stop(): Promise<void> {
    await this.#streams?.stop();
    this.#outages.stop();
    this.#priceChannel?.stop();
    this.#spread.stop();
    this.#reads.stop();
    this.#unread.stop();
    for (const cancel of this.#releases.values()) cancel();
    this.#releases.clear();
    await this.#buffer.stop();
  }

  /** Number of account changes and notifications that a poll found and the stream did not deliver. */
  get missed(): number {
    return this.#missed;
  }

  /** Returns true if a wallet's notifications are streamed now. */
  streamsNotifications(wallet: string): boolean {
    return !this.#trust.doubted(wallet) && (this.#streams?.streamsNotifications(wallet) ?? false);
  }

  /** Requests a poll: a streamed inbox is polled rarely, and would count acknowledged items as waiting until then. */
  acknowledged(wallet: string): void {
    this.#reads.inbox(wallet);
  }

  /** Monotonic ms, as a poll states it with its request. */
  elapsedMs(): number {
    return this.#clock.elapsedMs();
  }

  /** Takes a polled trader state; null: nothing in it is newer than the known state. */
  polledState(
    wallet: CollectedWallet,
    pdaIndex: number,
    answer: { readonly slot: number; readonly slotIndex: number; readonly snapshot: PolledSnapshot },
    askedMs: number,
  ): Mirrored | null {
    const followed = this.#followed.of(familyOf(wallet.authority, pdaIndex));
    if (!followed)
      return { ...answer, subaccounts: answer.snapshot.subaccounts, received: null, exact: true };
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
    // It includes all earlier messages of the stream, which would be passed on without their place in the slot.
    if (mirrored?.exact) this.#buffer.polledState(familyOf(wallet.authority, pdaIndex));
    this.#readMs.set(`traderState ${wallet.name}`, askedMs);
    // An answer from before the missing message does not fill the gap.
    if (followed.mirror.holding) this.#reads.doubt(wallet.name);
    if (missed > 0) {
      if (this.#missed === 0)
        this.#options.log.warn({ wallet: wallet.name }, "the stream left out a change that a poll shows");
      this.#missed += missed;
      common?.resubscribe("traderState", subscription);
    }
    return mirrored;
  }

  /** Takes the newest items of an inbox from a poll. */
  polledInbox(wallet: CollectedWallet, items: readonly NotificationItem[]): void {
    const { name, authority } = wallet;
    if (!this.#streams?.streamsNotifications(name)) return;
    const doubted = this.#trust.doubted(name);
    const missed = this.#trust.polled(name, authority, items, this.#clock.nowMs());
    this.#missed += missed;
    if (missed === 0 || doubted) return;
    this.#options.log.warn(
      { wallet: name, missed },
      `the stream of ${name} did not deliver ${missed === 1 ? "a notification" : `${missed} notifications`} that the inbox shows; the inbox is polled as without a stream until the stream delivers one`,
    );
    this.#streams.of(name)?.resubscribe("notifications", { authority });
  }

  /** Takes polled prices of all markets, and returns them merged with newer ones. */
  polledPrices(rows: readonly MarketPrices[], askedMs: number): readonly MarketPrices[] {
    const common = this.#streams?.common;
    if (common?.connected && common.quietMs > silentMs && this.#prices.movedSince(rows)) {
      common.restart("prices moved and it sent nothing");
    }
    const newest = this.#prices.takePoll(rows, askedMs);
    this.#buffer.polledPrices(newest);
    return newest;
  }

  /**
   * Returns true if the stream has sent the exchange's status since then: an answer to an earlier request may be older.
   */
  receivedStatusSince(askedMs: number): boolean {
    return this.#statusReceivedMs >= askedMs;
  }

  message(wallet: string | null, { channel, message }: StreamMessage): void {
    switch (channel) {
      case "marketStats":
        this.#takePrices([message]);
        return;
      case "marketStatsV2":
        if (message.stats.length > 0) this.#priceChannel?.received();
        this.#takePrices(message.stats);
        return;
      case "traderState":
        this.#takeState(message);
        return;
      case "exchangeStatus": {
        const { active, gated, withdrawalsAvailable } = message.data;
        this.#statusReceivedMs = this.#clock.elapsedMs();
        this.#buffer.status({ active, gated, withdrawalsAvailable });
        this.#options.ask("exchangeStatus", null);
        return;
      }
      case "exchange":
        // The status has a channel of its own; any other change is in the market list.
        if (message.ops.some(({ kind }) => kind !== "exchangeStatusChanged"))
          this.#reads.soon("marketConfig", null, betweenDoubtsMs);
        return;
      case "notifications":
        if (wallet !== null) this.#takeNotification(wallet, message);
        return;
      default:
    }
  }

  misfit(wallet: string | null, { channel, frame }: StreamMisfit): void {
    if (channel === "notifications" && wallet !== null) this.#reads.inbox(wallet);
    else if (channel === "exchangeStatus") this.#options.ask("exchangeStatus", null);
    else if (channel === "marketStats" || channel === "marketStatsV2") {
      if (channel === "marketStatsV2") this.#priceChannel?.misfit();
      this.#reads.soon("markets", null, betweenDoubtsMs);
    } else if (channel === "traderState") {
      const { authority, traderPdaIndex } = frame as Record<string, unknown>;
      const followed = this.#followed.of(familyOf(String(authority), Number(traderPdaIndex)));
      if (followed) this.#reads.doubt(followed.wallet.name);
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
    this.#spread.add("traderState", this.#followed.names());
  }

  down(wallet: string | null, detail: string, why: DownReason): void {
    if (wallet === null) {
      this.#priceChannel?.down();
      for (const { mirror } of this.#followed.all()) mirror.lost();
    }
    // From now on the inbox is polled at the interval without a stream.
    if (this.#outages.down(wallet, detail, why) && wallet !== null)
      this.#spread.add("notifications", [wallet]);
  }

  quiet(wallet: string | null): void {
    // Moved prices in the answer distinguish a failed stream from a quiet market.
    if (wallet === null) this.#options.ask("markets", null);
  }

  /** @throws if the time of a known market's row is ahead of the clock; the other rows are taken */
  #takePrices(rows: readonly MarketStatsMessage[]): void {
    const nowMs = this.#clock.nowMs();
    let ahead = false;
    for (const row of rows) {
      const prices = livePricesOf(row);
      // Only markets of the market list are used, as in polls. Before that was read the clock may be off by any time.
      if (!this.#options.book.of(prices.symbol)) continue;
      ahead ||= prices.exchangeMs > nowMs + maxAheadMs;
      if (prices.exchangeMs > nowMs + maxAheadMs) continue;
      if (!this.#prices.takeLive(prices, this.#clock.elapsedMs())) continue;
      this.#buffer.prices(prices);
    }
    if (ahead) throw new Error("its time is ahead of the clock");
  }

  #takeState(message: TraderStateMessage): void {
    const key = familyOf(message.authority, message.traderPdaIndex);
    const followed = this.#followed.of(key);
    if (!followed) return;
    this.#noteState(key, followed, followed.mirror.takeMessage(message, this.#clock.elapsedMs()));
  }

  #noteState(key: string, { wallet, mirror }: Followed, { mirrored, doubt }: Taken): void {
    if (doubt !== null) this.#reads.doubt(wallet.name);
    if (mirror.holding) this.#releaseLater(key);
    else this.#cancelRelease(key);
    if (mirrored !== null) this.#buffer.state(key, mirrored.received);
  }

  /** Releases changes that were held for another subaccount for the maximum time. */
  #releaseLater(key: string): void {
    if (this.#releases.has(key)) return;
    const release = (): void => {
      this.#releases.delete(key);
      const followed = this.#followed.of(key);
      if (followed?.mirror.holding)
        this.#noteState(key, followed, followed.mirror.takeOverdue(this.#clock.elapsedMs()));
    };
    this.#releases.set(key, this.#clock.after(HOLD_MS, release));
  }

  #cancelRelease(key: string): void {
    this.#releases.get(key)?.();
    this.#releases.delete(key);
  }

  #takeNotification(name: string, message: NotificationMessage): void {
    const { accounts, book } = this.#options;
    const wallet = this.#followed.wallet(name);
    if (!wallet || message.authority !== wallet.authority) return;
    const { payload, traderPubkey, traderPdaIndex } = message;
    this.#trust.received(name, wallet.authority, payload);
    if (traderPdaIndex !== null && !wallet.pdaIndices.includes(traderPdaIndex)) return;
    const account = accounts.of(name).find((one) => one.address === traderPubkey);
    this.#reads.inbox(name);
    if (payload.source !== "event" || !account || !book.known) return;
    const seenMs = this.#clock.nowMs();
    const note = (): void =>
      this.#buffer.events(name, () => notificationEvents(payload, wallet, account, book, seenMs));
    // Once it is reported, the inbox does not report it again, and the liquidation would stay unidentified.
    if (isUnreadLiquidation(payload))
      this.#unread.wait(name, notificationKey(payload, wallet.authority), note);
    else note();
  }
}

type PolledSnapshot = { readonly subaccounts: Mirrored["subaccounts"] };
