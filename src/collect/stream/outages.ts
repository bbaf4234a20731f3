/**
 * Logs the loss and the return of a stream connection: once each, and only if it lasts. A connection is replaced with
 * each token, a restart of the other side or a network error, and nothing is missed by that.
 */
import type { Clock } from "../../domain/clock.ts";
import { formatDurationMs } from "../../domain/text/duration.ts";
import type { DownReason } from "../../exchange/index.ts";
import type { CollectLog } from "../log.ts";

/** Shorter outages are not logged. */
const LASTING_MS = 15_000;
/** Maximum number of outages named at a time; one line covers all. */
const MOST_NAMED = 3;

interface Outage {
  readonly sinceMs: number;
  detail: string;
  /** The reason. A missing session is reported elsewhere. */
  why: DownReason;
  told: "no" | "named" | "folded";
  /** The logged reason. */
  toldWhy: DownReason | null;
}

export class StreamOutages {
  readonly #clock: Clock;
  readonly #log: CollectLog;
  readonly #outages = new Map<string | null, Outage>();
  readonly #exchangeIsDown: () => boolean;
  readonly #inboxEveryMs: () => number;
  #cancel: (() => void) | null = null;

  /**
   * @param exchangeIsDown returns true if nothing can be read at all, which is logged elsewhere
   * @param inboxEveryMs returns the polling interval of a wallet's notifications without a stream
   */
  constructor(clock: Clock, log: CollectLog, exchangeIsDown: () => boolean, inboxEveryMs: () => number) {
    this.#clock = clock;
    this.#log = log;
    this.#exchangeIsDown = exchangeIsDown;
    this.#inboxEveryMs = inboxEveryMs;
  }

  /** @returns true if it was connected before, as far as known here */
  down(wallet: string | null, detail: string, why: DownReason): boolean {
    const known = this.#outages.get(wallet);
    if (known) {
      Object.assign(known, { detail, why });
      // A lost stream may recover by itself; a refused one needs attention.
      if (why === "refused" && known.toldWhy === "lost") known.told = "no";
    } else {
      const sinceMs = this.#clock.elapsedMs();
      this.#outages.set(wallet, { sinceMs, detail, why, told: "no", toldWhy: null });
    }
    this.#cancel ??= this.#clock.after(LASTING_MS, () => this.#look());
    return known === undefined;
  }

  up(wallet: string | null): void {
    const outage = this.#outages.get(wallet);
    this.#outages.delete(wallet);
    if (!outage || outage.toldWhy === null) return;
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
      ([, { told, why, sinceMs }]) => told === "no" && why !== "signed-out" && nowMs - sinceMs >= LASTING_MS,
    );
    if (!this.#exchangeIsDown())
      for (const why of ["lost", "refused"] as const)
        this.#tell(
          lasting.filter(([, outage]) => outage.why === why),
          why,
        );
    const waits = [...this.#outages.values()].some(({ told }) => told === "no");
    if (waits) this.#cancel = this.#clock.after(LASTING_MS, () => this.#look());
  }

  #tell(lost: readonly (readonly [string | null, Outage])[], why: "lost" | "refused"): void {
    const folded = lost.length > MOST_NAMED;
    const say = (what: string, are: string, detail: string) =>
      why === "lost"
        ? `${what} ${are} not connected, and polls go on: ${detail}`
        : `the exchange refuses ${what}: ${detail}; notifications are polled every ${formatDurationMs(this.#inboxEveryMs())}`;
    for (const [wallet, outage] of lost) {
      outage.told = folded ? "folded" : "named";
      outage.toldWhy = why;
      this.#log[folded ? "debug" : "warn"]({ wallet }, say(nameOf(wallet), "is", outage.detail));
    }
    const [first] = lost;
    if (folded && first) this.#log.warn({}, say(`${lost.length} streams`, "are", first[1].detail));
  }
}

function nameOf(wallet: string | null): string {
  return wallet === null ? "the stream" : `the stream of ${wallet}`;
}
