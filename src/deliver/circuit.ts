/**
 * Decides when a channel may be tried. Times are monotonic ms.
 *
 *   well ──an attempt fails──► unwell: the longer, the more different messages and the more waits in a row failed; a fresh
 *                              critical one may try sooner, and its failure lengthens no wait
 *   well ──told to wait──────► waiting: nothing leaves before the time that the other side named
 *   well ──its own fault─────► broken: nothing leaves but a rare attempt, until somebody mended it
 *   any  ──a success─────────► well
 */
import type { SendResult } from "../channels/channel.ts";
import type { Random } from "../domain/clock.ts";
import { type Backoff, backoffMs } from "./backoff.ts";

/** A channel that is well again gets what waits within a minute. */
const unwell: Backoff = { firstMs: 1_000, mostMs: 60_000 };
const broken: Backoff = { firstMs: 40_000, mostMs: 300_000 };
/** A critical message that was never tried waits at most this long after the last failure, unless told otherwise. */
const freshCriticalMs = 1_000;
/** The other side's own time is kept, but never in a tight loop. */
const shortestWaitMs = 250;
const lostPlaceMs = 5_000;
/** A time that the other side names again and again is exceeded at most up to this: it may be over at any time. */
const limited: Backoff = { firstMs: 1_000, mostMs: 15_000 };

export class Circuit {
  readonly #random: Random;
  /** Messages that failed since the last success. */
  readonly #failed = new Set<string>();
  #lastFailureMs = Number.NEGATIVE_INFINITY;
  #unwellUntilMs = Number.NEGATIVE_INFINITY;
  /** Waits that ended in a failure since the last success: with them they grow as the time for which it is unwell. */
  #waits = 0;
  #waitUntilMs = Number.NEGATIVE_INFINITY;
  #breaks = 0;
  /** Waits that the other side asked for since the last success. */
  #limits = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  /** True while only a mended channel can help. */
  get broken(): boolean {
    return this.#breaks > 0;
  }

  /** More than one message failed since the last success: it is the channel, not the message. */
  get down(): boolean {
    return this.#failed.size > 1;
  }

  /** From when on an attempt may be made. @param fresh a critical message without any attempt */
  opensAtMs(fresh: boolean): number {
    const unwellMs = fresh
      ? Math.min(this.#unwellUntilMs, this.#lastFailureMs + freshCriticalMs)
      : this.#unwellUntilMs;
    return Math.max(this.#waitUntilMs, unwellMs);
  }

  /** @returns true when the channel was not well before: what waits for another try should not wait longer */
  succeeded(): boolean {
    const recovered = this.#breaks > 0 || this.#failed.size > 0;
    this.#failed.clear();
    this.#breaks = this.#limits = this.#waits = 0;
    this.#unwellUntilMs = this.#waitUntilMs = this.#lastFailureMs = Number.NEGATIVE_INFINITY;
    return recovered;
  }

  /** The fault is the channel's own. */
  broke(nowMs: number): void {
    this.#breaks++;
    this.#waitUntilMs = nowMs + backoffMs(broken, this.#breaks, this.#random());
  }

  /**
   * An attempt failed.
   * @param attempts of this message, this one included
   * @returns ms after which the same message may be tried again
   */
  failed(
    result: SendResult & { readonly kind: "retry" },
    id: string,
    attempts: number,
    nowMs: number,
  ): number {
    this.#lastFailureMs = nowMs;
    const own = backoffMs(unwell, attempts, this.#random());
    if (result.afterMs !== null) {
      this.#limits++;
      this.#waitUntilMs = Math.max(this.#waitUntilMs, nowMs + limitMs(result.afterMs, this.#limits));
      // Others are accepted: one that lost its place to them again and again has no need to wait for long.
      const mostMs = this.#limits < attempts ? lostPlaceMs : limited.mostMs;
      return Math.max(result.afterMs, Math.min(mostMs, limitMs(result.afterMs, attempts)));
    }
    this.#failed.add(id);
    if (nowMs >= this.#unwellUntilMs) {
      const times = Math.min(this.#failed.size, ++this.#waits);
      this.#unwellUntilMs = nowMs + backoffMs(unwell, times, this.#random());
    }
    return own;
  }
}

/** @param times how often in a row a wait was asked for */
function limitMs(afterMs: number, times: number): number {
  return Math.max(afterMs, times <= 3 ? shortestWaitMs : backoffMs(limited, times - 3, 0));
}
