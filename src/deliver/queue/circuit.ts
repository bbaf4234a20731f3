/**
 * Decides when a channel may be tried. Times are monotonic ms.
 *
 *   well ──an attempt fails──► unwell: the wait grows with the number of failed messages and of failed waits in a row; a
 *                              new critical message may try sooner, and its failure lengthens no wait
 *   well ──rate limited──────► waiting: nothing leaves before the time that the other side named
 *   well ──its own fault─────► broken: only rare attempts, until it is fixed
 *   any  ──a success─────────► well
 */
import type { SendResult } from "../../channels/channel.ts";
import type { Random } from "../../domain/clock.ts";
import { type Backoff, backoffMs } from "./backoff.ts";

/** A recovered channel gets its pending messages within a minute. */
const unwell: Backoff = { firstMs: 1_000, maxMs: 60_000 };
const broken: Backoff = { firstMs: 40_000, maxMs: 300_000 };
/** Maximum wait of an untried critical message after the last failure, unless the other side named a time. */
const freshCriticalMs = 1_000;
/** The other side's wait is kept, but with this minimum, ms. */
const shortestWaitMs = 250;
const lostPlaceMs = 5_000;
/** A wait that the other side repeats grows at most up to this: it may be over at any time. */
const limited: Backoff = { firstMs: 1_000, maxMs: 15_000 };

export class Circuit {
  readonly #random: Random;
  /** Messages that failed since the last success. */
  readonly #failed = new Set<string>();
  #lastFailureMs = Number.NEGATIVE_INFINITY;
  #unwellUntilMs = Number.NEGATIVE_INFINITY;
  /** Waits that ended in a failure since the last success: the wait grows with their number. */
  #waits = 0;
  #waitUntilMs = Number.NEGATIVE_INFINITY;
  #breaks = 0;
  /** Waits requested by the other side since the last success. */
  #limits = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  /** True while the channel needs a fix. */
  get broken(): boolean {
    return this.#breaks > 0;
  }

  /** True if more than one message failed since the last success: the channel is the cause, not the message. */
  get down(): boolean {
    return this.#failed.size > 1;
  }

  /** Returns the time from which an attempt may be made. @param fresh a critical message without any attempt */
  opensAtMs(fresh: boolean): number {
    const unwellMs = fresh
      ? Math.min(this.#unwellUntilMs, this.#lastFailureMs + freshCriticalMs)
      : this.#unwellUntilMs;
    return Math.max(this.#waitUntilMs, unwellMs);
  }

  /**
   * Notes a success. @returns true if the channel was failing before: messages that wait for a retry should not wait
   * longer
   */
  succeeded(): boolean {
    const recovered = this.#breaks > 0 || this.#failed.size > 0;
    this.#failed.clear();
    this.#breaks = this.#limits = this.#waits = 0;
    this.#unwellUntilMs = this.#waitUntilMs = this.#lastFailureMs = Number.NEGATIVE_INFINITY;
    return recovered;
  }

  /** Notes a fault of the channel itself. */
  broke(nowMs: number): void {
    this.#breaks++;
    this.#waitUntilMs = nowMs + backoffMs(broken, this.#breaks, this.#random());
  }

  /**
   * Notes a failed attempt.
   * @param attempts of this message, including this one
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
      // Others are accepted: a message that repeatedly lost its slot to them needs only a short wait.
      const maxMs = this.#limits < attempts ? lostPlaceMs : limited.maxMs;
      return Math.max(result.afterMs, Math.min(maxMs, limitMs(result.afterMs, attempts)));
    }
    this.#failed.add(id);
    if (nowMs >= this.#unwellUntilMs) {
      const times = Math.min(this.#failed.size, ++this.#waits);
      this.#unwellUntilMs = nowMs + backoffMs(unwell, times, this.#random());
    }
    return own;
  }
}

/** @param times number of requested waits in a row */
function limitMs(afterMs: number, times: number): number {
  return Math.max(afterMs, times <= 3 ? shortestWaitMs : backoffMs(limited, times - 3, 0));
}
