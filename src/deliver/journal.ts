/**
 * Writes the outbox's rows. A finalized message is committed before it is sent; a result is committed as soon as the
 * disk accepts it, and kept in memory until then, so that nothing is sent twice while this process lives.
 */
import type { Entry } from "../alerts/pending/waiting.ts";
import type { Message } from "../domain/alerts/delivery.ts";
import type { Clock, Random } from "../domain/clock.ts";
import type { Store } from "../domain/ports.ts";
import { changes } from "../domain/stored/changes.ts";
import type { DeliverLog } from "./log.ts";
import { type Backoff, backoffMs } from "./queue/backoff.ts";

/** One message and its items, to be written to history. */
export interface Rows {
  readonly message: Message | null;
  readonly entries: readonly Entry[];
}

const again: Backoff = { firstMs: 1_000, maxMs: 10_000 };

export interface JournalOptions {
  readonly store: Pick<Store, "commit">;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: DeliverLog;
  /** Called once rows are committed. */
  readonly onRecorded: (rows: Rows) => void;
}

export class Journal {
  readonly #options: JournalOptions;
  /** The unwritten rows, by message or, for an item without one, by the item. The newest replaces older ones. */
  readonly #pending = new Map<string, Rows>();
  #tail: Promise<void> = Promise.resolve();
  #failures = 0;
  #cancel: (() => void) | null = null;
  #isFailing = false;
  #closed = false;

  constructor(options: JournalOptions) {
    this.#options = options;
  }

  /** Yields the current messages that are not in history yet. */
  *unwritten(): Iterable<Message> {
    for (const { message } of this.#pending.values()) if (message) yield message;
  }

  /** Commits a finalized message. @returns false if the disk did not accept it: then nothing may be sent */
  async commitFinalized(rows: Rows): Promise<boolean> {
    try {
      await this.#options.store.commit([asChanges([rows])]);
      this.#isFailing = false;
      return true;
    } catch (error) {
      if (!this.#isFailing)
        this.#warn(error, "a message cannot be stored, and is not sent yet: the history does not take it");
      this.#isFailing = true;
      return false;
    }
  }

  /** Commits rows now, or later in the background. Resolves after the first try. */
  async record(rows: Rows): Promise<void> {
    this.#pending.set(rows.message?.id ?? `item ${rows.entries[0]?.item.id}`, rows);
    await this.flush();
  }

  /** Writes all unwritten rows that may be written. */
  flush(): Promise<void> {
    this.#tail = this.#tail.then(() => this.#flush());
    return this.#tail;
  }

  /** Discards rows that can no longer be written. */
  close(): void {
    this.#closed = true;
    this.#cancel?.();
  }

  async #flush(): Promise<void> {
    const ready = [...this.#pending].filter(([, { entries }]) => !entries.some(({ stuck }) => stuck));
    if (ready.length === 0 || this.#closed) return;
    this.#cancel?.();
    this.#cancel = null;
    try {
      await this.#options.store.commit([asChanges(ready.map(([, rows]) => rows))]);
    } catch (error) {
      if (this.#failures === 0)
        this.#warn(error, "deliveries cannot be recorded yet; they are kept in memory");
      this.#failures++;
      const delayMs = backoffMs(again, this.#failures, this.#options.random());
      if (!this.#closed) this.#cancel = this.#options.clock.after(delayMs, () => void this.flush());
      return;
    }
    if (this.#failures > 0)
      this.#options.log.info({ messages: ready.length }, "deliveries are recorded again");
    this.#failures = 0;
    for (const [key, rows] of ready) {
      if (this.#pending.get(key) === rows) this.#pending.delete(key);
      this.#options.onRecorded(rows);
    }
  }

  #warn(error: unknown, what: string): void {
    this.#options.log.warn({ detail: error instanceof Error ? error.message : "failed" }, what);
  }
}

function asChanges(all: readonly Rows[]) {
  return changes({
    messages: all.flatMap(({ message }) => message ?? []),
    deliveryItems: all.flatMap(({ entries }) => entries.map(({ item }) => item)),
  });
}
