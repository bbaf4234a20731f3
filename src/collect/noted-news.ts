/** News of the stream that wait to be handed on together, of each thing the newest; events and changes of the exchange each. */
import type { MarketPrices } from "../domain/account.ts";
import type { Clock } from "../domain/clock.ts";
import type { Event } from "../domain/event.ts";
import type { Observation } from "../domain/observation.ts";
import type { AccountBook } from "./accounts.ts";
import type { BadRecords } from "./bad-records.ts";
import { Coalescer } from "./coalesce.ts";
import type { EventPublisher } from "./event-publisher.ts";
import type { Followed, FollowedTraders } from "./followed-traders.ts";
import type { CollectLog } from "./log.ts";
import { subaccountState } from "./translate/trader-state.ts";

/** Events of one wallet that wait to be taken; more are left to the inbox. */
export const maxWaitingEvents = 500;
/** Changes of the exchange's status that wait to be taken; of more the oldest are left out. */
const maxWaitingStatuses = 20;

export interface NotedNewsOptions {
  readonly clock: Clock;
  readonly observe: (observation: Observation) => Promise<void>;
  /** Called for a wallet of which an account was seen for the first time. */
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
export class NotedNews {
  readonly #options: NotedNewsOptions;
  readonly #followed: FollowedTraders;
  readonly #coalescer: Coalescer;
  readonly #prices = new Map<string, MarketPrices>();
  readonly #states = new Map<string, Set<number> | null>();
  /** In the order in which they were told: each change is an event. */
  readonly #statuses: ExchangeStatus[] = [];
  readonly #events = new Map<string, Event[]>();

  constructor(options: NotedNewsOptions, followed: FollowedTraders) {
    this.#options = options;
    this.#followed = followed;
    this.#coalescer = new Coalescer(options.clock, () => this.#handOn());
  }

  async stop(): Promise<void> {
    await this.#coalescer.stop();
  }

  prices(prices: MarketPrices): void {
    this.#prices.set(prices.symbol.toUpperCase(), prices);
    this.#coalescer.noted();
  }

  /** A poll brought these: a price that the stream told before it was asked, and that waits to be handed over, would take them back. */
  polledPrices(newest: readonly MarketPrices[]): void {
    for (const prices of newest) {
      const key = prices.symbol.toUpperCase();
      if (this.#prices.get(key) !== prices) this.#prices.delete(key);
    }
  }

  /** The state of a trader account is new. @param told the subaccounts; null: all */
  state(key: string, told: readonly number[] | null): void {
    const noted = this.#states.get(key);
    if (told === null || noted === null) this.#states.set(key, null);
    else this.#states.set(key, new Set([...(noted ?? []), ...told]));
    this.#coalescer.noted();
  }

  /** A poll brought the state: it contains all that the stream noted before. */
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
    this.#coalescer.noted();
  }

  /** Events of a wallet; more than wait at most are left to the inbox. @param make makes them, where they are taken */
  events(name: string, make: () => readonly Event[]): void {
    const events = this.#events.get(name) ?? [];
    if (events.length >= maxWaitingEvents) return;
    events.push(...make());
    this.#events.set(name, events);
    this.#coalescer.noted();
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
    const atMs = this.#options.clock.nowMs();
    // Each at a moment of its own, by which events are told apart.
    for (const [index, status] of this.#statuses.splice(0).entries())
      handed.push(observe({ kind: "exchangeStatus", atMs: atMs + index, ...status }));
    if (this.#prices.size > 0) {
      handed.push(observe({ kind: "prices", atMs, markets: [...this.#prices.values()], live: true }));
      this.#prices.clear();
    }
    for (const [key, told] of this.#states) {
      const followed = this.#followed.of(key);
      if (followed) handed.push(...this.#stateOf(followed, told, atMs));
    }
    this.#states.clear();
    for (const [name, events] of [...this.#events]) {
      this.#events.delete(name);
      handed.push(this.#tell(name, events));
    }
    return handed;
  }

  #stateOf({ wallet, pdaIndex, mirror }: Followed, told: Set<number> | null, atMs: number): Promise<void>[] {
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
          .filter((row) => told === null || told.has(row.subaccountIndex))
          .map((row) => subaccountState(row, onUnknown)),
        ...(told === null ? {} : { told: [...told] }),
      }),
    ];
  }

  async #tell(name: string, events: readonly Event[]): Promise<void> {
    const { publisher, observe } = this.#options;
    const wallet = this.#followed.wallet(name);
    if (!wallet) return;
    const run = { wallet, observe, nowMs: () => this.#options.clock.nowMs() };
    await publisher.tell(run, "notifications", { events, live: true });
  }
}
