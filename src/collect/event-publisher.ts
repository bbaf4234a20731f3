/**
 * Tells of events: only of those that are not stored yet, oldest first, and marked as of the past when they happened before
 * the wallet was first watched, or so long ago that they may have been stored and let go of since.
 *
 * Two collectors, or two wallets, may bring the same event at once (a liquidation through inbox and history, an announcement
 * through every inbox): those are checked and told one batch after another, so that the second finds it known.
 */
import type { Clock } from "../domain/clock.ts";
import { type Event, eventName } from "../domain/event.ts";
import type { Store } from "../domain/ports.ts";
import type { Source } from "../domain/sources.ts";
import type { ExchangeTime } from "../exchange/index.ts";
import { noteOf } from "./accounts.ts";
import type { CollectedWallet, WalletRun } from "./collector.ts";

const cursorPrefix = "first/";

/**
 * The cursors stored about these wallets. A name that passed to another key brings nothing along: that one's first sight,
 * its histories and accounts are its own.
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

/** The wallet of a cursor: `first/NAME/0`, `history/SOURCE/NAME/PART`; undefined: no wallet's (`past/market/SYMBOL`). */
function walletOf(cursor: string): string | undefined {
  const [what, first, second] = cursor.split("/");
  if (what === "history") return second;
  return what === "past" && second !== undefined ? undefined : first;
}

/**
 * The time before its removal from history at which an event counts as past: whoever clears up there has a clock of its own.
 */
const FORGOTTEN_SOONER_MS = 3_600_000;
/** Events wait so long for the exchange's time at most: it may state none. */
const AGREEMENT_MS = 5_000;
/** A measured time may be off by so much. */
const ROUNDED_MS = 1_000;
/** Told lately: known before the store says so (its commits may be held back). */
const MOST_REMEMBERED = 50_000;

export interface Batch {
  readonly events: readonly Event[];
  readonly unacked?: number;
  readonly pdaIndex?: number;
  readonly past?: boolean;
  /** As of the observation, both. */
  readonly wholeMs?: number | null;
  readonly coversMs?: number;
  readonly cursor?: { readonly name: string; readonly value: string };
  /** Told as it happened: no reading of the source. */
  readonly live?: boolean;
}

type TellingRun = Pick<WalletRun, "wallet" | "observe" | "nowMs">;

/** The time at which a wallet, or a PDA index of it, was first watched. */
interface First {
  atMs: number;
  stored: boolean;
  /** False while it is of this machine's clock, which may be wrong. */
  sure: boolean;
}

export class EventPublisher {
  readonly #store: Pick<Store, "knownEvents" | "events">;
  readonly #eventsKeptMs: number;
  readonly #clock: Clock;
  readonly #time: Pick<ExchangeTime, "agreed" | "agreement" | "nowMs"> | undefined;
  /** The time at which wallets without an earlier sight are first watched, monotonic ms. */
  readonly #sightMs: number;
  #agreement: Promise<void> | null = null;
  readonly #first = new Map<string, First>();
  /** By wallet and PDA index: one that is added later has a past of its own. */
  readonly #firstOfPart = new Map<string, First>();
  readonly #told = new Set<string>();
  #shared: Promise<unknown> = Promise.resolve();

  /**
   * @param eventsKeptMs how long history keeps events: what it has let go of nobody knows to be told; null: for ever
   * @param time the exchange's as it is measured; absent: the clock's
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

  /** Stores the times at which wallets are first watched, if that is now. What fails is stored with the first that is told. */
  async begin(runs: readonly TellingRun[]): Promise<void> {
    for (const run of runs) await this.#storeFirst(run);
  }

  /** The time at which the wallet was first watched, ms. */
  firstMs(wallet: string): number {
    return this.#first.get(wallet)?.atMs ?? 0;
  }

  /** The subset of these that is known already, as `eventName`. */
  async known(events: readonly Event[]): Promise<ReadonlySet<string>> {
    const known = new Set<string>();
    const unsure: Event[] = [];
    for (const event of events) {
      const name = eventName(event.kind, event.key);
      if (this.#told.has(name)) known.add(name);
      else unsure.push(event);
    }
    if (unsure.length === 0) return known;
    const stored = await this.#store.knownEvents(unsure.map(({ kind, key }) => ({ kind, key })));
    return known.size === 0 ? stored : new Set([...known, ...stored]);
  }

  /**
   * Counts stored events of a wallet within a time that are of the same accounts and kinds as these, and none of them.
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

  /** Hands a batch on; events that are known by now are left out. An empty one says that there was nothing new. */
  async tell(run: TellingRun, source: Source, batch: Batch): Promise<void> {
    await this.#storeFirst(run);
    if (batch.events.length > 0 && this.#time?.agreed === false) {
      await this.#agreed(this.#time.agreement);
      await this.#storeFirst(run);
    }
    if (!batch.events.some(isShared)) return this.#tell(run, source, batch);
    const turn = this.#shared.then(async () => {
      const known = await this.known(batch.events);
      const events = batch.events.filter((event) => !known.has(eventName(event.kind, event.key)));
      await this.#tell(run, source, { ...batch, events });
    });
    this.#shared = turn.catch(() => {});
    return turn;
  }

  async #tell(run: TellingRun, source: Source, { events, ...rest }: Batch): Promise<void> {
    const { name } = run.wallet;
    const atMs = run.nowMs();
    const keptSinceMs = atMs - this.#eventsKeptMs + FORGOTTEN_SOONER_MS;
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

  /** Before anything else of a wallet is stored, so that a crash cannot make its present into past. */
  async #storeFirst(run: TellingRun): Promise<void> {
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

  /** Puts a first sight right by the exchange's time: one by a clock that was wrong, or one that lies in the future. */
  #correct(first: First): void {
    if (!this.#time?.agreed) return;
    const sightMs = Math.floor(this.#time.nowMs() - (this.#clock.elapsedMs() - this.#sightMs));
    const aheadMs = first.atMs - sightMs;
    if (aheadMs > ROUNDED_MS || (!first.sure && aheadMs < -ROUNDED_MS)) {
      first.atMs = sightMs;
      first.stored = false;
    }
    first.sure = true;
  }

  /** Resolves when the exchange's time is agreed on, or after a while all the same. */
  #agreed(agreement: Promise<void>): Promise<void> {
    this.#agreement ??= new Promise((resolve) => {
      const cancel = this.#clock.after(AGREEMENT_MS, resolve);
      void agreement.then(() => {
        cancel();
        resolve();
      });
    });
    return this.#agreement;
  }

  #remember(name: string): void {
    this.#told.add(name);
    if (this.#told.size <= MOST_REMEMBERED) return;
    let surplus = MOST_REMEMBERED / 10;
    for (const oldest of this.#told) {
      if (surplus-- <= 0) break;
      this.#told.delete(oldest);
    }
  }
}

function partOf(wallet: string, pdaIndex: number): string {
  return `${wallet}/${pdaIndex}`;
}

/** Events of one history are alike in this. */
function historyOf({ kind, pdaIndex, subaccount }: Event): string {
  return `${kind}/${pdaIndex}/${kind === "notification" ? subaccount : ""}`;
}

/** May be brought by another collector at the same time. */
function isShared(event: Event): boolean {
  return event.kind === "liquidation";
}

/** Oldest first; what the ledger orders, in the ledger's order. */
function inOrder(events: readonly Event[]): Event[] {
  return [...events].sort(
    (a, b) =>
      a.happenedMs - b.happenedMs ||
      a.slot - b.slot ||
      a.slotIndex - b.slotIndex ||
      a.eventIndex - b.eventIndex,
  );
}
