/**
 * The condition of a queue's channels, by attempts and checks, and the limit on new messages while a channel is down.
 */
import type { Lane } from "../../alerts/pending/waiting.ts";
import type { SendFailure } from "../../domain/alerts/delivery.ts";
import type { Clock } from "../../domain/clock.ts";
import type { ChannelState, StateUser } from "./channel-state.ts";
import { hasFailed, laneOf, type OutgoingMessages } from "./outgoing-message.ts";

/**
 * Critical messages that are tried one by one while a channel is down; other new messages are tried after 5 min, 10, …
 * an hour.
 */
const maxCriticalTried = 10;
const firstBeginMs = 300_000;
const maxBeginMs = 3_600_000;

export class ChannelCondition {
  readonly #clock: Pick<Clock, "elapsedMs">;
  readonly #messages: OutgoingMessages;
  /** The queue itself. */
  readonly #user: StateUser;
  #beginsAtMs = Number.NEGATIVE_INFINITY;
  #begun = 0;

  constructor(clock: Pick<Clock, "elapsedMs">, messages: OutgoingMessages, user: StateUser) {
    this.#clock = clock;
    this.#messages = messages;
    this.#user = user;
  }

  /** Called when the state of a channel changed: the other queues check if they may send. */
  changed(state: ChannelState): void {
    state.changed(this.#user);
  }

  /** The time from which a new message may be tried while a channel is down, monotonic ms. */
  get beginsAtMs(): number {
    return this.#beginsAtMs;
  }

  /**
   * Returns true if a new message may be finalized and tried: not before the channel's next slot, and rarely while
   * several messages fail. Messages that wait meanwhile leave as one digest when the channel recovers. If the messages
   * may be the cause rather than the channel, new ones are tried at growing intervals.
   */
  mayBegin(state: ChannelState, lane: Lane, nowMs: number): boolean {
    if (lane === "critical" && !state.slots.criticalMayBegin(nowMs)) return false;
    if (!state.circuit.down) return true;
    const failing = [...this.#messages.all].filter(
      (outgoing) => laneOf(outgoing.message) === lane && hasFailed(outgoing, state),
    );
    if (lane === "critical") return failing.length < maxCriticalTried;
    if (failing.length === 0) return true;
    if (failing.every(({ message }) => message.lastFailure === "unreachable")) return false;
    return nowMs >= this.#beginsAtMs;
  }

  /** Notes that a new non-critical message was started while a channel is down. */
  begunWhileDown(nowMs: number): void {
    this.#beginsAtMs = nowMs + Math.min(firstBeginMs * 2 ** this.#begun, maxBeginMs);
    this.#begun++;
  }

  works(state: ChannelState, detail: string, delivers = false): void {
    this.#beginsAtMs = Number.NEGATIVE_INFINITY;
    this.#begun = 0;
    if (state.succeeded(delivers)) this.#messages.hurry(state, this.#clock.elapsedMs());
    state.health.works(detail);
    this.changed(state);
  }

  breaks(state: ChannelState, detail: string): void {
    state.broke(detail, this.#clock.elapsedMs());
    this.#messages.slow();
    state.health.breaks(detail);
    this.changed(state);
  }
}

/**
 * Returns true for a failure of the channel's own settings: its credentials, its destination. Other failures are
 * temporary.
 */
export function isFault(failure: SendFailure): boolean {
  return failure === "authentication" || failure === "rejected";
}
