/** Notifications that cannot be read in the stream: they wait for the inbox, which may report them first. */
import type { Clock } from "../domain/clock.ts";
import { maxWaitingEvents } from "./noted-news.ts";
import type { PacedAsks } from "./paced-asks.ts";

/**
 * A notification that cannot be read in the stream is reported as it is after so long where the inbox does not show it by then: its
 * reading may wait for the request budget.
 */
const unreadForMs = 45_000;
/** Until then the inbox is asked for it again and again: it may show an item some seconds after the stream does. */
const betweenUnreadMs = 15_000;

export class UnreadNotifications {
  readonly #clock: Pick<Clock, "after">;
  readonly #asks: PacedAsks;
  /** By key, with what calls off that they are reported as they are. */
  readonly #unread = new Map<string, () => void>();

  constructor(clock: Pick<Clock, "after">, asks: PacedAsks) {
    this.#clock = clock;
    this.#asks = asks;
  }

  stop(): void {
    for (const cancel of this.#unread.values()) cancel();
    this.#unread.clear();
  }

  /** Notes a notification that the inbox was to report: if it did by then, nothing is reported twice. */
  wait(name: string, key: string, note: () => void): void {
    if (this.#unread.has(key) || this.#unread.size >= maxWaitingEvents) return;
    let looks = unreadForMs / betweenUnreadMs;
    const wait = (): void => {
      this.#unread.set(key, this.#clock.after(betweenUnreadMs, look));
    };
    const look = (): void => {
      looks--;
      if (looks > 0) {
        this.#asks.inbox(name);
        wait();
        return;
      }
      this.#unread.delete(key);
      note();
    };
    wait();
  }
}
