/** Acknowledgements confirmed by the exchange and not yet recorded, and the wait while history fails. */

import type { Acknowledgement } from "../../domain/alerts/delivery.ts";
import type { Clock, Random } from "../../domain/clock.ts";
import type { Store } from "../../domain/ports.ts";
import { changes } from "../../domain/stored/changes.ts";
import type { DeliverLog } from "../log.ts";
import type { Probe } from "../probe.ts";
import { type Backoff, backoffMs } from "../queue/backoff.ts";

const storeAgain: Backoff = { firstMs: 1_000, maxMs: 30_000 };

export interface ConfirmationsOptions {
  readonly store: Pick<Store, "commit">;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: DeliverLog;
  readonly probe: Probe;
}

export class Confirmations {
  readonly #options: ConfirmationsOptions;
  readonly #unrecorded = new Map<string, Acknowledgement>();
  #failures = 0;
  #againAtMs = Number.NEGATIVE_INFINITY;
  #recorded = 0;

  constructor(options: ConfirmationsOptions) {
    this.#options = options;
  }

  /** The unrecorded ones: until they are recorded, nothing more is sent. */
  get unrecorded(): ReadonlyMap<string, Acknowledgement> {
    return this.#unrecorded;
  }

  /** The number of those recorded since the start. */
  get recorded(): number {
    return this.#recorded;
  }

  /** The time from which history may be tried again, monotonic, ms. */
  get againAtMs(): number {
    return this.#againAtMs;
  }

  succeeded(): void {
    this.#failures = 0;
  }

  async confirm(rows: readonly Acknowledgement[]): Promise<void> {
    for (const row of rows) this.#unrecorded.set(row.key, row);
    await this.record();
  }

  /** Records the unrecorded ones; never rejects. */
  async record(): Promise<void> {
    const rows = [...this.#unrecorded.values()];
    if (rows.length === 0) return;
    try {
      await this.#options.store.commit([changes({ acknowledgements: rows })]);
    } catch (error) {
      this.failed(error);
      return;
    }
    this.succeeded();
    for (const row of rows) {
      if (this.#unrecorded.get(row.key) !== row) continue;
      this.#unrecorded.delete(row.key);
      this.#recorded++;
    }
    this.#options.log.info({ items: rows.length, wallet: rows[0]?.wallet }, "notifications acknowledged");
    await this.#options.probe("ack-recorded");
  }

  /** Notes that history could not be written or read: it is tried again later. */
  failed(error: unknown): void {
    const { clock, random, log } = this.#options;
    if (this.#failures === 0) {
      const detail = error instanceof Error ? error.message : "failed";
      log.warn({ detail }, "acknowledgements wait for the history");
    }
    this.#failures++;
    this.#againAtMs = clock.elapsedMs() + backoffMs(storeAgain, this.#failures, random());
  }
}
