/**
 * Forms messages of the pending items of a replay, each at the time at which it leaves. `alerts/pending/waiting.ts` decides
 * which items form a message, as in the outbox. The channels are ideal: each accepts every message at once, so there
 * are no retries, rate limits or outages. Recordings do not contain the answers of channels.
 *
 * Items that become pending in one millisecond are added together, as a live commit does: the first message of a lane
 * contains those of the first observation, the next one all that wait by then. A group that is released at the time of
 * an observation leaves before its items. A stop sends the items that wait for their groups; after a crash they leave
 * at the next start.
 */
import { type ReportedItem, reportedChanges } from "../alerts/pending/reported.ts";
import { type Entry, type Lane, laneSeverities, lanes, takenUp, Waiting } from "../alerts/pending/waiting.ts";
import type { AlertChange } from "../domain/alerts/alert.ts";
import type { Capacity, Folded } from "../domain/alerts/delivery.ts";

/** One message to one receiver. */
export interface ReplayedMessage {
  /** The time at which it leaves, ms. */
  readonly atMs: number;
  /** The time at which its first item became pending, ms. */
  readonly owedAtMs: number;
  readonly receiver: string;
  /** The changes in its text: the newest of each alert, the worst first. */
  readonly changes: readonly AlertChange[];
  /** The changes of all its items, in their order. */
  readonly covers: readonly AlertChange[];
  readonly folded: Folded | null;
  /** It is added to the messages of its incident and notifies nobody. */
  readonly quiet: boolean;
}

export interface DeliveryOptions {
  /** More messages than this that could leave at once are folded into one. */
  readonly stormFold: number;
  /** Capacities of receivers, by name. Default: those of an ordinary channel. */
  readonly capacities?: ReadonlyMap<string, Capacity>;
  readonly onMessage: (message: ReplayedMessage) => void;
}

interface InFlight {
  readonly lane: Lane;
  readonly alertIds: ReadonlySet<number>;
}

export class Delivery {
  readonly #options: DeliveryOptions;
  readonly #receivers = new Map<string, Receiver>();
  /** The time up to which all messages have left, ms. */
  #nowMs = Number.NEGATIVE_INFINITY;
  /** The time at which the next group leaves, ms. */
  #nextMs = Number.POSITIVE_INFINITY;
  /** True while messages of `#nowMs` may be in flight. */
  #isOpen = false;
  /** Items added after a start, until the time of the previous end is known; null: the daemon runs. */
  #addedAtStart: { readonly items: readonly ReportedItem[]; readonly atMs: number }[] | null = null;

  constructor(options: DeliveryOptions) {
    this.#options = options;
  }

