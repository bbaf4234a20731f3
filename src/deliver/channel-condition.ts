/** The condition of the channels of a line, as attempts and checks find it, and new messages while one is down. */
import type { Lane } from "../alerts/pending/waiting.ts";
import type { Clock } from "../domain/clock.ts";
import type { SendFailure } from "../domain/delivery.ts";
import type { ChannelState, StateUser } from "./channel-state.ts";
import { hasFailed, laneOf, type OutgoingMessages } from "./outgoing-message.ts";

/** While a channel is down: so many critical messages are tried one by one; anything else new after 5 min, 10, … an hour. */
const maxCriticalTried = 10;
const firstBeginMs = 300_000;
const maxBeginMs = 3_600_000;

export class ChannelCondition {
  readonly #clock: Pick<Clock, "elapsedMs">;
  readonly #messages: OutgoingMessages;
  /** The line itself. */
  readonly #user: StateUser;
  #beginsAtMs = Number.NEGATIVE_INFINITY;
  #begun = 0;

  constructor(clock: Pick<Clock, "elapsedMs">, messages: OutgoingMessages, user: StateUser) {
    this.#clock = clock;
    this.#messages = messages;
    this.#user = user;
  }

  /** The state of a channel changed: the other lines look whether they may send. */
  changed(state: ChannelState): void {
    state.changed(this.#user);
  }

  /** The time from which on something new may be tried while a channel is down, monotonic ms. */
  get beginsAtMs(): number {
    return this.#beginsAtMs;
  }

  /**
   * True if something new may be sealed and tried: not while the next slot of the channel is still to come, and hardly while
   * several messages fail already. What waits meanwhile leaves as one digest when the channel is back. Where it may be the
   * messages rather than the channel, something new is tried, ever more seldom.
   */
  mayBegin(state: ChannelState, lane: Lane, nowMs: number): boolean {
    if (lane === "critical" && !state.slots.criticalMayBegin(nowMs)) return false;
    if (!state.circuit.down) return true;
    const failing = [...this.#messages.all].filter(
      (parcel) => laneOf(parcel.message) === lane && hasFailed(parcel, state),
    );
    if (lane === "critical") return failing.length < maxCriticalTried;
    if (failing.length === 0) return true;
    if (failing.every(({ message }) => message.lastFailure === "unreachable")) return false;
    return nowMs >= this.#beginsAtMs;
  }

  /** Something new that is not critical was begun while a channel is down. */
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

/** The channel's own fault: its credentials, its destination. Everything else may pass. */
export function isFault(failure: SendFailure): boolean {
  return failure === "authentication" || failure === "rejected";
}
