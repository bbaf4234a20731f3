/**
 * Sends the messages of a channel: one attempt at a time, whose outcome is recorded before anything follows from it.
 */
import type { Entry, Waiting } from "../../alerts/pending/waiting.ts";
import type { Channel, SendResult } from "../../channels/channel.ts";
import { firstOfIncident, type Message, type SendFailure } from "../../domain/alerts/delivery.ts";
import type { Clock } from "../../domain/clock.ts";
import type { ChannelStatus } from "../../domain/status.ts";
import type { Journal } from "../journal.ts";
import type { DeliverLog } from "../log.ts";
import type { Probe } from "../probe.ts";
import type { ChannelCondition } from "./channel-condition.ts";
import type { ChannelState } from "./channel-state.ts";
import type { MessageAttempts } from "./message-attempt.ts";
import type { OutgoingMessage, OutgoingMessages } from "./outgoing-message.ts";
import type { OvertakenMessages } from "./overtaken-messages.ts";
import type { Ways } from "./ways.ts";

/** Attempts answered without a confirmation after which a message counts as refused: each of them may have arrived. */
const maxUnconfirmed = 3;
/** Minimum waits after the first and the second of them, ms: an interposed page that lasts minutes loses no message. */
const unconfirmedWaitsMs = [30_000, 600_000];
/**
 * Maximum time after which a refused item of an incident leaves again, ms; earlier with the incident's next message.
 */
const againAfterMs = 30_000;

export interface SenderOptions {
  readonly channel: Pick<Channel, "name" | "people">;
  readonly journal: Journal;
  readonly clock: Clock;
  readonly log: DeliverLog;
  readonly patienceMs: number;
  readonly probe: Probe;
}

/** The parts of a queue that an attempt uses. */
export interface SenderParts {
  readonly messages: OutgoingMessages;
  readonly waiting: Waiting;
  readonly ways: Ways;
  readonly condition: ChannelCondition;
  readonly overtaken: OvertakenMessages;
  readonly attempts: MessageAttempts;
}

