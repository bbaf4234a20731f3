/**
 * Makes messages of the items that a replay owes, each at the time at which it leaves. Which items form a message is decided by
 * `alerts/pending/waiting.ts`, as in the outbox. The channels are ideal: each accepts every message at once, so nothing is retried, no
 * rate limit is met and nothing piles up behind an outage. No recording states how a channel would have answered.
 *
 * Items that are owed in one millisecond are handed over together, as one commit is live: the first message of a lane holds
 * those of the first observation, the next one all that wait by then. A group that is released at the time of an observation
 * leaves before its items. A stop sends the items that wait for their groups; after a crash they leave at the next start.
 */
import { reportedChanges, type Told } from "../alerts/pending/reported.ts";
import { type Entry, type Lane, laneSeverities, lanes, takenUp, Waiting } from "../alerts/pending/waiting.ts";
import type { AlertChange } from "../domain/alert.ts";
import type { Capacity, Folded } from "../domain/delivery.ts";

/** One message to one receiver. */
export interface ReplayedMessage {
  /** The time at which it leaves, ms. */
  readonly atMs: number;
  /** The time at which its first item was owed, ms. */
  readonly owedAtMs: number;
  readonly receiver: string;
  /** The changes in its text: the newest of each alert, the worst first. */
  readonly changes: readonly AlertChange[];
  /** The changes of all its items, in their order. */
  readonly covers: readonly AlertChange[];
  readonly folded: Folded | null;
  /** It adds to its incident's messages, and calls nobody. */
  readonly quiet: boolean;
}

export interface DeliveryOptions {
  /** More messages than this that could leave at once are folded into one. */
  readonly stormFold: number;
  /** Capacities of receivers, by name. Left out: the usual ones. */
  readonly capacities?: ReadonlyMap<string, Capacity>;
  readonly onMessage: (message: ReplayedMessage) => void;
}

interface UnderWay {
  readonly lane: Lane;
  readonly alertIds: ReadonlySet<number>;
}

export class Delivery {
  readonly #options: DeliveryOptions;
  readonly #receivers = new Map<string, Receiver>();
  /** The time up to which everything has left that could, ms. */
  #nowMs = Number.NEGATIVE_INFINITY;
  /** The time at which the next group leaves, ms. */
  #nextMs = Number.POSITIVE_INFINITY;
  /** True while messages of `#nowMs` may be under way. */
  #isOpen = false;
  /** The items owed after a start before the time of the end before it is known; null: the daemon runs. */
  #starting: { readonly owed: readonly Told[]; readonly atMs: number }[] | null = null;

  constructor(options: DeliveryOptions) {
    this.#options = options;
  }

