/** Unreadable notifications of the stream: they wait for the inbox, which may report them first. */
import type { Clock } from "../../domain/clock.ts";
import type { PacedReads } from "./paced-reads.ts";
import { maxWaitingEvents } from "./stream-buffer.ts";

/**
 * Time after which an unreadable notification of the stream is reported as it is, if the inbox has not shown it, ms:
 * the read of the inbox may wait for the request budget.
 */
const unreadForMs = 45_000;
/** Interval at which the inbox is read for it until then, ms: it may show an item some seconds after the stream. */
const betweenUnreadMs = 15_000;

export class UnreadNotifications {
  readonly #clock: Pick<Clock, "after">;
  readonly #reads: PacedReads;
  /** By key, the function that cancels the report. */
  readonly #unread = new Map<string, () => void>();

  constructor(clock: Pick<Clock, "after">, reads: PacedReads) {
    this.#clock = clock;
    this.#reads = reads;
  }

  stop(): void {
    for (const cancel of this.#unread.values()) cancel();
    this.#unread.clear();
  }

  /** Waits for the inbox to report a notification, so that it is not reported twice. */
  wait(name: string, key: string, note: () => void): void {
    if (this.#unread.has(key) || this.#unread.size >= maxWaitingEvents) return;
    let looks = unreadForMs / betweenUnreadMs;
    const wait = (): void => {
      this.#unread.set(key, this.#clock.after(betweenUnreadMs, look));
    };
    const look = (): void => {
      looks--;
      if (looks > 0) {
        this.#reads.inbox(name);
        wait();
        return;
      }
      this.#unread.delete(key);
      note();
    };
    wait();
  }
}
