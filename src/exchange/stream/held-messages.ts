/** Stream messages that wait for an earlier one, by slot and, within a slot, by arrival. */
import type { TraderStateMessage } from "../../contract/index.ts";

export interface HeldMessage {
  readonly message: TraderStateMessage;
  /** Time of its arrival, monotonic ms. */
  readonly atMs: number;
}

/** Maximum wait of a message for one of another subaccount, ms: a poll has been answered by then. */
export const HOLD_MS = 5_000;
/** Maximum held messages; the oldest is dropped, and a full snapshot replaces it. */
const MAX_HELD = 100;

export class HeldMessages {
  readonly #held: HeldMessage[] = [];
  /** Arrival of the first message dropped at the maximum while others were held, ms; infinite: none. */
  #droppedMs = Number.POSITIVE_INFINITY;

  get any(): boolean {
    return this.#held.length > 0;
  }

  add(message: TraderStateMessage, atMs: number): void {
    const after = this.#held.findIndex((one) => one.message.slot > message.slot);
    this.#held.splice(after < 0 ? this.#held.length : after, 0, { message, atMs });
    if (this.#held.length > MAX_HELD) this.#droppedMs = Math.min(this.#droppedMs, this.#held.shift()!.atMs);
  }

  /** Arrival of the message that has waited longest, ms. */
  #sinceMs(): number {
    if (this.#held.length === 0) this.#droppedMs = Number.POSITIVE_INFINITY;
    return this.#held.reduce((least, { atMs }) => Math.min(least, atMs), this.#droppedMs);
  }

  /**
   * Removes and returns the next message that follows the known state; null: none. The order within a slot is unknown,
   * so any message of the oldest slot may be next; once one has been held for the maximum time, any message, since each
   * subaccount has its own sequence.
   * @param coveredSlot drops messages of earlier slots that do not follow: a full snapshot of that slot includes them
   */
  next(
    follows: (message: TraderStateMessage) => boolean,
    coveredSlot: number,
    nowMs: number,
  ): HeldMessage | null {
    if (nowMs - this.#sinceMs() >= HOLD_MS) {
      const index = this.#held.findIndex(({ message }) => follows(message));
      if (index >= 0) return this.#held.splice(index, 1)[0]!;
    }
    for (let head = this.#held[0]; head; head = this.#held[0]) {
      const { slot } = head.message;
      const index = this.#held.findIndex(({ message }) => message.slot === slot && follows(message));
      if (index >= 0) return this.#held.splice(index, 1)[0]!;
      if (slot >= coveredSlot) return null;
      this.#held.shift();
    }
    return null;
  }
}
