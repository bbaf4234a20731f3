/**
 * The ceiling on requests for the whole process: one token bucket, and a queue in lanes before it.
 *
 *   take(lane) ──► tokens? ──yes──────────────────────► granted
 *                    └─no─► lane 0 │ 1 │ sign-in │ 2 │ 3 │ 4 ──► granted, lowest lane first, in order within a lane
 *
 *  - The bucket fills at the current rate and holds a fifth of a second's worth (at least one), so that in no second more
 *    than 1.2 × the ceiling leaves.
 *  - A tenth of what flows in is kept for sign-in calls while any of that reserve is missing: wallets at risk cannot
 *    starve the sign-in that they need.
 *  - A 429 is told to everybody: nothing leaves before `Retry-After` (or 1 s) is over, and the rate is halved, at most
 *    once for all the requests that were under way; then it doubles within a minute, until the ceiling or the next 429.
 *    So a ceiling set too high costs about one 429 a minute. The rate never falls below one request a second.
 *  - Waiting ends with the caller's signal. A lane that is full refuses, so the queue is bounded.
 */
import type { Clock } from "../domain/clock.ts";
import type { FailureCause } from "../domain/observation.ts";

/** What a request is for; lower goes first. */
export const lanes = { atRisk: 0, state: 1, inbox: 2, rest: 3, catchUp: 4 } as const;
export type Lane = (typeof lanes)[keyof typeof lanes];

const BURST_SECONDS = 0.2;
const SIGN_IN_SHARE = 0.1;
const SIGN_IN_RESERVE = 2;
const DOUBLING_MS = 60_000;
const FLOOR_PER_SECOND = 1;
const DEFAULT_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;
const USAGE_SECONDS = 10;

export interface BudgetOptions {
  readonly clock: Clock;
  /** The ceiling. */
  readonly requestsPerSecond: number;
  /** Most that wait in one lane. Default 20 000. */
  readonly mostWaiting?: number;
}

export interface Take {
  readonly lane: Lane;
  /** Cost, relative to a plain read. Default 1. */
  readonly weight?: number;
  /** A call that signs in or refreshes: may use the reserve. */
  readonly signIn?: boolean;
  readonly signal?: AbortSignal;
}

/** The right to send one request now. */
export interface Grant {
  /** It was answered with 429: slows everybody. @param retryAfterMs what the answer asked for */
  throttled(retryAfterMs: number | null): void;
  /** It was answered with anything but 429. */
  answered(): void;
}

/** A period in which the exchange refuses requests with 429: from the first refusal to the first other answer after it. */
export interface RateLimit {
  /** Time since the first refusal, ms. */
  readonly forMs: number;
  /** Time until the next request is sent, ms. */
  readonly retryInMs: number;
}

/** Too many requests wait in this lane already. */
export class BudgetFull extends Error {
  override readonly name = "BudgetFull";
  constructor(lane: Lane, waiting: number) {
    super(`${waiting} requests already wait for the request ceiling in lane ${lane}`);
  }
}

interface Waiter {
  readonly weight: number;
  resolve: (grant: Grant) => void;
  gone: boolean;
}

/** First in, first out; those who left are skipped. */
class Queue {
  #waiters: Waiter[] = [];
  #head = 0;
  size = 0;

  push(waiter: Waiter): void {
    this.#waiters.push(waiter);
    this.size++;
  }
  leave(waiter: Waiter): void {
    waiter.gone = true;
    this.size--;
  }
  first(): Waiter | undefined {
    while (this.#waiters[this.#head]?.gone) this.#head++;
    if (this.size === 0) {
      this.#waiters = [];
      this.#head = 0;
    } else if (this.#head > 1_024 && this.#head * 2 > this.#waiters.length) {
      this.#waiters = this.#waiters.slice(this.#head);
      this.#head = 0;
    }
    return this.#waiters[this.#head];
  }
}

export class RequestBudget {
  readonly ceilingPerSecond: number;
  readonly floorPerSecond: number;
  readonly #clock: Clock;
  readonly #mostWaiting: number;
  readonly #lanes = [new Queue(), new Queue(), new Queue(), new Queue(), new Queue()] as const;
  readonly #signIns = new Queue();
  /** In the order in which common tokens are handed out. */
  readonly #order = [
    this.#lanes[0],
    this.#lanes[1],
    this.#signIns,
    this.#lanes[2],
    this.#lanes[3],
    this.#lanes[4],
  ];
  #rate: number;
  #tokens: number;
  #reserve = SIGN_IN_RESERVE;
  #filledAtMs: number;
  #pausedUntilMs = 0;
  #cutAtMs = Number.NEGATIVE_INFINITY;
  /** Monotonic time of the first refusal of the limit that lasts; null: none does. */
  #limitedSinceMs: number | null = null;
  /** Monotonic time of the newest refusal. */
  #refusedAtMs = Number.NEGATIVE_INFINITY;
  #timer: (() => void) | null = null;
  #timerDueMs = Number.POSITIVE_INFINITY;
  readonly #granted = new Float64Array(USAGE_SECONDS);
  #grantedSecond = 0;
  #throttled = 0;

