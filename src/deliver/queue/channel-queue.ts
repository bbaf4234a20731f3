/**
 * The queue of a channel: pending items in two lanes with one message under way each, and the time at which the next
 * one leaves.
 */
import {
  dueSinceMs,
  type Entry,
  type Lane,
  type Leaving,
  laneSeverities,
  lanes,
  type Taken,
  Waiting,
} from "../../alerts/pending/waiting.ts";
import type { Channel } from "../../channels/channel.ts";
import type { Message } from "../../domain/alerts/delivery.ts";
import type { Random } from "../../domain/clock.ts";
import type { ChannelStatus } from "../../domain/status.ts";
import { Finalizer, type FinalizerOptions } from "../message/finalizer.ts";
import type { Probe } from "../probe.ts";
import { probeWithin } from "./attempt.ts";
import { ChannelCondition, isFault } from "./channel-condition.ts";
import { type ChannelState, type StateUser, standInAfterMs } from "./channel-state.ts";
import { MessageAttempts } from "./message-attempt.ts";
import {
  callsOf,
  dueAtMs,
  hasFailed,
  laneOf,
  newOutgoing,
  type OutgoingMessage,
  OutgoingMessages,
  rankOf,
  turnOfMessage,
} from "./outgoing-message.ts";
import { OvertakenMessages } from "./overtaken-messages.ts";
import { Sender } from "./sender.ts";
import { type Way, Ways } from "./ways.ts";

/** The interval at which a channel with an open circuit is checked while nothing is pending for it, ms. */
const lookAgainMs = 60_000;
export interface ChannelQueueOptions extends Omit<FinalizerOptions, "putBack"> {
  /** Returns the state of a channel, by its name. */
  readonly stateOf: (channel: string) => ChannelState;
  readonly random: Random;
  readonly patienceMs: number;
  /** Returns the number of waiting messages above which they are folded into one. */
  readonly stormFold: () => number;
  readonly probe: Probe;
  /** Counts work under way, for `idle`. */
  readonly track: (work: Promise<void>) => void;
  /** Aborted when messages under way have to stop too. */
  readonly cut: AbortSignal;
}

export class ChannelQueue implements StateUser {
  readonly channel: Channel;
  readonly #options: ChannelQueueOptions;
  readonly #waiting = new Waiting();
  readonly #messages = new OutgoingMessages();
  readonly #ways: Ways;
  readonly #finalizer: Finalizer;
  readonly #condition: ChannelCondition;
  readonly #overtaken: OvertakenMessages;
  readonly #attempts: MessageAttempts;
  readonly #sender: Sender;
  readonly #busy = new Set<Lane>();
  #probing = false;
  #lookAtMs = Number.NEGATIVE_INFINITY;
  /**
   * One reading of the clocks for a whole pass. Otherwise a message that becomes due between a check and the setting of
   * the timer would neither leave nor have a timer.
   */
  #pass = { elapsedMs: 0, wallMs: 0 };
  #cancelTimer: (() => void) | null = null;
  #running = false;
  #draining = false;

