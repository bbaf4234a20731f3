/**
 * The outbox: sends pending items until they are delivered or dead, in this process only.
 *
 *   committed(changes) ──► pending ──finalize, commit──► finalized ──attempt──► delivered ──commit──► onSettled
 *                                                          ▲        └─ later ─┘ └─ refused, time over ──► dead
 *
 * A finalized message is committed before the first attempt, so a retry, also after a restart, sends the same content
 * under the same id; only the note on lateness (`Late`) and the replied-to message belong to the attempt. When the disk
 * does not write, `stuck` hands over critical changes: they are finalized in memory and leave at once, and their rows
 * are written after the changes that they came from.
 */

import { type Entry, takenUp } from "../alerts/pending/waiting.ts";
import type { Channel } from "../channels/channel.ts";
import type { AlertChange, PresentAlert } from "../domain/alerts/alert.ts";
import type { DeliveryItem, Message } from "../domain/alerts/delivery.ts";
import type { Clock, Random } from "../domain/clock.ts";
import type { Observation } from "../domain/observation.ts";
import type { Charts, Store } from "../domain/ports.ts";
import type { ChannelStatus } from "../domain/status.ts";
import type { Changes } from "../domain/stored/changes.ts";
import type { CriticalFigures } from "./critical-figures.ts";
import { Journal } from "./journal.ts";
import { type DeliverLog, silentLog } from "./log.ts";
import { FiringLists } from "./message/firing-lists.ts";
import { noProbe, type Probe } from "./probe.ts";
import { ChannelQueue } from "./queue/channel-queue.ts";
import { ChannelState } from "./queue/channel-state.ts";
import { passedBefore } from "./queue/overtaken-messages.ts";
import { isUrgent, Urgent } from "./urgent.ts";
import { Work } from "./work.ts";

const hourMs = 3_600_000;

export interface OutboxOptions {
  readonly store: Pick<Store, "commit" | "deliveryItems" | "messages" | "alerts" | "alertChanges">;
  /** By name. The outbox starts and stops them. */
  readonly channels: ReadonlyMap<string, Channel>;
  readonly clock: Clock;
  /** Randomness for the spread of waits. */
  readonly random: Random;
  /** Called when a channel becomes unusable, and when it is usable (again). */
  readonly observe: (observation: Observation & { readonly kind: "channel" | "dropped" }) => void;
  /** `perpwatch on <host>`, shown small in every message. */
  readonly sender: string;
  /** The name that distinguishes this daemon's database from others on the same host: a part of message ids. */
  readonly instance: string;
  /** Applies the templates of the channel to a message before it is finalized. Default: the standard texts. */
  readonly applyTemplates?: (message: Message) => Message;
  /**
   * Returns the current state of an alert, null if it no longer fires. Left out: messages list others by their last
   * notified state.
   */
  readonly present?: (alertId: number) => PresentAlert | null;
  /** The series of alerts, for channels that draw charts. Left out: nothing is drawn. */
  readonly charts?: Charts;
  readonly log?: DeliverLog;
  readonly probe?: Probe;
  /** Time for which a finalized message is tried before it is given up, ms. Default 24 h. */
  readonly patienceMs?: number;
  /** Returns the number of messages waiting for a channel above which they leave as one. Default 3. */
  readonly stormFold?: () => number;
  /** Maximum time for which `stop` waits for what is under way, ms. Default 5 s. */
  readonly drainMs?: number;
}

/** The daemon's own figures about deliveries. */
export interface OutboxFigures {
  /** Pending items: neither delivered nor dead. */
  readonly undelivered: number;
  /** Age of the oldest of them, ms; 0 when there is none. */
  readonly oldestUndeliveredMs: number;
  /** Messages given up since the start, except those of an earlier run for a removed channel. */
  readonly deadMessages: number;
}