  /** Takes the items of one observation. Times never go back. */
  owe(owed: readonly Told[], atMs: number): void {
    if (this.#starting !== null) {
      if (owed.length > 0) this.#starting.push({ owed, atMs });
      return;
    }
    if (atMs > this.#nowMs) this.passTo(atMs);
    if (owed.length === 0) return;
    const touched = new Set<Receiver>();
    for (const { item, change } of owed) {
      const receiver = this.#receiver(item.receiver);
      receiver.waiting.add({ item, change, stuck: false });
      touched.add(receiver);
    }
    for (const receiver of touched) receiver.pump(this.#nowMs, false);
    this.#isOpen = true;
    this.#look();
  }

  /** Sends everything that leaves up to a time. */
  passTo(untilMs: number): void {
    if (this.#starting !== null) return;
    this.#close();
    while (this.#nextMs <= untilMs) {
      this.#nowMs = Math.max(this.#nowMs, this.#nextMs);
      this.#pumpAll();
    }
    this.#nowMs = Math.max(this.#nowMs, untilMs);
  }

  /** The daemon stopped: groups wait no longer. */
  stopped(atMs: number): void {
    if (atMs > this.#nowMs) this.passTo(atMs);
    for (const receiver of this.#receivers.values()) receiver.pump(this.#nowMs, true);
    for (const receiver of this.#receivers.values()) receiver.conclude(this.#nowMs, true);
    this.#isOpen = false;
    this.#look();
  }

  /** The daemon begins: items that wait leave when `started` gives the time of the end before. */
  starts(): void {
    this.#close();
    if ([...this.#receivers.values()].some(({ waiting }) => waiting.size > 0)) this.#starting = [];
  }

  /** @param lastAliveMs up to when it ran before; null: it never did */
  started(lastAliveMs: number | null, atMs: number): void {
    const held = this.#starting;
    if (held === null) return;
    this.#starting = null;
    if (lastAliveMs !== null) this.passTo(Math.min(lastAliveMs, atMs));
    this.#nowMs = Math.max(this.#nowMs, atMs);
    for (const { waiting } of this.#receivers.values())
      for (const entry of waiting.entries()) entry.item = takenUp(entry.item, atMs);
    this.#pumpAll();
    for (const one of held) this.owe(one.owed, Math.max(one.atMs, this.#nowMs));
  }

  /** Nothing more is owed: items that wait leave at their time. */
  finish(): void {
    this.started(null, this.#nowMs);
    this.#close();
    while (Number.isFinite(this.#nextMs)) this.passTo(this.#nextMs);
  }

  /** Accepts the messages under way, and sends those that waited for that. */
  #close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    for (const receiver of this.#receivers.values()) receiver.conclude(this.#nowMs, false);
    this.#look();
  }

  #pumpAll(): void {
    for (const receiver of this.#receivers.values()) {
      receiver.pump(this.#nowMs, false);
      receiver.conclude(this.#nowMs, false);
    }
    this.#look();
  }

  #look(): void {
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

/** The part of `deliver/channel-queue.ts` that remains where every attempt succeeds: two lanes, each with one message under way. */
class Receiver {
  readonly waiting = new Waiting();
  readonly #name: string;
  readonly #options: DeliveryOptions;
  /** In the order in which they began, in which they are accepted: at most one of each lane. */
  readonly #underWay: UnderWay[] = [];

  constructor(name: string, options: DeliveryOptions) {
    this.#name = name;
    this.#options = options;
  }

  /** Sends the next message of each lane of which none is under way. */
  pump(nowMs: number, draining: boolean): void {
    if (this.waiting.size === 0) return;
    const { stormFold, capacities, onMessage } = this.#options;
    const { tellsEach = false, maxNamed, byAccount } = capacities?.get(this.#name) ?? {};
    const leaving = {
      ...{ nowMs, stormFold, draining, scarce: false },
      ...{ tellsEach, maxNamed, byAccount },
    };
    for (const lane of lanes) {
      if (this.#underWay.some((one) => one.lane === lane)) continue;
      const taken = this.waiting.take(laneSeverities[lane], this.#isHeld, leaving);
      if (taken === null) continue;
      const { entries, folded } = taken;
      this.#underWay.push({ lane, alertIds: new Set(entries.map(({ item }) => item.alertId)) });
      const told = entries.flatMap(({ item, change }) => (change === null ? [] : { item, change }));
      onMessage({
        atMs: nowMs,
        owedAtMs: Math.min(...entries.map(({ item }) => item.owedAtMs)),
        receiver: this.#name,
        changes: reportedChanges(told),
        covers: told.map(({ change }) => change),
        folded,
        quiet: entries.every(({ item }) => item.quiet === true),
      });
    }
  }

  /** Accepts the messages under way, oldest first, and sends what then can leave, until nothing can. */
  conclude(nowMs: number, draining: boolean): void {
    while (this.#underWay.shift() !== undefined) this.pump(nowMs, draining);
  }

  readonly #isHeld = ({ item }: Entry): boolean =>
    this.#underWay.some(({ alertIds }) => alertIds.has(item.alertId));
}