  /** Adds the items of one observation. Times never decrease. */
  addPending(items: readonly ReportedItem[], atMs: number): void {
    if (this.#addedAtStart !== null) {
      if (items.length > 0) this.#addedAtStart.push({ items, atMs });
      return;
    }
    if (atMs > this.#nowMs) this.sendUntil(atMs);
    if (items.length === 0) return;
    const touched = new Set<Receiver>();
    for (const { item, change } of items) {
      const receiver = this.#receiver(item.receiver);
      receiver.waiting.add({ item, change, stuck: false });
      touched.add(receiver);
    }
    for (const receiver of touched) receiver.pump(this.#nowMs, false);
    this.#isOpen = true;
    this.#updateNextRelease();
  }

  /** Sends all messages up to a time. */
  sendUntil(untilMs: number): void {
    if (this.#addedAtStart !== null) return;
    this.#close();
    while (this.#nextMs <= untilMs) {
      this.#nowMs = Math.max(this.#nowMs, this.#nextMs);
      this.#pumpAll();
    }
    this.#nowMs = Math.max(this.#nowMs, untilMs);
  }

  /** Handles a stop of the daemon: groups no longer wait. */
  stopped(atMs: number): void {
    if (atMs > this.#nowMs) this.sendUntil(atMs);
    for (const receiver of this.#receivers.values()) receiver.pump(this.#nowMs, true);
    for (const receiver of this.#receivers.values()) receiver.acceptAll(this.#nowMs, true);
    this.#isOpen = false;
    this.#updateNextRelease();
  }

  /** Handles a start of the daemon: waiting items leave when `started` gives the time of the previous end. */
  beginStart(): void {
    this.#close();
    if ([...this.#receivers.values()].some(({ waiting }) => waiting.size > 0)) this.#addedAtStart = [];
  }

  /** @param lastAliveMs the time of the previous end, ms; null: there was no earlier run */
  started(lastAliveMs: number | null, atMs: number): void {
    const held = this.#addedAtStart;
    if (held === null) return;
    this.#addedAtStart = null;
    if (lastAliveMs !== null) this.sendUntil(Math.min(lastAliveMs, atMs));
    this.#nowMs = Math.max(this.#nowMs, atMs);
    for (const { waiting } of this.#receivers.values())
      for (const entry of waiting.entries()) entry.item = takenUp(entry.item, atMs);
    this.#pumpAll();
    for (const one of held) this.addPending(one.items, Math.max(one.atMs, this.#nowMs));
  }

  /** Sends all waiting items at their times. */
  finish(): void {
    this.started(null, this.#nowMs);
    this.#close();
    while (Number.isFinite(this.#nextMs)) this.sendUntil(this.#nextMs);
  }

  /** Accepts the messages in flight, and sends those that waited for them. */
  #close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    for (const receiver of this.#receivers.values()) receiver.acceptAll(this.#nowMs, false);
    this.#updateNextRelease();
  }

  #pumpAll(): void {
    for (const receiver of this.#receivers.values()) {
      receiver.pump(this.#nowMs, false);
      receiver.acceptAll(this.#nowMs, false);
    }
    this.#updateNextRelease();
  }

  #updateNextRelease(): void {
    this.#nextMs = Number.POSITIVE_INFINITY;
    for (const { waiting } of this.#receivers.values()) {
      if (waiting.size === 0) continue;
      this.#nextMs = Math.min(this.#nextMs, waiting.nextReleaseMs(this.#nowMs) ?? Number.POSITIVE_INFINITY);
    }
  }

  #receiver(name: string): Receiver {
    const known = this.#receivers.get(name) ?? new Receiver(name, this.#options);
    this.#receivers.set(name, known);
    return known;
  }
}

/**
 * The behaviour of `deliver/queue/channel-queue.ts` when every attempt succeeds: two lanes, each with one message in flight.
 */
class Receiver {
  readonly waiting = new Waiting();
  readonly #name: string;
  readonly #options: DeliveryOptions;
  /** In the order in which they began and are accepted: at most one of each lane. */
  readonly #inFlight: InFlight[] = [];

  constructor(name: string, options: DeliveryOptions) {
    this.#name = name;
    this.#options = options;
  }

  /** Sends the next message of each lane without a message in flight. */
  pump(nowMs: number, draining: boolean): void {
    if (this.waiting.size === 0) return;
    const { stormFold, capacities, onMessage } = this.#options;
    const { isNeverFolded = false, maxNamed, byAccount } = capacities?.get(this.#name) ?? {};
    const leaving = {
      ...{ nowMs, stormFold, draining, scarce: false },
      ...{ isNeverFolded, maxNamed, byAccount },
    };
    for (const lane of lanes) {
      if (this.#inFlight.some((one) => one.lane === lane)) continue;
      const taken = this.waiting.take(laneSeverities[lane], this.#isHeld, leaving);
      if (taken === null) continue;
      const { entries, folded } = taken;
      this.#inFlight.push({ lane, alertIds: new Set(entries.map(({ item }) => item.alertId)) });
      const reported = entries.flatMap(({ item, change }) => (change === null ? [] : { item, change }));
      onMessage({
        atMs: nowMs,
        owedAtMs: Math.min(...entries.map(({ item }) => item.owedAtMs)),
        receiver: this.#name,
        changes: reportedChanges(reported),
        covers: reported.map(({ change }) => change),
        folded,
        quiet: entries.every(({ item }) => item.quiet === true),
      });
    }
  }

  /** Accepts the messages in flight, oldest first, and sends those that then can leave, until there are none. */
  acceptAll(nowMs: number, draining: boolean): void {
    while (this.#inFlight.shift() !== undefined) this.pump(nowMs, draining);
  }

  readonly #isHeld = ({ item }: Entry): boolean =>
    this.#inFlight.some(({ alertIds }) => alertIds.has(item.alertId));
}