  constructor(options: ChannelQueueOptions) {
    this.channel = options.channel;
    this.#options = options;
    this.#finalizer = new Finalizer({ ...options, putBack: (entries) => this.#waiting.putBack(entries) });
    this.#ways = new Ways(options.channel, (name) => {
      const state = options.stateOf(name);
      state.joins(this);
      return state;
    });
    this.#condition = new ChannelCondition(options.clock, this.#messages, this);
    this.#overtaken = new OvertakenMessages(this.#messages, this.#waiting, options.journal);
    this.#attempts = new MessageAttempts({ ...options, ways: this.#ways });
    this.#sender = new Sender(options, {
      ...{ messages: this.#messages, waiting: this.#waiting, ways: this.#ways },
      ...{ condition: this.#condition, overtaken: this.#overtaken, attempts: this.#attempts },
    });
  }

  uses(state: ChannelState): boolean {
    return [...this.#messages.all].some(
      (outgoing) =>
        outgoing.tries.has(state) || this.#way(outgoing, this.#options.clock.elapsedMs()).state === state,
    );
  }

  add(entry: Entry): void {
    if (entry.stuck) this.#finalizer.stuck();
    this.#waiting.add(entry);
  }

  /** Resumes a message of an earlier run. */
  resume(message: Message, entries: readonly Entry[]): void {
    this.#messages.add(this.#resumed(message, entries));
  }

  /** Ends a quiet message of an earlier run that later ones passed; those are resumed already if they have to be. */
  async endPassed(message: Message, entries: readonly Entry[], later: readonly Message[]): Promise<void> {
    const outgoing = this.#resumed(message, entries);
    for (const by of later)
      outgoing.overtakenBy.add(
        [...this.#messages.all].find((one) => one.message.id === by.id) ?? this.#resumed(by, []),
      );
    await this.#overtaken.handOver(outgoing);
  }

  #resumed(message: Message, entries: readonly Entry[]): OutgoingMessage {
    const { clock } = this.#options;
    // A wait requested by the other side is kept. Other causes may have been fixed with the restart. For a rota it is
    // unknown who requested it, and other people may stand in.
    const isLimited = message.lastFailure === "rate-limited" && this.channel.people === undefined;
    const waitMs = isLimited ? (message.nextAttemptMs ?? 0) - clock.nowMs() : 0;
    const dueMs = clock.elapsedMs() + Math.min(Math.max(0, waitMs), 300_000);
    return newOutgoing({ message, entries, dueMs, resumed: true });
  }

  /** Takes a finalized and committed message that has not been tried. */
  post(message: Message): void {
    const dueMs = this.#options.clock.elapsedMs();
    this.#messages.add(newOutgoing({ message, entries: [], dueMs }));
    this.pump();
  }

  start(): void {
    this.#running = true;
    this.#attempts.start();
    void this.#open();
    this.pump();
  }

  /** Stops waiting for more; messages that can leave now still do. */
  drain(): void {
    this.#draining = true;
    this.#cancelTimer?.();
    // Groups no longer wait for more items.
    this.pump();
  }

  stop(): void {
    this.#running = false;
    this.#cancelTimer?.();
  }

  /** Does everything that can be done now, and sets a timer for the next step. */
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
    const open = [...this.#waiting.entries(), ...this.#messages.entries()];
    const itemless = [...this.#messages.all].filter(({ entries }) => entries.length === 0);
    const sinceMs = [
      ...open.map(({ item }) => dueSinceMs(item)),
      ...itemless.map(({ message }) => message.sealedAtMs),
    ];
    const oldest = sinceMs.reduce((least, ms) => Math.min(least, ms), Number.POSITIVE_INFINITY);
    return {
      name: this.channel.name,
      kind: this.channel.kind,
      ...this.#ways.health(clock.elapsedMs()),
      waiting: sinceMs.length,
      oldestWaitingMs: sinceMs.length === 0 ? null : Math.max(0, clock.nowMs() - oldest),
      ...this.#sender.counts(),
    };
  }

  #way(outgoing: OutgoingMessage | null, nowMs = this.#pass.elapsedMs): Way {
    return this.#ways.next(outgoing, nowMs);
  }

  async #open(): Promise<void> {
    // The channels of a rota's people start separately.
    if (this.channel.people !== undefined) return;
    const { cut } = this.#options;
    const { state } = this.#way(null);
    const result = await this.channel.start(cut).catch(() => null);
    if (cut.aborted || result === null) return;
    if (result.kind === "ok") {
      this.#condition.works(state, result.detail);
      for (const { detail, fix } of result.warnings ?? [])
        this.#options.log.warn(
          { channel: this.channel.name },
          `the channel ${this.channel.name}: ${detail}; ${fix}`,
        );
    } else if (isFault(result.failure)) this.#condition.breaks(state, `${result.detail}; ${result.fix}`);
    else state.health.unready(result.detail, result.failure);
    this.pump();
  }

  /** Returns the next step of a lane: a due message, else a new one. */
  #next(lane: Lane): (() => Promise<void>) | null {
    const nowMs = this.#pass.elapsedMs;
    const { state } = this.#way(null);
    if (lane === "critical" && this.#busy.has("rest") && state.slots.criticalYields(nowMs)) return null;
    const outgoing = this.#dueMessage(lane, nowMs);
    const opens = this.#opens(state, lane, false, nowMs);
    if (!outgoing && !opens) return null;
    // A message that failed before precedes new ones, but not more severe ones.
    const severities = laneSeverities[lane];
    const worse = outgoing
      ? severities.slice(0, severities.indexOf(turnOfMessage(outgoing.message)))
      : severities;
    if (lane === "rest" && !this.#restMayGo(state, nowMs)) return null;
    const mayBegin =
      opens &&
      nowMs >= this.#finalizer.againAtMs &&
      (this.#draining || this.#condition.mayBegin(state, lane, nowMs));
    const take = () => this.#waiting.take(worse, this.#messages.holds, this.#leaving());
    let taken = mayBegin ? take() : null;
    const overtaken: OutgoingMessage[] = [];
    // The next one taken may be another message, which notifies of other alerts.
    while (taken !== null) {
      const passed = this.#messages.quietAbout(callsOf(taken.entries)).filter(({ underWay }) => !underWay);
      if (passed.length === 0) break;
      for (const one of passed) this.#overtaken.withdraw(one, one.entries);
      overtaken.push(...passed);
      this.#waiting.putBack(taken.entries);
      taken = take();
    }
    if (taken) {
      const { entries, folded } = taken;
      if (state.circuit.down && lane === "rest") this.#condition.begunWhileDown(nowMs);
      this.#messages.begin(entries);
      return async () => {
        for (const { message, entries: all } of overtaken)
          await this.#options.journal.record({ message, entries: all });
        await this.#finalizeAndSend({ entries, folded }, lane);
      };
    }
    if (!outgoing) return null;
    outgoing.underWay = true;
    outgoing.lane = lane;
    return () => this.#sender.send(outgoing);
  }

  /** Returns true if a channel may be tried now. @param tried false: the message has not been tried yet */
  #opens({ circuit }: ChannelState, lane: Lane, tried: boolean, nowMs: number): boolean {
    if (circuit.broken && (this.#busy.size > 0 || this.#probing)) return false;
    return (
      circuit.opensAtMs(false) <= nowMs || (lane === "critical" && !tried && circuit.opensAtMs(true) <= nowMs)
    );
  }

  /**
   * Returns true if non-critical messages may leave: while slots are scarce they take none that a critical one waits
   * for.
   */
  #restMayGo({ slots }: ChannelState, nowMs: number): boolean {
    if (this.#draining) return true;
    return slots.restMayGo(
      nowMs,
      this.#busy.has("critical"),
      () =>
        [...this.#messages.all].some(({ message }) => laneOf(message) === "critical") ||
        this.#waiting.holds("critical", this.#messages.holds, this.#leaving()),
    );
  }

  #leaving(): Leaving {
    const stormFold = this.#options.stormFold();
    const { elapsedMs, wallMs: nowMs } = this.#pass;
    const scarce = this.#way(null).state.slots.areScarce(elapsedMs);
    const { isNeverFolded = false, maxNamed, byAccount } = this.channel;
    return { nowMs, stormFold, scarce, isNeverFolded, maxNamed, byAccount, draining: this.#draining };
  }

  #dueMessage(lane: Lane, nowMs: number): OutgoingMessage | undefined {
    let best: OutgoingMessage | undefined;
    for (const outgoing of this.#messages.all) {
      if (outgoing.underWay || laneOf(outgoing.message) !== lane) continue;
      const { state } = this.#way(outgoing);
      if (dueAtMs(outgoing, state) > nowMs || !this.#opens(state, lane, hasFailed(outgoing, state), nowMs))
        continue;
      if (!best || rankOf(outgoing.message) > rankOf(best.message)) best = outgoing;
    }
    return best;
  }

  async #finalizeAndSend(taken: Taken, lane: Lane): Promise<void> {
    const { entries } = taken;
    const message = await this.#finalizer.message(taken, lane);
    this.#messages.made(entries);
    if (message === null) return;
    const dueMs = this.#options.clock.elapsedMs();
    const outgoing = newOutgoing({ message, entries, dueMs, underWay: true, lane });
    const passed = this.#messages.quietAbout(callsOf(entries));
    this.#messages.add(outgoing);
    for (const one of passed) {
      one.overtakenBy.add(outgoing);
      // It failed while this one was being finalized.
      if (!one.underWay) this.#options.track(this.#overtaken.handOver(one));
    }
    await this.#options.probe("sealed");
    await this.#sender.send(outgoing);
  }

  /** Checks a channel with an open circuit and nothing to send, so that its recovery is reported too. */
  async #look({ state }: Way): Promise<void> {
    this.#probing = true;
    const { clock, cut } = this.#options;
    const result = await probeWithin(this.channel, { clock, cut });
    this.#probing = false;
    if (cut.aborted) return;
    if (result?.kind === "ok") return this.#condition.works(state, result.detail);
    const { failure, detail } = result ?? { failure: "timeout", detail: "its check had no answer" };
    if (state.circuit.broken || isFault(failure)) return this.#condition.breaks(state, detail);
    this.#lookAtMs = clock.elapsedMs() + lookAgainMs;
    state.health.unready(detail, failure);
  }

  #setTimer(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    if (this.#draining) return;
    const { clock, track } = this.#options;
    const { elapsedMs: nowMs, wallMs } = this.#pass;
    const way = this.#way(null);
    const hasPending = this.#waiting.size > 0;
    const { circuit, health } = way.state;
    // A rota's people have queues of their own, which check their channels.
    const isUnusable =
      this.channel.people === undefined && (circuit.broken || !health.state.working || health.isFailing);
    const looksAtMs = Math.max(circuit.opensAtMs(false), this.#lookAtMs);
    const idle = !hasPending && this.#messages.all.size === 0 && !this.#probing && !way.state.inUse;
    if (isUnusable && idle && looksAtMs <= nowMs) {
      track(this.#look(way).finally(() => this.pump()));
      return;
    }
    let atMs = Number.POSITIVE_INFINITY;
    const consider = (ms: number) => {
      if (ms > nowMs) atMs = Math.min(atMs, ms);
    };
    const working = hasPending || this.#messages.all.size > 0;
    if (isUnusable) consider(looksAtMs);
    for (const state of working || isUnusable ? this.#ways.inUse(this.#messages.all) : []) {
      consider(state.circuit.opensAtMs(false));
      consider(state.circuit.opensAtMs(true));
      consider(state.health.lastsAtMs);
      consider(state.passedOverAtMs(standInAfterMs));
      consider(state.triedAgainAtMs);
      if (working) for (const ms of state.slots.changesAtMs()) consider(ms);
    }
    if (hasPending) {
      consider(this.#finalizer.againAtMs);
      consider(this.#condition.beginsAtMs);
      const releaseMs = this.#waiting.nextReleaseMs(wallMs);
      if (releaseMs !== null) consider(nowMs + (releaseMs - wallMs));
    }
    for (const outgoing of this.#messages.all) consider(dueAtMs(outgoing, this.#way(outgoing).state));
    if (atMs === Number.POSITIVE_INFINITY) return;
    this.#cancelTimer = clock.after(Math.ceil(Math.max(0, atMs - clock.elapsedMs())), () => this.pump());
  }
}
