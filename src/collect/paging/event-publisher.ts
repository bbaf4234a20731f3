/**
 * Publishes events: only those that are not stored yet, oldest first. An event is marked as past if it happened before
 * the wallet was first watched, or so long ago that it may have been stored and deleted since.
 *
 * Two collectors, or two wallets, may deliver the same event at once (a liquidation through inbox and history, an
 * announcement through every inbox): batches are checked and published one after another, so that the second one finds
 * it known.
 */
import type { Clock } from "../../domain/clock.ts";
import { type Event, eventName } from "../../domain/event.ts";
import type { Store } from "../../domain/ports.ts";
import type { Source } from "../../domain/sources.ts";
import type { ExchangeTime } from "../../exchange/index.ts";
import { noteOf } from "../accounts.ts";
import type { CollectedWallet, WalletRun } from "../collector.ts";

const cursorPrefix = "first/";

/**
 * Returns the stored cursors of these wallets. A name that now belongs to another key has none: its time of
 * first watching, histories and accounts are new.
 */
export function ownCursors(
  stored: ReadonlyMap<string, string>,
  wallets: readonly CollectedWallet[],
): ReadonlyMap<string, string> {
  const strangers = new Set(
    wallets.flatMap(({ name, authority }) => {
      const [, of] = (stored.get(cursorPrefix + name) ?? "").split(" ");
      return of === undefined || of === authority ? [] : [name];
    }),
  );
  if (strangers.size === 0) return stored;
  return new Map([...stored].filter(([cursor]) => !strangers.has(walletOf(cursor) ?? "")));
}

/**
 * Returns the wallet of a cursor: `first/NAME/0`, `history/SOURCE/NAME/PART`; undefined: no wallet's
 * (`past/market/SYMBOL`).
 */
function walletOf(cursor: string): string | undefined {
  const [what, first, second] = cursor.split("/");
  if (what === "history") return second;
  return what === "past" && second !== undefined ? undefined : first;
}

/** Time before its deletion from history at which an event counts as past: the cleanup uses another clock. */
const deletionMarginMs = 3_600_000;
/** Maximum wait for the exchange's time, ms: it may state none. */
const maxAgreementWaitMs = 5_000;
/** Maximum error of a measured time, ms. */
const maxTimeErrorMs = 1_000;
/** Maximum recently published events, known here before the store has them (its commits may be delayed). */
const maxRemembered = 50_000;

export interface Batch {
  readonly events: readonly Event[];
  readonly unacked?: number;
  readonly pdaIndex?: number;
  readonly past?: boolean;
  /** As in the observation, both. */
  readonly wholeMs?: number | null;
  readonly coversMs?: number;
  readonly cursor?: { readonly name: string; readonly value: string };
  /** True if published from the stream: no reading of the source. */
  readonly live?: boolean;
}

type PublishingRun = Pick<WalletRun, "wallet" | "observe" | "nowMs">;

/** The time at which a wallet, or a PDA index of it, was first watched. */
interface First {
  atMs: number;
  stored: boolean;
  /** False while it is a time of this machine's clock, which may be wrong. */
  sure: boolean;
}

export class EventPublisher {
  readonly #store: Pick<Store, "knownEvents" | "events">;
  readonly #eventsKeptMs: number;
  readonly #clock: Clock;
  readonly #time: Pick<ExchangeTime, "agreed" | "agreement" | "nowMs"> | undefined;
  /** The time of first watching for wallets without a stored one, monotonic ms. */
  readonly #sightMs: number;
  #agreement: Promise<void> | null = null;
  readonly #first = new Map<string, First>();
  /** By wallet and PDA index: an index may be added later. */
  readonly #firstOfPart = new Map<string, First>();
  readonly #published = new Set<string>();
  #shared: Promise<unknown> = Promise.resolve();

  /**
   * @param eventsKeptMs retention of events in history, ms: a deleted event cannot be recognized as published; null:
   * unlimited
   * @param time the measured time of the exchange; absent: the clock's
   */
  constructor(
    store: Pick<Store, "knownEvents" | "events">,
    wallets: readonly CollectedWallet[],
    cursors: ReadonlyMap<string, string>,
    clock: Clock,
    eventsKeptMs: number | null = null,
    time?: Pick<ExchangeTime, "agreed" | "agreement" | "nowMs">,
  ) {
    this.#store = store;
    this.#clock = clock;
    this.#time = time;
    this.#sightMs = clock.elapsedMs();
    this.#eventsKeptMs = eventsKeptMs ?? Number.POSITIVE_INFINITY;
    const nowMs = clock.nowMs();
    const first = (name: string): First => {
      const stored = Number(cursors.get(cursorPrefix + name)?.split(" ")[0] ?? Number.NaN);
      const known = Number.isFinite(stored);
      return { atMs: known ? stored : nowMs, stored: known, sure: known };
    };
    for (const { name, pdaIndices } of wallets) {
      this.#first.set(name, first(name));
      for (const pdaIndex of pdaIndices) {
        const part = partOf(name, pdaIndex);
        this.#firstOfPart.set(part, first(part));
      }
    }
  }

  /** Stores the times of first watching, if that is now. A failed write is repeated with the first published batch. */
  async begin(runs: readonly PublishingRun[]): Promise<void> {
    for (const run of runs) await this.#storeFirst(run);
  }

  /** Returns the time at which the wallet was first watched, ms. */
  firstMs(wallet: string): number {
    return this.#first.get(wallet)?.atMs ?? 0;
  }

