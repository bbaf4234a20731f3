/** Stream data that waits to be passed on together: the newest state of each thing; every event and status change. */
import type { MarketPrices } from "../../domain/account.ts";
import type { Clock } from "../../domain/clock.ts";
import type { Event } from "../../domain/event.ts";
import type { Observation } from "../../domain/observation.ts";
import type { AccountBook } from "../accounts.ts";
import type { BadRecords } from "../anomalies/bad-records.ts";
import type { CollectLog } from "../log.ts";
import type { EventPublisher } from "../paging/event-publisher.ts";
import { subaccountState } from "../translate/trader-state.ts";
import { Coalescer } from "./coalesce.ts";
import type { Followed, FollowedTraders } from "./followed-traders.ts";

/** Maximum waiting events of one wallet; more are left to the inbox. */
export const maxWaitingEvents = 500;
/** Maximum waiting changes of the exchange's status; the oldest are dropped. */
const maxWaitingStatuses = 20;

export interface StreamBufferOptions {
  readonly clock: Clock;
  readonly observe: (observation: Observation) => Promise<void>;
  /** Called for a wallet with a newly seen account. */
  readonly onNewAccount: (wallet: string) => void;
  readonly accounts: AccountBook;
  readonly publisher: EventPublisher;
  readonly badRecords: BadRecords;
  readonly log: CollectLog;
}

type ExchangeStatus = Pick<
  Extract<Observation, { kind: "exchangeStatus" }>,
  "active" | "gated" | "withdrawalsAvailable"
>;
export class StreamBuffer {
  readonly #options: StreamBufferOptions;
  readonly #followed: FollowedTraders;
  readonly #coalescer: Coalescer;
  readonly #prices = new Map<string, MarketPrices>();
  readonly #states = new Map<string, Set<number> | null>();
  /** In order of arrival: each change is an event. */
  readonly #statuses: ExchangeStatus[] = [];
  readonly #events = new Map<string, Event[]>();

  constructor(options: StreamBufferOptions, followed: FollowedTraders) {
    this.#options = options;
    this.#followed = followed;
    this.#coalescer = new Coalescer(options.clock, () => this.#flush());
  }

  async stop(): Promise<void> {
    await this.#coalescer.stop();
  }

  prices(prices: MarketPrices): void {
    this.#prices.set(prices.symbol.toUpperCase(), prices);
    this.#coalescer.changed();
  }

  /** Removes waiting prices that a poll has replaced: a price sent before the request would overwrite the newer one. */
  polledPrices(newest: readonly MarketPrices[]): void {
    for (const prices of newest) {
      const key = prices.symbol.toUpperCase();
      if (this.#prices.get(key) !== prices) this.#prices.delete(key);
    }
  }

  /** Notes the new state of a trader account. @param received the changed subaccounts; null: all */
  state(key: string, received: readonly number[] | null): void {
    const pending = this.#states.get(key);
    if (received === null || pending === null) this.#states.set(key, null);
    else this.#states.set(key, new Set([...(pending ?? []), ...received]));
    this.#coalescer.changed();
  }

  /** Removes a waiting state: a poll returned one that includes it. */
  polledState(key: string): void {
    this.#states.delete(key);
  }

  status(status: ExchangeStatus): void {
    const last = this.#statuses.at(-1);
    const { active, gated, withdrawalsAvailable } = status;
    if (last?.active === active && last.gated === gated && last.withdrawalsAvailable === withdrawalsAvailable)
      return;
    this.#statuses.push(status);
    if (this.#statuses.length > maxWaitingStatuses) this.#statuses.shift();
    this.#coalescer.changed();
  }

  /**
   * Notes events of a wallet; those beyond the maximum are left to the inbox. @param make creates them when they are
   * taken
   */
  events(name: string, make: () => readonly Event[]): void {
    const events = this.#events.get(name) ?? [];
    if (events.length >= maxWaitingEvents) return;
    events.push(...make());
    this.#events.set(name, events);
    this.#coalescer.changed();
  }

  /** Passes on all waiting changes, of each thing the newest. */
  async #flush(): Promise<void> {
    try {
      await Promise.all(this.#observeAll());
    } catch (error) {
      const detail = error instanceof Error ? error.message : "unknown";
      this.#options.log.warn({ detail }, "data of the stream could not be recorded");
    }
  }

  #observeAll(): Promise<void>[] {
    const { observe } = this.#options;
    const writes: Promise<void>[] = [];
    const atMs = this.#options.clock.nowMs();
    // Each at its own millisecond, which distinguishes events.
    for (const [index, status] of this.#statuses.splice(0).entries())
      writes.push(observe({ kind: "exchangeStatus", atMs: atMs + index, ...status }));
    if (this.#prices.size > 0) {
      writes.push(observe({ kind: "prices", atMs, markets: [...this.#prices.values()], live: true }));
      this.#prices.clear();
    }
    for (const [key, received] of this.#states) {
      const followed = this.#followed.of(key);
      if (followed) writes.push(...this.#stateOf(followed, received, atMs));
    }
    this.#states.clear();
    for (const [name, events] of [...this.#events]) {
      this.#events.delete(name);
      writes.push(this.#publish(name, events));
    }
    return writes;
  }

  #stateOf(
    { wallet, pdaIndex, mirror }: Followed,
    received: Set<number> | null,
    atMs: number,
  ): Promise<void>[] {
    const { accounts, badRecords, observe, onNewAccount } = this.#options;
    const onUnknown = (field: string, word: string) => badRecords.unknownWord("traderState", field, word);
    const mirrored = mirror.now();
    const rows = mirrored.subaccounts;
    const fresh = accounts.take(
      wallet,
      pdaIndex,
      rows.map((row) => row.subaccountIndex),
    );
    if (fresh.length > 0) onNewAccount(wallet.name);
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
          .filter((row) => received === null || received.has(row.subaccountIndex))
          .map((row) => subaccountState(row, onUnknown)),
        ...(received === null ? {} : { told: [...received] }),
      }),
    ];
  }

  async #publish(name: string, events: readonly Event[]): Promise<void> {
    const { publisher, observe } = this.#options;
    const wallet = this.#followed.wallet(name);
    if (!wallet) return;
    const run = { wallet, observe, nowMs: () => this.#options.clock.nowMs() };
    await publisher.publish(run, "notifications", { events, live: true });
  }
}
