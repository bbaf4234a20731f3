/**
 * Says what goes wrong, and that it goes right again: once each, however often it is tried in between.
 *
 * Failures are reported by source. The first wallet that fails is named with its reason, and so are the next two; of more
 * than three only the count is said, since then it is the exchange or the network, not the wallets.
 */
import type { Clock } from "../domain/clock.ts";
import { formatDurationMs } from "../domain/duration.ts";
import type { FailureReason, Source } from "../domain/observation.ts";
import type { CollectLog } from "./log.ts";

const MOST_NAMED = 3;

interface Trouble {
  readonly sinceMs: number;
  reason: FailureReason;
  failures: number;
  readonly named: boolean;
}

export class Reporter {
  readonly #clock: Clock;
  readonly #log: CollectLog;
  readonly #troubles = new Map<Source, Map<string | null, Trouble>>();
  readonly #folded = new Set<Source>();

  constructor(clock: Clock, log: CollectLog) {
    this.#clock = clock;
    this.#log = log;
  }

  failed(source: Source, wallet: string | null, reason: FailureReason, detail: string): void {
    let troubles = this.#troubles.get(source);
    if (!troubles) {
      troubles = new Map();
      this.#troubles.set(source, troubles);
    }
    const known = troubles.get(wallet);
    if (known) {
      known.failures++;
      if (known.reason === reason) return;
      known.reason = reason;
      if (known.named)
        this.#log.warn(
          { source, wallet, reason, detail },
          `${nameOf(source, wallet)} still cannot be read, now: ${detail}`,
        );
      return;
    }
    const named = troubles.size < MOST_NAMED;
    troubles.set(wallet, { sinceMs: this.#clock.elapsedMs(), reason, failures: 1, named });
    if (named) {
      this.#log.warn(
        { source, wallet, reason, detail },
        `${nameOf(source, wallet)} cannot be read: ${detail}`,
      );
    } else if (!this.#folded.has(source)) {
      this.#folded.add(source);
      this.#log.warn(
        { source, reason, detail },
        `${source} cannot be read for more than ${MOST_NAMED} wallets: ${detail}`,
      );
    }
  }

  worked(source: Source, wallet: string | null): void {
    const troubles = this.#troubles.get(source);
    const trouble = troubles?.get(wallet);
    if (!troubles || !trouble) return;
    troubles.delete(wallet);
    const forMs = this.#clock.elapsedMs() - trouble.sinceMs;
    if (trouble.named) {
      this.#log.info(
        { source, wallet, failures: trouble.failures, forMs: Math.round(forMs) },
        `${nameOf(source, wallet)} can be read again, after ${formatDurationMs(forMs)} and ${count(trouble.failures, "failed read")}`,
      );
    }
    if (troubles.size === 0) {
      this.#troubles.delete(source);
      if (this.#folded.delete(source))
        this.#log.info({ source }, `${source} can be read again for all wallets`);
    }
  }
}

function nameOf(source: Source, wallet: string | null): string {
  return wallet === null ? source : `${source} of ${wallet}`;
}

function count(n: number, what: string): string {
  return `${n} ${what}${n === 1 ? "" : "s"}`;
}