  constructor(options: BudgetOptions) {
    this.#clock = options.clock;
    this.ceilingPerSecond = options.requestsPerSecond;
    this.floorPerSecond = Math.min(this.ceilingPerSecond, FLOOR_PER_SECOND);
    this.#mostWaiting = options.mostWaiting ?? 20_000;
    this.#rate = this.ceilingPerSecond;
    this.#tokens = this.#capacity();
    this.#filledAtMs = this.#clock.elapsedMs();
  }

  /** Requests a second that may leave now: the ceiling, or less after a 429. */
  get ratePerSecond(): number {
    this.#fill();
    return this.#rate;
  }

  /** Share of what may leave that left in the last 10 s, 0–1; 1 during the pause after a 429. */
  get usage(): number {
    if (this.pausedForMs > 0) return 1;
    this.#turnUsage();
    const sum = this.#granted.reduce((total, count) => total + count, 0);
    return Math.min(1, sum / (USAGE_SECONDS * this.ratePerSecond));
  }

  /** How many requests wait. */
  get waiting(): number {
    return this.#order.reduce((sum, queue) => sum + queue.size, 0);
  }

  /** How many 429 were told since the start. */
  get throttledCount(): number {
    return this.#throttled;
  }

  /** The limit that lasts now, or null. */
  get limit(): RateLimit | null {
    if (this.#limitedSinceMs === null) return null;
    return { forMs: this.#clock.elapsedMs() - this.#limitedSinceMs, retryInMs: this.pausedForMs };
  }

  /** ms until anything may leave again; 0 when nothing is paused. */
  get pausedForMs(): number {
    return Math.max(0, this.#pausedUntilMs - this.#clock.elapsedMs());
  }

  /** The turn of one request, when nothing stands before it; null when it would have to wait. */
  takeNow({ lane, weight = 1, signIn = false }: Take): Grant | null {
    this.#fill();
    if (this.pausedForMs > 0) return null;
    if (signIn && this.#reserve >= 1 && this.#signIns.size === 0) {
      this.#reserve -= weight;
      return this.#granting(weight);
    }
    const own = signIn ? this.#signIns : this.#lanes[lane];
    for (const queue of this.#order) {
      if (queue.size > 0) return null;
      if (queue === own) break;
    }
    if (this.#tokens < Math.min(weight, this.#capacity())) return null;
    this.#tokens -= weight;
    return this.#granting(weight);
  }

  /**
   * Waits for the turn of one request.
   * @throws {BudgetFull}; the signal's reason when it aborts first
   */
  take({ lane, weight = 1, signIn = false, signal }: Take): Promise<Grant> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    const queue = signIn ? this.#signIns : this.#lanes[lane];
    if (queue.size >= this.#mostWaiting) return Promise.reject(new BudgetFull(lane, queue.size));
    return new Promise((resolve, reject) => {
      const waiter: Waiter = { weight, gone: false, resolve };
      queue.push(waiter);
      this.#drain();
      if (waiter.gone || !signal) return;
      const onAbort = () => {
        if (waiter.gone) return;
        queue.leave(waiter);
        reject(signal.reason);
      };
      signal.addEventListener("abort", onAbort, { once: true });
      const granted = waiter.resolve;
      waiter.resolve = (grant) => {
        signal.removeEventListener("abort", onAbort);
        granted(grant);
      };
    });
  }

  #drain(): void {
    this.#fill();
    if (this.pausedForMs === 0) {
      for (let next = this.#signIns.first(); next && this.#reserve >= 1; next = this.#signIns.first()) {
        this.#reserve -= next.weight;
        this.#grant(this.#signIns, next);
      }
      for (const queue of this.#order) {
        for (let next = queue.first(); next; next = queue.first()) {
          if (this.#tokens < Math.min(next.weight, this.#capacity())) {
            this.#wakeLater();
            return;
          }
          this.#tokens -= next.weight;
          this.#grant(queue, next);
        }
      }
    }
    if (this.waiting > 0) this.#wakeLater();
  }

  #grant(queue: Queue, waiter: Waiter): void {
    queue.leave(waiter);
    waiter.resolve(this.#granting(waiter.weight));
  }

  #granting(weight: number): Grant {
    this.#turnUsage();
    this.#granted[this.#grantedSecond % USAGE_SECONDS]! += weight;
    const grantedAtMs = this.#clock.elapsedMs();
    return {
      throttled: (retryAfterMs) => this.#slowDown(grantedAtMs, retryAfterMs),
      answered: () => {
        // Requests sent before a refusal may be answered after it, which does not end the limit.
        if (this.#limitedSinceMs !== null && grantedAtMs > this.#refusedAtMs) this.#limitedSinceMs = null;
      },
    };
  }

  #slowDown(grantedAtMs: number, retryAfterMs: number | null): void {
    this.#fill();
    const nowMs = this.#clock.elapsedMs();
    const pauseMs = Math.min(retryAfterMs ?? DEFAULT_PAUSE_MS, LONGEST_PAUSE_MS);
    this.#throttled++;
    this.#limitedSinceMs ??= nowMs;
    this.#refusedAtMs = nowMs;
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, nowMs + pauseMs);
    this.#tokens = Math.min(this.#tokens, 1);
    // Requests that left before the last cut say nothing about the rate since.
    if (grantedAtMs > this.#cutAtMs) {
      this.#rate = Math.max(this.floorPerSecond, this.#rate / 2);
      this.#cutAtMs = nowMs;
    }
    if (this.waiting > 0) this.#wakeLater();
  }

  /** Lets in what has flown since the last look, and lets the rate recover. Nothing flows during a pause. */
  #fill(): void {
    const nowMs = this.#clock.elapsedMs();
    const fromMs = Math.max(this.#filledAtMs, Math.min(this.#pausedUntilMs, nowMs));
    this.#filledAtMs = nowMs;
    if (nowMs <= fromMs) return;
    const before = this.#rate;
    this.#rate = Math.min(this.ceilingPerSecond, before * 2 ** ((nowMs - fromMs) / DOUBLING_MS));
    let flow = (((before + this.#rate) / 2) * (nowMs - fromMs)) / 1_000;
    const kept = Math.min(flow * SIGN_IN_SHARE, Math.max(0, SIGN_IN_RESERVE - this.#reserve));
    this.#reserve += kept;
    flow -= kept;
    this.#tokens = Math.min(this.#capacity(), this.#tokens + flow);
  }

  #capacity(): number {
    return Math.max(1, this.#rate * BURST_SECONDS);
  }

  /** Wakes when the first waiter's tokens will be there. */
  #wakeLater(): void {
    const next = this.#order.find((queue) => queue.size > 0)?.first();
    if (!next) return;
    const missing = Math.max(0, Math.min(next.weight, this.#capacity()) - this.#tokens);
    const share = this.#reserve < SIGN_IN_RESERVE ? 1 - SIGN_IN_SHARE : 1;
    const waitMs = this.pausedForMs + Math.max(1, Math.ceil((missing * 1_000) / (this.#rate * share)));
    const dueMs = this.#clock.elapsedMs() + waitMs;
    if (this.#timer && this.#timerDueMs <= dueMs) return;
    this.#timer?.();
    this.#timerDueMs = dueMs;
    this.#timer = this.#clock.after(waitMs, () => {
      this.#timer = null;
      this.#timerDueMs = Number.POSITIVE_INFINITY;
      this.#drain();
    });
  }

  #turnUsage(): void {
    const second = Math.floor(this.#clock.elapsedMs() / 1_000);
    for (let skipped = 0; this.#grantedSecond < second && skipped < USAGE_SECONDS; skipped++) {
      this.#grantedSecond++;
      this.#granted[this.#grantedSecond % USAGE_SECONDS] = 0;
    }
    if (this.#grantedSecond < second) {
      this.#granted.fill(0);
      this.#grantedSecond = second;
    }
  }
}

/** The cause of failures during a rate limit, in wall time. */
export function rateLimitCause(limit: RateLimit | null | undefined, nowMs: number): FailureCause | null {
  if (!limit) return null;
  const sinceMs = Math.round(nowMs - limit.forMs);
  return { kind: "rateLimited", sinceMs, untilMs: Math.round(nowMs + limit.retryInMs) };
}
