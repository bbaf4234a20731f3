import {
  dueSinceMs,
  type Entry,
  type Lane,
  type Leaving,
  laneSeverities,
  lanes,
  type Taken,
  turnOf,
  Waiting,
} from "../alerts/waiting.ts";
import type { Channel, Late, SendResult } from "../channels/channel.ts";
import { prefixOf } from "../channels/rota/channel.ts";
import { severityRank } from "../domain/alert.ts";
import type { Random } from "../domain/clock.ts";
import { firstOfIncident, lateAfterMs, type Message, type SendFailure } from "../domain/delivery.ts";
import type { ChannelStatus } from "../domain/status.ts";
import { attemptWithin, formerRootOf, probeWithin, rootOf, toldBefore } from "./attempt.ts";
import { type ChannelState, type StateUser, standInAfterMs } from "./channel-state.ts";
import { Finalizer, type FinalizerOptions } from "./finalizer.ts";
import {
  callsOf,
  dueAtMs,
  hasFailed,
  laneOf,
  type OutgoingMessage,
  outgoing,
  rankOf,
  turnOfMessage,
} from "./outgoing-message.ts";
import type { Probe } from "./probe.ts";
import { type Way, Ways } from "./ways.ts";

/** Attempts that are answered without a confirmation after which a message counts as refused: each of them may have arrived. */
const maxUnconfirmed = 3;
/** Least waits after the first and the second of them, ms: a page that stands in the way for minutes loses no message. */
const unconfirmedWaitsMs = [30_000, 600_000];
/** The interval at which a channel whose circuit is open is checked when nothing is owed to it, ms. */
const lookAgainMs = 60_000;
/** A refused item of an incident leaves with the next message of that, and at the latest after so long, ms. */
const againAfterMs = 30_000;
/** While a channel is down: so many critical messages are tried one by one; anything else new after 5 min, 10, … an hour. */
const maxCriticalTried = 10;
const firstBeginMs = 300_000;
const maxBeginMs = 3_600_000;

export interface ChannelQueueOptions extends Omit<FinalizerOptions, "putBack"> {
  /** The state of a channel, by its name. */
  readonly stateOf: (channel: string) => ChannelState;
  readonly random: Random;
  readonly patienceMs: number;
  /** More messages than this that wait together are folded into one. */
  readonly stormFold: () => number;
  readonly probe: Probe;
  /** Counts work under way, for whoever waits until nothing can be done. */
  readonly track: (work: Promise<void>) => void;
  /** Aborted when even what is under way has to end. */
  readonly cut: AbortSignal;
}

export class ChannelQueue implements StateUser {
  readonly channel: Channel;
  readonly #options: ChannelQueueOptions;
  readonly #waiting = new Waiting();
  readonly #parcels = new Set<OutgoingMessage>();
  /** Taken from what waits, not yet a message. */
  readonly #sealing = new Map<readonly Entry[], ReadonlySet<number>>();
  readonly #ways: Ways;
  readonly #finalizer: Finalizer;
  readonly #busy = new Set<Lane>();
  #probing = false;
  #lookAtMs = Number.NEGATIVE_INFINITY;
  /** While the channel is down: from when on something new may be tried, and how often that was done. */
  #beginsAtMs = Number.NEGATIVE_INFINITY;
  #begun = 0;
  #startedMs = 0;
  /**
   * One reading of the clocks for a whole pass. What becomes due between a look at it and the setting of the timer would
   * neither leave nor be waited for.
   */
  #pass = { elapsedMs: 0, wallMs: 0 };
  #cancelTimer: (() => void) | null = null;
  #running = false;
  #draining = false;
  #delivered = 0;
  #dead = 0;
  readonly #failures: Partial<Record<SendFailure, number>> = {};

