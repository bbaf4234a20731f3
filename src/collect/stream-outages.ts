/**
 * Says that a connection to the stream is lost, and that it is back: once each, and only of what lasts. A connection comes
 * and goes with a token, a restart at the other side, a moment without a network, and nothing is missed by it.
 */
import type { Clock } from "../domain/clock.ts";
import { formatDurationMs } from "../domain/duration.ts";
import type { CollectLog } from "./log.ts";

/** Shorter outages are nobody's business. */
const LASTING_MS = 15_000;

interface Outage {
  readonly sinceMs: number;
  detail: string;
  /** For want of a session, of which others tell. */
  signedOut: boolean;
  told: boolean;
}

export class StreamOutages {
  readonly #clock: Clock;
  readonly #log: CollectLog;
  readonly #outages = new Map<string | null, Outage>();
  #cancel: (() => void) | null = null;

  constructor(clock: Clock, log: CollectLog) {
    this.#clock = clock;
    this.#log = log;
  }

  /** @returns whether it was connected before, as far as is known here */
  down(wallet: string | null, detail: string, signedOut: boolean): boolean {
    const known = this.#outages.get(wallet);
    if (known) {
      Object.assign(known, { detail, signedOut });
      return false;
    }
    this.#outages.set(wallet, { sinceMs: this.#clock.elapsedMs(), detail, signedOut, told: false });
    this.#cancel ??= this.#clock.after(LASTING_MS, () => this.#look());
    return true;
  }

  up(wallet: string | null): void {
    const outage = this.#outages.get(wallet);
    this.#outages.delete(wallet);
    if (!outage?.told) return;
    const forMs = this.#clock.elapsedMs() - outage.sinceMs;
    const text = `${nameOf(wallet)} is connected again after ${formatDurationMs(forMs)}`;
    this.#log.info({ wallet, forMs: Math.round(forMs) }, text);
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = null;
  }

  #look(): void {
    this.#cancel = null;
    for (const [wallet, outage] of this.#outages) {
      const { detail, signedOut, told, sinceMs } = outage;
      if (told || signedOut || this.#clock.elapsedMs() - sinceMs < LASTING_MS) continue;
      outage.told = true;
      this.#log.warn({ wallet, detail }, `${nameOf(wallet)} is not connected, and polls go on: ${detail}`);
    }
    const waits = [...this.#outages.values()].some((one) => !one.told);
    if (waits) this.#cancel = this.#clock.after(LASTING_MS, () => this.#look());
  }
}

function nameOf(wallet: string | null): string {
  return wallet === null ? "the stream" : `the stream of ${wallet}`;
}
