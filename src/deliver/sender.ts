/** Sends the messages of a channel: an attempt at a time, of which the outcome is recorded before anything follows from it. */
import { dueSinceMs, type Entry, type Waiting } from "../alerts/pending/waiting.ts";
import type { Channel, Late, SendResult } from "../channels/channel.ts";
import { prefixOf } from "../channels/rota/channel.ts";
import type { Clock } from "../domain/clock.ts";
import { firstOfIncident, lateAfterMs, type Message, type SendFailure } from "../domain/delivery.ts";
import type { Store } from "../domain/ports.ts";
import type { ChannelStatus } from "../domain/status.ts";
import { attemptWithin, formerRootOf, rootOf, toldBefore } from "./attempt.ts";
import type { ChannelCondition } from "./channel-condition.ts";
import type { ChannelState, StateUser } from "./channel-state.ts";
import type { Journal } from "./journal.ts";
import type { DeliverLog } from "./log.ts";
import type { OutgoingMessage, OutgoingMessages } from "./outgoing-message.ts";
import type { OvertakenMessages } from "./overtaken-messages.ts";
import type { Probe } from "./probe.ts";
import type { Way, Ways } from "./ways.ts";

/** Attempts that are answered without a confirmation after which a message counts as refused: each of them may have arrived. */
const maxUnconfirmed = 3;
/** Least waits after the first and the second of them, ms: a page that stands in the way for minutes loses no message. */
const unconfirmedWaitsMs = [30_000, 600_000];
/** A refused item of an incident leaves with the next message of that, and at the latest after so long, ms. */
const againAfterMs = 30_000;

export interface SenderOptions {
  readonly channel: Channel;
  readonly store: Pick<Store, "messages">;
  readonly journal: Journal;
  readonly clock: Clock;
  readonly log: DeliverLog;
  readonly patienceMs: number;
  readonly probe: Probe;
  /** Aborted when even what is under way has to end. */
  readonly cut: AbortSignal;
}

/** The parts of a line that an attempt has to do with. */
export interface SenderParts {
  readonly messages: OutgoingMessages;
  readonly waiting: Waiting;
  readonly ways: Ways;
  readonly condition: ChannelCondition;
  readonly overtaken: OvertakenMessages;
  /** The line itself. */
  readonly user: StateUser;
}

export class Sender {
  readonly #options: SenderOptions;
  readonly #messages: OutgoingMessages;
  readonly #waiting: Waiting;
  readonly #ways: Ways;
  readonly #condition: ChannelCondition;
  readonly #overtaken: OvertakenMessages;
  readonly #user: StateUser;
  #startedMs = 0;
  #delivered = 0;
  #dead = 0;
  readonly #failures: Partial<Record<SendFailure, number>> = {};

  constructor(options: SenderOptions, parts: SenderParts) {
    this.#options = options;
    this.#messages = parts.messages;
    this.#waiting = parts.waiting;
    this.#ways = parts.ways;
    this.#condition = parts.condition;
    this.#overtaken = parts.overtaken;
    this.#user = parts.user;
  }

  start(): void {
    this.#startedMs = this.#options.clock.nowMs();
  }

  counts(): Pick<ChannelStatus, "delivered" | "dead" | "failures"> {
    return { delivered: this.#delivered, dead: this.#dead, failures: { ...this.#failures } };
  }

  /** One attempt, with its outcome. */
  async send(parcel: OutgoingMessage): Promise<void> {
    const { store, journal, clock, probe, cut, log } = this.#options;
    await probe("before-send");
    const { message, resumed } = parcel;
    const attempt = message.attempts + (resumed ? 1 : 0);
    const { keepsGroups = false, edits = false } = this.#options.channel;
    const before = await toldBefore(message, parcel.entries, store, journal, keepsGroups);
    const root = edits ? await rootOf(message, parcel.entries, store, journal) : undefined;
    const former = edits ? await formerRootOf(message, before, store, journal) : undefined;
    const way = this.#ways.next(parcel, clock.elapsedMs());
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
    if (parcel.overtakenBy.size > 0 && this.#messages.all.has(parcel)) await this.#overtaken.handOver(parcel);
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
    const earlier =
      parcel.tries.size === 0 && this.#options.channel.people === undefined ? before.attempts : 0;
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
      this.#condition.works(state, "delivers", true);
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
      this.#condition.breaks(state, detail);
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
      if (state.circuit.down) this.#messages.slow();
      await this.#retryLater(parcel, failed, nowMs + delayMs);
      state.changed(this.#user);
      return;
    }
    if (result.kind === "refused" && patient && this.#othersMayTake(parcel, state, detail)) {
      const fields = { channel: this.#options.channel.name, messageId: before.id, detail };
      log.warn(fields, "a message was refused for good; somebody else gets it");
      await this.#retryLater(parcel, failed, nowMs);
      return;
    }
    if (parcel.overtakenBy.size > 0) {
      parcel.message = failed;
      await this.#overtaken.handOver(parcel);
      return;
    }
    // It tells nothing of the messages that it passed.
    for (const one of this.#messages.all) one.overtakenBy.delete(parcel);
    const again = result.kind === "refused" ? parcel.entries.filter(isToldAgain) : [];
    if (again.length === 0 || again.length < parcel.entries.length) this.#dead++;
    const fields = {
      channel: this.#options.channel.name,
      messageId: before.id,
      title: before.content.title,
      detail,
    };
    log.warn(fields, result.kind === "refused" ? "a message was refused for good" : "a message was given up");
    const itemIds = before.itemIds.filter((id) => !again.some(({ item }) => item.id === id));
    parcel.message = { ...failed, itemIds, status: "dead", nextAttemptMs: null };
    await this.#settle(parcel, "dead", again);
    if (![...this.#messages.all].some(({ message }) => message.attempts > 0)) state.health.owesNothing();
  }

  /** Notes who refused a message for good. @returns false if nobody is left to whom it could go */
  #othersMayTake(parcel: OutgoingMessage, state: ChannelState, detail: string): boolean {
    parcel.refusedBy.set(state, detail);
    return this.#ways.of(parcel.message).some((way) => !parcel.refusedBy.has(way.state));
  }

  async #retryLater(parcel: OutgoingMessage, failed: Message, atMs: number): Promise<void> {
    if (parcel.overtakenBy.size > 0) {
      parcel.message = failed;
      return this.#overtaken.handOver(parcel);
    }
    const { channel, log: out } = { channel: this.#options.channel.name, log: this.#options.log };
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
    this.#messages.delete(parcel);
    // A channel that failed and by which nothing is on its way any more is looked at.
    for (const { state } of this.#ways.of(parcel.message)) state.changed(this.#user);
    this.#waiting.putBack(again);
    await probe("recorded");
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