  /** Returns the names of the known ones, as `eventName`. */
  async known(events: readonly Event[]): Promise<ReadonlySet<string>> {
    const known = new Set<string>();
    const unsure: Event[] = [];
    for (const event of events) {
      const name = eventName(event.kind, event.key);
      if (this.#published.has(name)) known.add(name);
      else unsure.push(event);
    }
    if (unsure.length === 0) return known;
    const stored = await this.#store.knownEvents(unsure.map(({ kind, key }) => ({ kind, key })));
    return known.size === 0 ? stored : new Set([...known, ...stored]);
  }

  /**
   * Counts stored events of a wallet within a span that have the accounts and kinds of these, and are none of them.
   * @param span both ends included, ms
   */
  async knownBeside(
    wallet: string,
    events: readonly Event[],
    span: { readonly fromMs: number; readonly toMs: number },
  ): Promise<number> {
    const names = new Set(events.map(({ kind, key }) => eventName(kind, key)));
    const alike = new Set(events.map(historyOf));
    const kinds = [...new Set(events.map(({ kind }) => kind))];
    const stored = await Promise.all(kinds.map((kind) => this.#store.events({ kind, wallet, ...span })));
    return stored
      .flat()
      .filter((one) => alike.has(historyOf(one)) && !names.has(eventName(one.kind, one.key))).length;
  }

  /** Publishes a batch without the events that are known by now. An empty one means that there was nothing new. */
  async publish(run: PublishingRun, source: Source, batch: Batch): Promise<void> {
    await this.#storeFirst(run);
    if (batch.events.length > 0 && this.#time?.agreed === false) {
      await this.#agreed(this.#time.agreement);
      await this.#storeFirst(run);
    }
    if (!batch.events.some(isShared)) return this.#observe(run, source, batch);
    const turn = this.#shared.then(async () => {
      const known = await this.known(batch.events);
      const events = batch.events.filter((event) => !known.has(eventName(event.kind, event.key)));
      await this.#observe(run, source, { ...batch, events });
    });
    this.#shared = turn.catch(() => {});
    return turn;
  }

  async #observe(run: PublishingRun, source: Source, { events, ...rest }: Batch): Promise<void> {
    const { name } = run.wallet;
    const atMs = run.nowMs();
    const keptSinceMs = atMs - this.#eventsKeptMs + deletionMarginMs;
    const firstMs = ({ pdaIndex }: Event): number =>
      Math.max(
        keptSinceMs,
        (pdaIndex === null ? undefined : this.#firstOfPart.get(partOf(name, pdaIndex))?.atMs) ??
          this.firstMs(name),
      );
    await run.observe({
      kind: "events",
      source,
      wallet: run.wallet.name,
      atMs,
      events: inOrder(events).map((event) =>
        event.happenedMs < firstMs(event) ? { ...event, backfilled: true } : event,
      ),
      ...rest,
    });
    for (const event of events) this.#remember(eventName(event.kind, event.key));
  }

  /** Called before other data of a wallet is stored: after a crash its new events would count as past. */
  async #storeFirst(run: PublishingRun): Promise<void> {
    const { name, pdaIndices } = run.wallet;
    for (const part of [name, ...pdaIndices.map((pdaIndex) => partOf(name, pdaIndex))]) {
      const first = this.#first.get(part) ?? this.#firstOfPart.get(part);
      if (!first) continue;
      this.#correct(first);
      if (first.stored) continue;
      const value = `${first.atMs} ${run.wallet.authority}`;
      await run.observe(noteOf(cursorPrefix + part, value, run.nowMs()));
      first.stored = true;
    }
  }

  /** Corrects a time of first watching by the exchange's time, if the clock was wrong or it is in the future. */
  #correct(first: First): void {
    if (!this.#time?.agreed) return;
    const sightMs = Math.floor(this.#time.nowMs() - (this.#clock.elapsedMs() - this.#sightMs));
    const aheadMs = first.atMs - sightMs;
    if (aheadMs > maxTimeErrorMs || (!first.sure && aheadMs < -maxTimeErrorMs)) {
      first.atMs = sightMs;
      first.stored = false;
    }
    first.sure = true;
  }

  /** Resolves when the exchange's time is agreed on, or after a maximum wait. */
  #agreed(agreement: Promise<void>): Promise<void> {
    this.#agreement ??= new Promise((resolve) => {
      const cancel = this.#clock.after(maxAgreementWaitMs, resolve);
      void agreement.then(() => {
        cancel();
        resolve();
      });
    });
    return this.#agreement;
  }

  #remember(name: string): void {
    this.#published.add(name);
    if (this.#published.size <= maxRemembered) return;
    let surplus = maxRemembered / 10;
    for (const oldest of this.#published) {
      if (surplus-- <= 0) break;
      this.#published.delete(oldest);
    }
  }
}

function partOf(wallet: string, pdaIndex: number): string {
  return `${wallet}/${pdaIndex}`;
}

/** Returns the history of an event; its events have this text in common. */
function historyOf({ kind, pdaIndex, subaccount }: Event): string {
  return `${kind}/${pdaIndex}/${kind === "notification" ? subaccount : ""}`;
}

/** Returns true if another collector may deliver the event at the same time. */
function isShared(event: Event): boolean {
  return event.kind === "liquidation";
}

/** Sorts oldest first; events with a ledger position in the ledger's order. */
function inOrder(events: readonly Event[]): Event[] {
  return [...events].sort(
    (a, b) =>
      a.happenedMs - b.happenedMs ||
      a.slot - b.slot ||
      a.slotIndex - b.slotIndex ||
      a.eventIndex - b.eventIndex,
  );
}