export interface Outbox {
  /** Resumes the messages of an earlier run, and starts. The channels open in the background. */
  start(signal: AbortSignal): Promise<void>;
  /** Takes committed changes and sends their items, except those that `stuck` already took. */
  committed(changes: Changes): void;
  /**
   * Takes changes that could not be committed for too long: their critical items are sent anyway, with earlier items of
   * the same alerts. A repeated call with the same changes does nothing.
   */
  stuck(changes: Changes): void;
  /** Takes finalized and committed messages without delivery items: they are sent like the rest. */
  post(messages: readonly Message[]): void;
  /** Adds a listener for alerts whose items were recorded as delivered or dead. The returned function removes it. */
  onSettled(listener: (alertIds: readonly number[]) => void): () => void;
  status(): readonly ChannelStatus[];
  figures(): OutboxFigures;
  critical(): CriticalFigures;
  /** Resolves when nothing can be done until time passes or input arrives. */
  idle(): Promise<void>;
  /** Sends what can leave now, within a bound; the rest stays pending for the next start. Repeatable, never rejects. */
  stop(): Promise<void>;
}

export function createOutbox(options: OutboxOptions): Outbox {
  return new WorkingOutbox(options);
}

class WorkingOutbox implements Outbox {
  readonly #options: OutboxOptions;
  readonly #log: DeliverLog;
  readonly #probe: Probe;
  readonly #journal: Journal;
  readonly #queues = new Map<string, ChannelQueue>();
  readonly #states = new Map<string, ChannelState>();
  /** By id of the item, until its end is recorded. */
  readonly #entries = new Map<number, Entry>();
  /** Stuck non-critical items, by alert: they leave only before a critical one of the same alert. */
  readonly #passedOver = new Map<number, Entry[]>();
  readonly #listeners = new Set<(alertIds: readonly number[]) => void>();
  readonly #cut = new AbortController();
  readonly #standing: FiringLists;
  #lost = 0;
  readonly #urgent = new Urgent();
  readonly #work: Work;
  #state: "new" | "running" | "stopped" = "new";
  #stopping: Promise<void> | null = null;

