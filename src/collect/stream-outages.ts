/**
 * Says that a connection to the stream is lost, and that it is back: once each, and only of what lasts. A connection comes
 * and goes with a token, a restart at the other side, a moment without a network, and nothing is missed by it.
 */
import type { Clock } from "../domain/clock.ts";
import { formatDurationMs } from "../domain/duration.ts";
import type { CollectLog } from "./log.ts";

/** Shorter outages are nobody's business. */
const LASTING_MS = 15_000;
/** Of more, lost at a time, one line stands for all. */
const MOST_NAMED = 3;

interface Outage {
  readonly sinceMs: number;
  detail: string;
  /** For want of a session, of which others tell. */
  signedOut: boolean;
  told: "no" | "named" | "folded";
}

export class StreamOutages {
  readonly #clock: Clock;
  readonly #log: CollectLog;
  readonly #outages = new Map<string | null, Outage>();
  readonly #exchangeIsDown: () => boolean;
  #cancel: (() => void) | null = null;

  /** @param exchangeIsDown whether nothing can be read at all, of which others tell */
  constructor(clock: Clock, log: CollectLog, exchangeIsDown: () => boolean) {
    this.#clock = clock;
    this.#log = log;
    this.#exchangeIsDown = exchangeIsDown;
  }

  /** @returns whether it was connected before, as far as is known here */
  down(wallet: string | null, detail: string, signedOut: boolean): boolean {
    const known = this.#outages.get(wallet);
    if (known) {
      Object.assign(known, { detail, signedOut });
      return false;
    }
    this.#outages.set(wallet, { sinceMs: this.#clock.elapsedMs(), detail, signedOut, told: "no" });
    this.#cancel ??= this.#clock.after(LASTING_MS, () => this.#look());
    return true;
  }

  up(wallet: string | null): void {
    const outage = this.#outages.get(wallet);
    this.#outages.delete(wallet);
    if (!outage || outage.told === "no") return;
    if (outage.told === "folded") {
      if (![...this.#outages.values()].some(({ told }) => told === "folded"))
        this.#log.info({}, "all streams are connected again");
      return;
    }
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
    const nowMs = this.#clock.elapsedMs();
    const lasting = [...this.#outages].filter(
      ([, { told, signedOut, sinceMs }]) => told === "no" && !signedOut && nowMs - sinceMs >= LASTING_MS,
    );
    if (!this.#exchangeIsDown()) this.#tell(lasting);
    const waits = [...this.#outages.values()].some(({ told }) => told === "no");
    if (waits) this.#cancel = this.#clock.after(LASTING_MS, () => this.#look());
  }

  #tell(lost: readonly (readonly [string | null, Outage])[]): void {
    const folded = lost.length > MOST_NAMED;
    for (const [wallet, outage] of lost) {
      outage.told = folded ? "folded" : "named";
      const text = `${nameOf(wallet)} is not connected, and polls go on: ${outage.detail}`;
      this.#log[folded ? "debug" : "warn"]({ wallet }, text);
    }
    const [first] = lost;
    if (folded && first)
      this.#log.warn({}, `${lost.length} streams are not connected, and polls go on: ${first[1].detail}`);
  }
}

function nameOf(wallet: string | null): string {
  return wallet === null ? "the stream" : `the stream of ${wallet}`;
}