  constructor(options: ChannelQueueOptions) {
    this.channel = options.channel;
    this.#options = options;
    this.#finalizer = new Finalizer({ ...options, putBack: (entries) => this.#putBack(entries) });
    this.#ways = new Ways(options.channel, (name) => {
      const state = options.stateOf(name);
      state.joins(this);
      return state;
    });
  }

  uses(state: ChannelState): boolean {
    return [...this.#parcels].some(
      (parcel) =>
        parcel.tries.has(state) || this.#way(parcel, this.#options.clock.elapsedMs()).state === state,
    );
  }

  add(entry: Entry): void {
    if (entry.stuck) this.#finalizer.stuck();
    this.#waiting.add(entry);
  }

  /** Takes a message of an earlier run back. */
  resume(message: Message, entries: readonly Entry[]): void {
    this.#parcels.add(this.#resumed(message, entries));
  }

  /** Ends a quiet message of an earlier run that later ones passed, which are resumed already if they are to be. */
  async endPassed(message: Message, entries: readonly Entry[], later: readonly Message[]): Promise<void> {
    const parcel = this.#resumed(message, entries);
    for (const by of later)
      parcel.overtakenBy.add(
        [...this.#parcels].find((one) => one.message.id === by.id) ?? this.#resumed(by, []),
      );
    await this.#handOver(parcel);
  }

  #resumed(message: Message, entries: readonly Entry[]): OutgoingMessage {
    const { clock } = this.#options;
    // A wait that the other side asked for is kept. Anything else may have been mended together with the restart. Of a rota it is
    // not known who asked for it, and others may stand in.
    const isLimited = message.lastFailure === "rate-limited" && this.channel.people === undefined;
    const waitMs = isLimited ? (message.nextAttemptMs ?? 0) - clock.nowMs() : 0;
    const dueMs = clock.elapsedMs() + Math.min(Math.max(0, waitMs), 300_000);
    return outgoing({ message, entries, dueMs, resumed: true });
  }

  /** Takes a message that is sealed and committed, and of which nobody has tried anything. */
  post(message: Message): void {
    const dueMs = this.#options.clock.elapsedMs();
    this.#parcels.add(outgoing({ message, entries: [], dueMs }));
    this.pump();
  }

  start(): void {
    this.#running = true;
    this.#startedMs = this.#options.clock.nowMs();
    void this.#open();
    this.pump();
  }

  /** Nothing is waited for any more; what can leave now still does. */
  drain(): void {
    this.#draining = true;
    this.#cancelTimer?.();
    // Nobody waits for the rest of a group any more.
    this.pump();
  }

  stop(): void {
    this.#running = false;
    this.#cancelTimer?.();
  }

  /** Does everything that can be done now, and comes back by itself when more can be. */
  pump(): void {
    if (!this.#running) return;
    const { clock } = this.#options;
    this.#pass = { elapsedMs: clock.elapsedMs(), wallMs: clock.nowMs() };
    for (const { state } of this.#ways.of(null)) state.health.lasts();
    const restFirst = this.#way(null).state.slots.restIsFirst(this.#pass.elapsedMs);
    for (const lane of restFirst ? lanes.toReversed() : lanes) {
      while (!this.#busy.has(lane)) {
        const work = this.#next(lane);
        if (work === null) break;
        this.#busy.add(lane);
        const done = () => {
          this.#busy.delete(lane);
          this.pump();
        };
        this.#options.track(work().finally(done));
      }
    }
    this.#setTimer();
  }

  status(): ChannelStatus {
    const { clock } = this.#options;
    const parcels = [...this.#parcels].flatMap(({ entries }) => entries);
    const open = [...this.#waiting.entries(), ...[...this.#sealing.keys()].flat(), ...parcels];
    const itemless = [...this.#parcels].filter(({ entries }) => entries.length === 0);
    const sinceMs = [
      ...open.map(({ item }) => dueSinceMs(item)),
      ...itemless.map(({ message }) => message.sealedAtMs),
    ];
    const oldest = sinceMs.reduce((least, ms) => Math.min(least, ms), Number.POSITIVE_INFINITY);
    return {
      name: this.channel.name,
      kind: this.channel.kind,
      ...this.#healthState(),
      waiting: sinceMs.length,
      oldestWaitingMs: sinceMs.length === 0 ? null : Math.max(0, clock.nowMs() - oldest),
      delivered: this.#delivered,
      dead: this.#dead,
      failures: { ...this.#failures },
    };
  }

  #healthState(): Pick<ChannelStatus, "working" | "retrying" | "detail"> {
    const [first] = this.#ways.of(null);
    const { state, channel } = this.#way(null, this.#options.clock.elapsedMs());
    const { detail } = state.health.state;
    const parts =
      this.channel.people === undefined
        ? [detail]
        : state === first.state
          ? [`${channel.name} is on duty: ${detail}`]
          : [
              `${first.channel.name} is on duty: ${first.state.lastFailure}`,
              `${channel.name} stands in: ${detail}`,
            ];
    return { ...state.health.state, detail: [...parts, this.channel.trouble?.()].filter(Boolean).join("; ") };
  }

  #way(parcel: OutgoingMessage | null, nowMs = this.#pass.elapsedMs): Way {
    return this.#ways.next(parcel, nowMs);
  }

  async #open(): Promise<void> {
    // The channels of a rota's people start by themselves.
    if (this.channel.people !== undefined) return;
    const { cut } = this.#options;
    const { state } = this.#way(null);
    const result = await this.channel.start(cut).catch(() => null);
    if (cut.aborted || result === null) return;
    if (result.kind === "ok") {
      this.#works(state, result.detail);
      for (const { detail, fix } of result.warnings ?? [])
        this.#options.log.warn(
          { channel: this.channel.name },
          `the channel ${this.channel.name}: ${detail}; ${fix}`,
        );
    } else if (isFault(result.failure)) this.#breaks(state, `${result.detail}; ${result.fix}`);
    else state.health.unready(result.detail, result.failure);
    this.pump();
  }

  /** The next thing to do in a lane: a message that is due, else a new one. */
  #next(lane: Lane): (() => Promise<void>) | null {
    const nowMs = this.#pass.elapsedMs;
    const { state } = this.#way(null);
    if (lane === "critical" && this.#busy.has("rest") && state.slots.criticalYields(nowMs)) return null;
    const parcel = this.#dueMessage(lane, nowMs);
    const opens = this.#opens(state, lane, false, nowMs);
    if (!parcel && !opens) return null;
    // What failed before goes ahead of what is new, but not of what is worse.
    const severities = laneSeverities[lane];
    const worse = parcel
      ? severities.slice(0, severities.indexOf(turnOfMessage(parcel.message)))
      : severities;
    if (lane === "rest" && !this.#restMayGo(state, nowMs)) return null;
    const mayBegin = opens && nowMs >= this.#finalizer.againAtMs && this.#mayBegin(state, lane, nowMs);
    const take = () => this.#waiting.take(worse, this.#held, this.#leaving());
    let taken = mayBegin ? take() : null;
    const overtaken: OutgoingMessage[] = [];
    // The next one taken may be another message, which calls of other alerts.
    while (taken !== null) {
      const passed = this.#quietAbout(callsOf(taken.entries)).filter(({ underWay }) => !underWay);
      if (passed.length === 0) break;
      for (const one of passed) this.#withdraw(one, one.entries);
      overtaken.push(...passed);
      this.#putBack(taken.entries);
      taken = take();
    }
    if (taken) {
      const { entries, folded } = taken;
      if (state.circuit.down && lane === "rest") this.#begunWhileDown(nowMs);
      this.#sealing.set(entries, new Set(entries.map(({ item }) => item.alertId)));
      return async () => {
        for (const { message, entries: all } of overtaken)
          await this.#options.journal.record({ message, entries: all });
        await this.#sealAndSend({ entries, folded }, lane);
      };
    }
    if (!parcel) return null;
    parcel.underWay = true;
    parcel.lane = lane;
    return () => this.#send(parcel);
  }

  /** True if a channel may be tried now. @param tried false: nothing was ever tried of the message */
  #opens({ circuit }: ChannelState, lane: Lane, tried: boolean, nowMs: number): boolean {
    if (circuit.broken && (this.#busy.size > 0 || this.#probing)) return false;
    return (
      circuit.opensAtMs(false) <= nowMs || (lane === "critical" && !tried && circuit.opensAtMs(true) <= nowMs)
    );
  }

  /**
   * True if something new may be sealed and tried: not while the next slot of the channel is still to come, and hardly while
   * several messages fail already. What waits meanwhile leaves as one digest when the channel is back. Where it may be the
   * messages rather than the channel, something new is tried, ever more seldom.
   */
  #mayBegin(state: ChannelState, lane: Lane, nowMs: number): boolean {
    if (this.#draining) return true;
    if (lane === "critical" && !state.slots.criticalMayBegin(nowMs)) return false;
    if (!state.circuit.down) return true;
    const failing = [...this.#parcels].filter(
      (parcel) => laneOf(parcel.message) === lane && hasFailed(parcel, state),
    );
    if (lane === "critical") return failing.length < maxCriticalTried;
    if (failing.length === 0) return true;
    if (failing.every(({ message }) => message.lastFailure === "unreachable")) return false;
    return nowMs >= this.#beginsAtMs;
  }

  #begunWhileDown(nowMs: number): void {
    this.#beginsAtMs = nowMs + Math.min(firstBeginMs * 2 ** this.#begun, maxBeginMs);
    this.#begun++;
  }

  /**
   * True if messages that are not critical may leave: where slots are scarce they take none that something critical waits
   * for.
   */
  #restMayGo({ slots }: ChannelState, nowMs: number): boolean {
    if (this.#draining) return true;
    return slots.restMayGo(
      nowMs,
      this.#busy.has("critical"),
      () =>
        [...this.#parcels].some(({ message }) => laneOf(message) === "critical") ||
        this.#waiting.holds("critical", this.#held, this.#leaving()),
    );
  }

  #leaving(): Leaving {
    const stormFold = this.#options.stormFold();
    const { elapsedMs, wallMs: nowMs } = this.#pass;
    const scarce = this.#way(null).state.slots.areScarce(elapsedMs);
    const { tellsEach = false, maxNamed, byAccount } = this.channel;
    return { nowMs, stormFold, scarce, tellsEach, maxNamed, byAccount, draining: this.#draining };
  }

  #dueMessage(lane: Lane, nowMs: number): OutgoingMessage | undefined {
    let best: OutgoingMessage | undefined;
    for (const parcel of this.#parcels) {
      if (parcel.underWay || laneOf(parcel.message) !== lane) continue;
      const { state } = this.#way(parcel);
      if (dueAtMs(parcel, state) > nowMs || !this.#opens(state, lane, hasFailed(parcel, state), nowMs))
        continue;
      if (!best || rankOf(parcel.message) > rankOf(best.message)) best = parcel;
    }
    return best;
  }

  /** True if an item has to wait for an earlier message of its alert. */
  readonly #held = ({ item, change }: Entry): boolean => {
    for (const alertIds of this.#sealing.values()) if (alertIds.has(item.alertId)) return true;
    for (const { message, underWay } of this.#parcels) {
      if (!message.alertIds.includes(item.alertId)) continue;
      const failed = !underWay && message.attempts > 0;
      const rises =
        failed &&
        severityRank[turnOf(item)] > rankOf(message) &&
        change?.kind !== "fell" &&
        change?.kind !== "ended";
      if (!rises && (item.quiet === true || message.content.quiet !== true)) return true;
    }
    return false;
  };

  async #sealAndSend(taken: Taken, lane: Lane): Promise<void> {
    const { entries } = taken;
    const message = await this.#finalizer.message(taken, lane);
    this.#sealing.delete(entries);
    if (message === null) return;
    const dueMs = this.#options.clock.elapsedMs();
    const parcel = outgoing({ message, entries, dueMs, underWay: true, lane });
    const passed = this.#quietAbout(callsOf(entries));
    this.#parcels.add(parcel);
    for (const one of passed) {
      one.overtakenBy.add(parcel);
      // It failed while this was being sealed.
      if (!one.underWay) this.#options.track(this.#handOver(one));
    }
    await this.#options.probe("sealed");
    await this.#send(parcel);
  }

  #putBack(entries: readonly Entry[]): void {
    for (const entry of entries) {
      entry.item = { ...entry.item, status: "owed", messageId: null };
      this.#waiting.add(entry);
    }
  }

  async #send(parcel: OutgoingMessage): Promise<void> {
    const { store, journal, clock, probe, cut, log } = this.#options;
    await probe("before-send");
    const { message, resumed } = parcel;
    const attempt = message.attempts + (resumed ? 1 : 0);
    const { keepsGroups = false, edits = false } = this.channel;
    const before = await toldBefore(message, parcel.entries, store, journal, keepsGroups);
    const root = edits ? await rootOf(message, parcel.entries, store, journal) : undefined;
    const former = edits ? await formerRootOf(message, before, store, journal) : undefined;
    const way = this.#way(parcel, clock.elapsedMs());
    await this.#noteStandIn(parcel, way);
    const late = this.#late(parcel, way);
    const places = { ...before, ...(root ? { root } : {}), ...(former ? { former } : {}) };
    const told = { message, attempt, ...places, ...(late ? { late } : {}) };
    const result = await attemptWithin(told, way.channel, { clock, cut, log });
    if (result === null || (cut.aborted && result.kind !== "delivered")) {
      parcel.underWay = false;
      return;
    }
    if (result.kind === "delivered") await probe("sent");
    await this.#conclude(parcel, way.state, result, clock.elapsedMs());
    parcel.underWay = false;
    // It was passed while its failure was being recorded.
    if (parcel.overtakenBy.size > 0 && this.#parcels.has(parcel)) await this.#handOver(parcel);
  }

  /** Records that somebody who stands in is about to be sent a message: after a crash it is that person who may have it. */
  async #noteStandIn(parcel: OutgoingMessage, { channel, state }: Way): Promise<void> {
    const [first] = this.#ways.of(parcel.message);
    if (first.state === state) return;
    parcel.message = { ...parcel.message, receipt: prefixOf(channel.name) };
    await this.#options.journal.record({ message: parcel.message, entries: parcel.entries });
  }

  /** The delay and its cause, if it leaves long after it could have, or by the channel of somebody who stands in. */
  #late({ message, entries, refusedBy }: OutgoingMessage, { state }: Way): Late | null {
    const owedMs = entries.reduce(
      (least, { item }) => Math.min(least, dueSinceMs(item)),
      entries.length === 0 ? message.sealedAtMs : Number.POSITIVE_INFINITY,
    );
    const heldMs = this.#options.clock.nowMs() - owedMs;
    const [first] = this.#ways.of(message);
    if (first.state !== state) {
      const because = refusedBy.get(first.state) ?? first.state.lastFailure;
      return { heldMs: Number.isFinite(heldMs) ? heldMs : 0, because, insteadOf: first.channel.name };
    }
    if (!Number.isFinite(heldMs) || heldMs <= lateAfterMs) return null;
    const trouble = state.health.troubleSince(owedMs);
    const ran = owedMs >= this.#startedMs;
    const because =
      message.lastDetail ?? trouble ?? (ran ? "other messages went before it" : "perpwatch was not running");
    return { heldMs, because };
  }

  async #conclude(
    parcel: OutgoingMessage,
    state: ChannelState,
    answer: SendResult,
    elapsedMs: number,
  ): Promise<void> {
    const { clock, log, patienceMs } = this.#options;
    const nowMs = clock.nowMs();
    const before = parcel.message;
    const attempts = before.attempts + 1;
    // An earlier run may have tried it by any of several.
    const earlier = parcel.tries.size === 0 && this.channel.people === undefined ? before.attempts : 0;
    const times = 1 + (parcel.tries.get(state)?.times ?? earlier);
    parcel.tries.set(state, { times, dueMs: elapsedMs });
    const unconfirmed = (before.unconfirmed ?? 0) + (isUnconfirmed(answer) ? 1 : 0);
    const result = unconfirmed < maxUnconfirmed ? answer : refusedIfUnconfirmed(answer);
    if (result.kind === "delivered") {
      const { receipt } = result;
      parcel.message = {
        ...before,
        ...{ attempts, receipt, status: "delivered", nextAttemptMs: null, deliveredAtMs: nowMs },
      };
      this.#delivered++;
      state.slots.accepted(parcel.lane === "critical", elapsedMs);
      log.info(
        { channel: this.#options.channel.name, alerts: before.alertIds, message: before.id, attempts },
        `delivered: ${before.content.title}`,
      );
      this.#works(state, "delivers", true);
      await this.#settle(parcel, "delivered");
      return;
    }
    const { failure, detail } = result;
    this.#failures[failure] = (this.#failures[failure] ?? 0) + 1;
    const failed = {
      ...{ ...before, attempts, receipt: null, lastFailure: failure, lastDetail: detail },
      ...(unconfirmed > 0 ? { unconfirmed } : {}),
    };
    if (result.kind === "refused" && result.channelBroken) {
      this.#breaks(state, detail);
      const waitMs = state.circuit.opensAtMs(false) - elapsedMs;
      await this.#retryLater(parcel, failed, nowMs + waitMs);
      return;
    }
    const patient = nowMs - before.sealedAtMs < patienceMs;
    if (result.kind === "retry" && patient) {
      const leastMs = isUnconfirmed(answer) ? (unconfirmedWaitsMs[unconfirmed - 1] ?? 0) : 0;
      const delayMs = Math.max(leastMs, state.failed(result, before.id, times, elapsedMs));
      parcel.tries.set(state, { times, dueMs: elapsedMs + delayMs });
      state.health.retries(detail, failure, !parcel.failed);
      parcel.failed ||= failure !== "rate-limited";
      if (state.circuit.down) for (const one of this.#parcels) one.hurried = false;
      await this.#retryLater(parcel, failed, nowMs + delayMs);
      state.changed(this);
      return;
    }
    if (result.kind === "refused" && patient && this.#othersMayTake(parcel, state, detail)) {
      const fields = { channel: this.channel.name, messageId: before.id, detail };
      log.warn(fields, "a message was refused for good; somebody else gets it");
      await this.#retryLater(parcel, failed, nowMs);
      return;
    }
    if (parcel.overtakenBy.size > 0) {
      parcel.message = failed;
      await this.#handOver(parcel);
      return;
    }
    // It tells nothing of the messages that it passed.
    for (const one of this.#parcels) one.overtakenBy.delete(parcel);
    const again = result.kind === "refused" ? parcel.entries.filter(isToldAgain) : [];
    if (again.length === 0 || again.length < parcel.entries.length) this.#dead++;
    const fields = { channel: this.channel.name, messageId: before.id, title: before.content.title, detail };
    log.warn(fields, result.kind === "refused" ? "a message was refused for good" : "a message was given up");
    const itemIds = before.itemIds.filter((id) => !again.some(({ item }) => item.id === id));
    parcel.message = { ...failed, itemIds, status: "dead", nextAttemptMs: null };
    await this.#settle(parcel, "dead", again);
    if (![...this.#parcels].some(({ message }) => message.attempts > 0)) state.health.owesNothing();
  }

  /** Notes who refused a message for good. @returns false if nobody is left to whom it could go */
  #othersMayTake(parcel: OutgoingMessage, state: ChannelState, detail: string): boolean {
    parcel.refusedBy.set(state, detail);
    return this.#ways.of(parcel.message).some((way) => !parcel.refusedBy.has(way.state));
  }

  /** The quiet messages about some of these alerts. */
  #quietAbout(alertIds: ReadonlySet<number>): readonly OutgoingMessage[] {
    if (alertIds.size === 0) return [];
    return [...this.#parcels].filter(
      ({ message }) => message.content.quiet === true && message.alertIds.some((id) => alertIds.has(id)),
    );
  }

  /** Takes back a quiet message that was not delivered. @param entries those of it that wait for another message again */
  #withdraw(parcel: OutgoingMessage, entries: readonly Entry[]): void {
    const { message } = parcel;
    const lastDetail = "a later message tells what it told";
    parcel.message = { ...message, itemIds: [], status: "dead", nextAttemptMs: null, lastDetail };
    this.#parcels.delete(parcel);
    this.#putBack(entries);
  }

  /** Ends a quiet message that failed after later ones passed it: what these tell anew is part of them, the rest waits again. */
  async #handOver(parcel: OutgoingMessage): Promise<void> {
    const { journal } = this.#options;
    const later = [...parcel.overtakenBy];
    let rest = parcel.entries;
    for (const one of later.toReversed()) {
      const { alertIds, id, itemIds, status } = one.message;
      const told = rest.filter(({ item }) => alertIds.includes(item.alertId));
      for (const entry of told) entry.item = { ...entry.item, status, messageId: id };
      one.entries = [...one.entries, ...told];
      one.message = { ...one.message, itemIds: [...itemIds, ...told.map(({ item }) => item.id)] };
      rest = rest.filter((entry) => !told.includes(entry));
    }
    this.#withdraw(parcel, rest);
    const ended = { message: parcel.message, entries: rest };
    // In one commit, so that no crash leaves a part of it.
    await Promise.all([...later, ended].map(({ message, entries }) => journal.record({ message, entries })));
  }

  async #retryLater(parcel: OutgoingMessage, failed: Message, atMs: number): Promise<void> {
    if (parcel.overtakenBy.size > 0) {
      parcel.message = failed;
      return this.#handOver(parcel);
    }
    const { channel, log: out } = { channel: this.channel.name, log: this.#options.log };
    parcel.message = { ...failed, nextAttemptMs: Math.round(atMs) };
    out.debug(
      { channel, messageId: failed.id, detail: failed.lastDetail, atMs },
      "a message is tried again later",
    );
    await this.#options.journal.record({ message: parcel.message, entries: parcel.entries });
  }

  /** @param again those of its entries that wait for another message */
  async #settle(
    parcel: OutgoingMessage,
    status: "delivered" | "dead",
    again: readonly Entry[] = [],
  ): Promise<void> {
    const { journal, probe, clock } = this.#options;
    const releaseAtMs = clock.nowMs() + againAfterMs;
    for (const entry of parcel.entries)
      entry.item = again.includes(entry)
        ? { ...entry.item, status: "owed", messageId: null, releaseAtMs, again: true }
        : { ...entry.item, status };
    await journal.record({ message: parcel.message, entries: parcel.entries });
    this.#parcels.delete(parcel);
    // A channel that failed and by which nothing is on its way any more is looked at.
    for (const { state } of this.#ways.of(parcel.message)) state.changed(this);
    this.#putBack(again);
    await probe("recorded");
  }

  #works(state: ChannelState, detail: string, delivers = false): void {
    this.#beginsAtMs = Number.NEGATIVE_INFINITY;
    this.#begun = 0;
    if (state.succeeded(delivers)) {
      // The channel is back: what failed with it does not sit out a wait that was meant for a channel that is down.
      const nowMs = this.#options.clock.elapsedMs();
      for (const parcel of this.#parcels) {
        const tried = parcel.tries.get(state);
        if (parcel.underWay || parcel.hurried || parcel.message.lastFailure === "rate-limited") continue;
        if (tried) tried.dueMs = Math.min(tried.dueMs, nowMs);
        parcel.hurried = true;
      }
    }
    state.health.works(detail);
    state.changed(this);
  }

  #breaks(state: ChannelState, detail: string): void {
    state.broke(detail, this.#options.clock.elapsedMs());
    for (const parcel of this.#parcels) parcel.hurried = false;
    state.health.breaks(detail);
    state.changed(this);
  }

  /** A channel that was told to be deaf and has nothing to send is looked at, so that its recovery is told too. */
  async #look({ state }: Way): Promise<void> {
    this.#probing = true;
    const { clock, cut } = this.#options;
    const result = await probeWithin(this.channel, { clock, cut });
    this.#probing = false;
    if (cut.aborted) return;
    if (result?.kind === "ok") return this.#works(state, result.detail);
    const { failure, detail } = result ?? { failure: "timeout", detail: "its check had no answer" };
    if (state.circuit.broken || isFault(failure)) return this.#breaks(state, detail);
    this.#lookAtMs = clock.elapsedMs() + lookAgainMs;
    state.health.unready(detail, failure);
  }

  /** The states of the channels by which something may leave now. */
  #statesInUse(): ReadonlySet<ChannelState> {
    const messages = [null, ...(this.channel.people === undefined ? [] : this.#parcels)].map(
      (parcel) => parcel?.message ?? null,
    );
    return new Set(messages.flatMap((message) => this.#ways.of(message).map(({ state }) => state)));
  }

  #setTimer(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    if (this.#draining) return;
    const { clock, track } = this.#options;
    const { elapsedMs: nowMs, wallMs } = this.#pass;
    const way = this.#way(null);
    const owes = this.#waiting.size > 0;
    const { circuit, health } = way.state;
    // A rota's people have lines of their own, which look at their channels.
    const deaf =
      this.channel.people === undefined && (circuit.broken || !health.state.working || health.isFailing);
    const looksAtMs = Math.max(circuit.opensAtMs(false), this.#lookAtMs);
    const idle = !owes && this.#parcels.size === 0 && !this.#probing && !way.state.inUse;
    if (deaf && idle && looksAtMs <= nowMs) {
      track(this.#look(way).finally(() => this.pump()));
      return;
    }
    let atMs = Number.POSITIVE_INFINITY;
    const consider = (ms: number) => {
      if (ms > nowMs) atMs = Math.min(atMs, ms);
    };
    const working = owes || this.#parcels.size > 0;
    if (deaf) consider(looksAtMs);
    for (const state of working || deaf ? this.#statesInUse() : []) {
      consider(state.circuit.opensAtMs(false));
      consider(state.circuit.opensAtMs(true));
      consider(state.health.lastsAtMs);
      consider(state.passedOverAtMs(standInAfterMs));
      consider(state.triedAgainAtMs);
      if (working) for (const ms of state.slots.changesAtMs()) consider(ms);
    }
    if (owes) {
      consider(this.#finalizer.againAtMs);
      consider(this.#beginsAtMs);
      const releaseMs = this.#waiting.nextReleaseMs(wallMs);
      if (releaseMs !== null) consider(nowMs + (releaseMs - wallMs));
    }
    for (const parcel of this.#parcels) consider(dueAtMs(parcel, this.#way(parcel).state));
    if (atMs === Number.POSITIVE_INFINITY) return;
    this.#cancelTimer = clock.after(Math.ceil(Math.max(0, atMs - clock.elapsedMs())), () => this.pump());
  }
}

function isUnconfirmed(result: SendResult): boolean {
  return result.kind === "retry" && result.unconfirmed === true;
}

function refusedIfUnconfirmed(result: SendResult): SendResult {
  if (result.kind !== "retry" || !isUnconfirmed(result)) return result;
  return { kind: "refused", failure: "rejected", detail: result.detail, channelBroken: false };
}

/** True for what is told again if its message was refused. */
function isToldAgain({ item }: Entry): boolean {
  return firstOfIncident(item.groupKey) !== null && !item.again;
}

/** The channel's own fault: its credentials, its destination. Everything else may pass. */
function isFault(failure: SendFailure): boolean {
  return failure === "authentication" || failure === "rejected";
}
