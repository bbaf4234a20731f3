/** Detects the end of an outage: the first answer after a time in which requests failed and none was answered. */

/** A shorter time without answers is no outage, ms. */
const MIN_OUTAGE_MS = 2_000;

export class OutageEnd {
  /** The first failure since the last answer, monotonic ms; null: none. */
  #failingSinceMs: number | null = null;
  readonly #onEnd: (() => void)[] = [];

  /** Calls `run` at the end of each outage. */
  onEnd(run: () => void): void {
    this.#onEnd.push(run);
  }

  /** Notes a request without an answer, or with a server error (5xx). */
  failed(nowMs: number): void {
    this.#failingSinceMs ??= nowMs;
  }

  /** Notes an answer, including a refusal. */
  answered(nowMs: number): void {
    const sinceMs = this.#failingSinceMs;
    if (sinceMs === null) return;
    this.#failingSinceMs = null;
    if (nowMs - sinceMs >= MIN_OUTAGE_MS) for (const run of this.#onEnd) run();
  }
}