export class Sender {
  readonly #options: SenderOptions;
  readonly #messages: OutgoingMessages;
  readonly #waiting: Waiting;
  readonly #ways: Ways;
  readonly #condition: ChannelCondition;
  readonly #overtaken: OvertakenMessages;
  readonly #attempts: MessageAttempts;
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
    this.#attempts = parts.attempts;
  }

  counts(): Pick<ChannelStatus, "delivered" | "dead" | "failures"> {
    return { delivered: this.#delivered, dead: this.#dead, failures: { ...this.#failures } };
  }

  /** Makes one attempt and handles its outcome. */
  async send(outgoing: OutgoingMessage): Promise<void> {
    const { clock, probe } = this.#options;
    await probe("before-send");
    const made = await this.#attempts.make(outgoing);
    if (made === null) {
      outgoing.underWay = false;
      return;
    }
    if (made.result.kind === "delivered") await probe("sent");
    await this.#conclude(outgoing, made.state, made.result, clock.elapsedMs());
    outgoing.underWay = false;
    // It was overtaken while its failure was being recorded.
    if (outgoing.overtakenBy.size > 0 && this.#messages.all.has(outgoing))
      await this.#overtaken.handOver(outgoing);
  }

  async #conclude(
    outgoing: OutgoingMessage,
    state: ChannelState,
    answer: SendResult,
    elapsedMs: number,
  ): Promise<void> {
    const { clock, log, patienceMs } = this.#options;
    const nowMs = clock.nowMs();
    const before = outgoing.message;
    const attempts = before.attempts + 1;
    // An earlier run may have tried it by any of several channels.
    const earlier =
      outgoing.tries.size === 0 && this.#options.channel.people === undefined ? before.attempts : 0;
    const times = 1 + (outgoing.tries.get(state)?.times ?? earlier);
    outgoing.tries.set(state, { times, dueMs: elapsedMs });
    const unconfirmed = (before.unconfirmed ?? 0) + (isUnconfirmed(answer) ? 1 : 0);
    const result = unconfirmed < maxUnconfirmed ? answer : refusedIfUnconfirmed(answer);
    if (result.kind === "delivered") {
      const { receipt } = result;
      outgoing.message = {
        ...before,
        ...{ attempts, receipt, status: "delivered", nextAttemptMs: null, deliveredAtMs: nowMs },
      };
      this.#delivered++;
      state.slots.accepted(outgoing.lane === "critical", elapsedMs);
      log.info(
        { channel: this.#options.channel.name, alerts: before.alertIds, message: before.id, attempts },
        `delivered: ${before.content.title}`,
      );
      this.#condition.works(state, "delivers", true);
      await this.#settle(outgoing, "delivered");
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
      await this.#retryLater(outgoing, failed, nowMs + waitMs);
      return;
    }
    const patient = nowMs - before.sealedAtMs < patienceMs;
    if (result.kind === "retry" && patient) {
      const leastMs = isUnconfirmed(answer) ? (unconfirmedWaitsMs[unconfirmed - 1] ?? 0) : 0;
      const delayMs = Math.max(leastMs, state.failed(result, before.id, times, elapsedMs));
      outgoing.tries.set(state, { times, dueMs: elapsedMs + delayMs });
      state.health.retries(detail, failure, !outgoing.failed);
      outgoing.failed ||= failure !== "rate-limited";
      if (state.circuit.down) this.#messages.slow();
      await this.#retryLater(outgoing, failed, nowMs + delayMs);
      this.#condition.changed(state);
      return;
    }
    if (result.kind === "refused" && patient && this.#othersMayTake(outgoing, state, detail)) {
      const fields = { channel: this.#options.channel.name, messageId: before.id, detail };
      log.warn(fields, "a message was refused for good; somebody else gets it");
      await this.#retryLater(outgoing, failed, nowMs);
      return;
    }
    if (outgoing.overtakenBy.size > 0) {
      outgoing.message = failed;
      await this.#overtaken.handOver(outgoing);
      return;
    }
    // It does not cover the messages that it passed.
    for (const one of this.#messages.all) one.overtakenBy.delete(outgoing);
    const again = result.kind === "refused" ? outgoing.entries.filter(isSentAgain) : [];
    if (again.length === 0 || again.length < outgoing.entries.length) this.#dead++;
    const fields = {
      channel: this.#options.channel.name,
      messageId: before.id,
      title: before.content.title,
      detail,
    };
    log.warn(fields, result.kind === "refused" ? "a message was refused for good" : "a message was given up");
    const itemIds = before.itemIds.filter((id) => !again.some(({ item }) => item.id === id));
    outgoing.message = { ...failed, itemIds, status: "dead", nextAttemptMs: null };
    await this.#settle(outgoing, "dead", again);
    if (![...this.#messages.all].some(({ message }) => message.attempts > 0)) state.health.noneFailing();
  }

  /** Notes the channel that refused a message permanently. @returns false if no channel is left for it */
  #othersMayTake(outgoing: OutgoingMessage, state: ChannelState, detail: string): boolean {
    outgoing.refusedBy.set(state, detail);
    return this.#ways.of(outgoing.message).some((way) => !outgoing.refusedBy.has(way.state));
  }

  async #retryLater(outgoing: OutgoingMessage, failed: Message, atMs: number): Promise<void> {
    if (outgoing.overtakenBy.size > 0) {
      outgoing.message = failed;
      return this.#overtaken.handOver(outgoing);
    }
    const { channel, log: out } = { channel: this.#options.channel.name, log: this.#options.log };
    outgoing.message = { ...failed, nextAttemptMs: Math.round(atMs) };
    out.debug(
      { channel, messageId: failed.id, detail: failed.lastDetail, atMs },
      "a message is tried again later",
    );
    await this.#options.journal.record({ message: outgoing.message, entries: outgoing.entries });
  }

  /** @param again the entries that wait for another message */
  async #settle(
    outgoing: OutgoingMessage,
    status: "delivered" | "dead",
    again: readonly Entry[] = [],
  ): Promise<void> {
    const { journal, probe, clock } = this.#options;
    const releaseAtMs = clock.nowMs() + againAfterMs;
    for (const entry of outgoing.entries)
      entry.item = again.includes(entry)
        ? { ...entry.item, status: "owed", messageId: null, releaseAtMs, again: true }
        : { ...entry.item, status };
    await journal.record({ message: outgoing.message, entries: outgoing.entries });
    this.#messages.delete(outgoing);
    // A channel that failed and has no message on its way any more is checked.
    for (const { state } of this.#ways.of(outgoing.message)) this.#condition.changed(state);
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

/** Returns true for an item that is sent again if its message was refused. */
function isSentAgain({ item }: Entry): boolean {
  return firstOfIncident(item.groupKey) !== null && !item.again;
}
