/**
 * Logs the loss and the return of a stream connection: once each, and only if it lasts. A connection is replaced with
 * each token, a restart of the other side or a network error, and nothing is missed by that.
 */
import type { Clock } from "../../domain/clock.ts";
import { formatDurationMs } from "../../domain/text/duration.ts";
import type { DownReason } from "../../exchange/index.ts";
import type { CollectLog } from "../log.ts";

/** Shorter outages are not logged. */
const minLoggedMs = 15_000;
/** Maximum number of outages named at a time; one line covers all. */
const maxNamed = 3;

interface Outage {
  readonly sinceMs: number;
  detail: string;
  /** The reason. A missing session is reported elsewhere. */
  reason: DownReason;
  logged: "no" | "named" | "folded";
  /** The logged reason. */
  loggedReason: DownReason | null;
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
  down(wallet: string | null, detail: string, reason: DownReason): boolean {
    const known = this.#outages.get(wallet);
    if (known) {
      Object.assign(known, { detail, reason });
      // A lost stream may recover by itself; a refused one needs attention.
      if (reason === "refused" && known.loggedReason === "lost") known.logged = "no";
    } else {
      const sinceMs = this.#clock.elapsedMs();
      this.#outages.set(wallet, { sinceMs, detail, reason, logged: "no", loggedReason: null });
    }
    this.#cancel ??= this.#clock.after(minLoggedMs, () => this.#check());
    return known === undefined;
  }

  up(wallet: string | null): void {
    const outage = this.#outages.get(wallet);
    this.#outages.delete(wallet);
    if (!outage || outage.loggedReason === null) return;
    if (outage.logged === "folded") {
      if (![...this.#outages.values()].some(({ logged }) => logged === "folded"))
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

  #check(): void {
    this.#cancel = null;
    const nowMs = this.#clock.elapsedMs();
    const lasting = [...this.#outages].filter(
      ([, { logged, reason, sinceMs }]) =>
        logged === "no" && reason !== "signed-out" && nowMs - sinceMs >= minLoggedMs,
    );
    if (!this.#exchangeIsDown())
      for (const reason of ["lost", "refused"] as const)
        this.#logLost(
          lasting.filter(([, outage]) => outage.reason === reason),
          reason,
        );
    const waits = [...this.#outages.values()].some(({ logged }) => logged === "no");
    if (waits) this.#cancel = this.#clock.after(minLoggedMs, () => this.#check());
  }

  #logLost(lost: readonly (readonly [string | null, Outage])[], reason: "lost" | "refused"): void {
    const folded = lost.length > maxNamed;
    const textOf = (what: string, are: string, detail: string) =>
      reason === "lost"
        ? `${what} ${are} not connected, and polls go on: ${detail}`
        : `the exchange refuses ${what}: ${detail}; notifications are polled every ${formatDurationMs(this.#inboxEveryMs())}`;
    for (const [wallet, outage] of lost) {
      outage.logged = folded ? "folded" : "named";
      outage.loggedReason = reason;
      this.#log[folded ? "debug" : "warn"]({ wallet }, textOf(nameOf(wallet), "is", outage.detail));
    }
    const [first] = lost;
    if (folded && first) this.#log.warn({}, textOf(`${lost.length} streams`, "are", first[1].detail));
  }
}

function nameOf(wallet: string | null): string {
  return wallet === null ? "the stream" : `the stream of ${wallet}`;
}
