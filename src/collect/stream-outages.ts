/**
 * Says that a connection to the stream is lost, and that it is back: once each, and only of what lasts. A connection comes
 * and goes with a token, a restart at the other side, a moment without a network, and nothing is missed by it.
 */
import type { Clock } from "../domain/clock.ts";
import { formatDurationMs } from "../domain/duration.ts";
import type { DownReason } from "../exchange/index.ts";
import type { CollectLog } from "./log.ts";

/** Shorter outages are nobody's business. */
const LASTING_MS = 15_000;
/** Maximum number of outages named at a time; one line stands for all. */
const MOST_NAMED = 3;

interface Outage {
  readonly sinceMs: number;
  detail: string;
  /** The reason. The want of a session is reported elsewhere. */
  why: DownReason;
  told: "no" | "named" | "folded";
  /** The reason that was told. */
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
   * @param exchangeIsDown whether nothing can be read at all, of which others tell
   * @param inboxEveryMs how often the notifications of a wallet without a stream are polled
   */
  constructor(clock: Clock, log: CollectLog, exchangeIsDown: () => boolean, inboxEveryMs: () => number) {
    this.#clock = clock;
    this.#log = log;
    this.#exchangeIsDown = exchangeIsDown;
    this.#inboxEveryMs = inboxEveryMs;
  }

  /** @returns whether it was connected before, as far as is known here */
  down(wallet: string | null, detail: string, why: DownReason): boolean {
    const known = this.#outages.get(wallet);
    if (known) {
      Object.assign(known, { detail, why });
      // That a stream is lost may come back by itself; that it is refused is for somebody to look into.
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