  constructor(options: OutboxOptions) {
    const { store, clock, random, log = silentLog, probe = noProbe } = options;
    this.#options = options;
    this.#standing = new FiringLists(options.present);
    this.#log = log;
    this.#probe = probe;
    this.#work = new Work(log, "the outbox met a fault of its own");
    this.#journal = new Journal({
      store,
      clock,
      random,
      log,
      onRecorded: ({ entries }) => this.#recorded(entries),
    });
    for (const [name, channel] of options.channels) {
      const queue = new ChannelQueue({
        ...{ channel, store, clock, random, probe, log },
        stateOf: (one) => this.#stateOf(one),
        journal: this.#journal,
        sender: options.sender,
        instance: options.instance,
        applyTemplates: options.applyTemplates ?? ((message) => message),
        patienceMs: options.patienceMs ?? 24 * hourMs,
        stormFold: options.stormFold ?? (() => 3),
        standing: this.#standing,
        charts: options.charts ?? null,
        cut: this.#cut.signal,
        track: this.#work.track,
      });
      this.#queues.set(name, queue);
    }
  }

  /** Returns the state of a channel, shared by its queue and those of rotas. */
  #stateOf(name: string): ChannelState {
    const { clock, random, observe } = this.#options;
    const known = this.#states.get(name);
    if (known !== undefined) return known;
    const onWorking = (working: boolean, detail: string) =>
      observe({ kind: "channel", atMs: clock.nowMs(), channel: name, working, detail });
    const state = new ChannelState({ name, clock, random, log: this.#log, onWorking });
    this.#states.set(name, state);
    return state;
  }

  async start(signal: AbortSignal): Promise<void> {
    const { store, observe } = this.#options;
    signal.throwIfAborted();
    const messages = await store.messages({ open: true });
    const nowMs = this.#options.clock.nowMs();
    const items = (await store.deliveryItems({ open: true })).map((item) => takenUp(item, nowMs));
    const changeIds = items.map(({ changeId }) => changeId);
    const changes = new Map(
      (await store.alertChanges({ ids: changeIds })).map((change) => [change.id, change]),
    );
    await this.#restoreStanding();
    await this.#restoreUrgent(items);
    const orphans: Entry[] = [];
    const finalized = new Map<string, Entry[]>(messages.map(({ id }) => [id, []]));
    for (const item of items) {
      const entry = this.#enter(item, changes.get(item.changeId), false);
      const queue = this.#queues.get(item.receiver);
      const mates = finalized.get(item.messageId ?? "");
      if (mates) mates.push(entry);
      else if (queue) queue.add(entry);
      else orphans.push(entry);
    }
    const dropped = new Map<string, number>();
    const drop = async (entries: readonly Entry[], message: Message | null, receiver: string) => {
      dropped.set(receiver, (dropped.get(receiver) ?? 0) + 1);
      await this.#giveUp(entries, message, receiver);
    };
    const passed = await passedBefore(messages, items, store);
    for (const message of messages) {
      const entries = finalized.get(message.id) ?? [];
      const queue = this.#queues.get(message.receiver);
      if (queue && !passed.has(message)) queue.resume(message, entries);
      else if (!queue) await drop(entries, message, message.receiver);
    }
    for (const [message, later] of passed)
      await this.#queues.get(message.receiver)?.endPassed(message, finalized.get(message.id) ?? [], later);
    for (const entry of orphans) await drop([entry], null, entry.item.receiver);
    for (const [channel, count] of dropped)
      observe({ kind: "dropped", atMs: nowMs, channel, messages: count });
    if (items.length > 0) this.#log.info({ items: items.length }, "taking up deliveries of an earlier run");
    if (this.#state === "stopped") return;
    this.#state = "running";
    signal.addEventListener("abort", () => void this.stop(), { once: true });
    for (const queue of this.#queues.values()) queue.start();
  }

  committed(changes: Changes): void {
    let freed = false;
    this.#noteEnds(changes);
    const changeById = new Map(changes.alertChanges.map((change) => [change.id, change]));
    const fresh: Entry[] = [];
    for (const item of changes.deliveryItems) {
      const known = this.#entries.get(item.id);
      this.#passedOver.delete(item.alertId);
      if (known) {
        freed ||= known.stuck;
        known.stuck = false;
      } else if (item.status === "owed") {
        fresh.push(this.#enter(item, changeById.get(item.changeId), false));
      }
    }
    if (freed) this.#work.track(this.#journal.flush());
    this.#take(fresh);
  }

  stuck(changes: Changes): void {
    this.#noteEnds(changes);
    const changeById = new Map(changes.alertChanges.map((change) => [change.id, change]));
    const leaving: Entry[] = [];
    for (const item of changes.deliveryItems) {
      if (item.status !== "owed" || this.#entries.has(item.id)) continue;
      const before = this.#passedOver.get(item.alertId) ?? [];
      if (item.severity !== "critical") {
        if (before.some((entry) => entry.item.id === item.id)) continue;
        const change = changeById.get(item.changeId) ?? null;
        this.#passedOver.set(item.alertId, [...before, { item, change, stuck: true }]);
        continue;
      }
      // A critical alert is reported with its earlier items.
      this.#passedOver.delete(item.alertId);
      for (const entry of before) this.#entries.set(entry.item.id, entry);
      leaving.push(...before, this.#enter(item, changeById.get(item.changeId), true));
    }
    this.#take(leaving);
  }

  post(messages: readonly Message[]): void {
    for (const message of messages) {
      const queue = this.#queues.get(message.receiver);
      if (queue) queue.post(message);
      else {
        this.#lost++;
        this.#work.track(this.#giveUp([], message, message.receiver));
      }
    }
  }

  onSettled(listener: (alertIds: readonly number[]) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  status(): readonly ChannelStatus[] {
    return [...this.#queues.values()].map((queue) => queue.status());
  }

  figures(): OutboxFigures {
    const all = this.status();
    return {
      undelivered: all.reduce((sum, { waiting }) => sum + waiting, 0),
      oldestUndeliveredMs: all.reduce((most, { oldestWaitingMs }) => Math.max(most, oldestWaitingMs ?? 0), 0),
      deadMessages: all.reduce((sum, { dead }) => sum + dead, this.#lost),
    };
  }

  critical(): CriticalFigures {
    return this.#urgent.figures(this.#entries.values());
  }

  idle(): Promise<void> {
    return this.#work.idle();
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    const was = this.#state;
    this.#state = "stopped";
    for (const queue of this.#queues.values()) queue.drain();
    if (was === "running") await this.#work.idleWithin(this.#options.drainMs ?? 5_000, this.#options.clock);
    for (const queue of this.#queues.values()) queue.stop();
    this.#cut.abort(new Error("perpwatch is stopping"));
    await this.#work.idleWithin(500, this.#options.clock);
    await this.#journal.flush();
    this.#journal.close();
    await Promise.all([...this.#queues.values()].map(({ channel }) => channel.stop()));
  }

  /** Passes new items to their queues. */
  #take(entries: readonly Entry[]): void {
    if (entries.length === 0) return;
    const see = async () => {
      await this.#probe("owed-seen");
      const queues = new Set<ChannelQueue>();
      for (const entry of entries) {
        const queue = this.#queues.get(entry.item.receiver);
        if (!queue) {
          this.#lost++;
          await this.#giveUp([entry], null, entry.item.receiver);
          continue;
        }
        queue.add(entry);
        queues.add(queue);
      }
      for (const queue of queues) queue.pump();
    };
    this.#work.track(see());
  }

  /** The end of an alert may be reported later, or to nobody; meanwhile it is not listed as firing. */
  #noteEnds({ alertChanges }: Changes): void {
    for (const { kind, alertId } of alertChanges) if (kind === "ended") this.#standing.over(alertId);
  }

  /** Finds the critical changes, still pending for one receiver, that another receiver got before this start. */
  async #restoreUrgent(items: readonly DeliveryItem[]): Promise<void> {
    const alertIds = [...new Set(items.filter(isUrgent).map(({ alertId }) => alertId))];
    if (alertIds.length > 0) this.#urgent.restore(await this.#options.store.deliveryItems({ alertIds }));
  }

  /** Restores the alerts that were notified as firing before this start, and their receivers. */
  async #restoreStanding(): Promise<void> {
    const { store } = this.#options;
    const firing = new Map((await store.alerts({ state: "firing" })).map((alert) => [alert.id, alert]));
    if (firing.size === 0) return;
    for (const item of await store.deliveryItems({ alertIds: [...firing.keys()] })) {
      const alert = firing.get(item.alertId)!;
      this.#standing.note(item, { alert, kind: "fired" });
    }
  }

  #enter(item: DeliveryItem, change: AlertChange | undefined, stuck: boolean): Entry {
    const entry: Entry = {
      item: { ...item, status: "owed", messageId: null },
      change: change ?? null,
      stuck,
    };
    if (item.messageId !== null) entry.item = item;
    this.#entries.set(item.id, entry);
    if (change) this.#standing.note(item, change);
    return entry;
  }

  /** Gives up items of a channel that is not configured (any more): they can never be sent. */
  async #giveUp(entries: readonly Entry[], message: Message | null, receiver: string): Promise<void> {
    const lastDetail = "no channel of this name is configured";
    this.#log.warn(
      { receiver, messageId: message?.id, items: entries.map(({ item }) => item.id) },
      lastDetail,
    );
    for (const entry of entries) entry.item = { ...entry.item, status: "dead" };
    const dead = message && { ...message, status: "dead" as const, nextAttemptMs: null, lastDetail };
    await this.#journal.record({ message: dead, entries });
  }

  #recorded(entries: readonly Entry[]): void {
    const settled = entries.filter(
      ({ item }) => this.#entries.has(item.id) && (item.status === "delivered" || item.status === "dead"),
    );
    if (settled.length === 0) return;
    for (const { item } of settled) this.#entries.delete(item.id);
    this.#urgent.settled(settled, this.#entries.values());
    const alertIds = [...new Set(settled.map(({ item }) => item.alertId))];
    for (const listener of this.#listeners) listener(alertIds);
  }
}
