/**
 * The request budget of the process: decides which request is sent next, and when.
 *
 *   take(lane) ──► waits in its lane ──► rate (token bucket), requests in flight ──► Grant ──► sent ──► grant ends
 *
 *  - Lanes share the budget by weight (fair-queue.ts): each lane with requests gets its share of any rate, and the
 *    unused shares of others. Prices, which every judgement needs, and positions at risk have the largest.
 *  - The bucket fills at the current rate and holds a fifth of a second's worth (at least one), so that in no second
 *    more than 1.2 × the rate is sent; one request while refusals limit the rate. A 429 answer changes the rate for all
 *    requests (rate-control.ts).
 *  - At most `maxInFlight` requests are under way, so that none waits in the connection pool while its time limit runs.
 *  - After a 429 one request at a time is sent until one is answered. In a long pause that is one every three seconds,
 *    for prices or positions: the limit may be the endpoint's own, or end early.
 *  - Waiting ends with the caller's signal. A full lane refuses, so the queue is bounded.
 */
import type { Clock } from "../../domain/clock.ts";
import type { FailureCause } from "../../domain/observation.ts";
import { type FairEntry, FairQueue } from "./fair-queue.ts";
import { type Lane, lanes, laneWeights } from "./lanes.ts";
import { RateControl } from "./rate-control.ts";
import { RecentCount } from "./recent-count.ts";
import { RouteLimits } from "./route-limits.ts";

const SIGN_IN_WEIGHT = 10;

const BURST_SECONDS = 0.2;

const MAX_IN_FLIGHT = 64;

/** Time after which an unanswered probe no longer delays the next one. */
const PROBE_MS = 2_000;

/** Interval of probes in a longer pause, and the delay of the first. */
const PAUSE_PROBE_MS = 3_000;

const pauseProbeLanes = [lanes.prices, lanes.atRisk, lanes.state] as const;

export interface BudgetOptions {
  readonly clock: Clock;
  /** The user's ceiling; null: the rate that the exchange grants. */
  readonly requestsPerSecond: number | null;
  /** Maximum requests waiting in one lane. Default 20 000. */
  readonly maxWaiting?: number;
  /** Maximum requests under way. Default 64. */
  readonly maxInFlight?: number;
}

export interface Take {
  readonly lane: Lane;
  /** Cost, relative to a plain read. Default 1. */
  readonly weight?: number;
  /** True for a call that signs in or refreshes: it has a separate lane. */
  readonly signIn?: boolean;
  /** Name of the endpoint: one that refuses all of its requests does not slow the others. */
  readonly route?: string;
  /** The time by which it should be done, monotonic ms, which orders its lane. Default: now. */
  readonly dueMs?: number | undefined;
  readonly signal?: AbortSignal;
}

/** The right to send one request now. It ends with one of these calls; further ones have no effect. */
export interface Grant {
  /** The answer was 429: slows all requests. @param retryAfterMs the answer's wait */
  throttled(retryAfterMs: number | null): void;
  /** The answer was not 429. */
  answered(): void;
  /** It was not answered, or was cancelled. */
  failed(): void;
}

/** A period in which the exchange refuses requests with 429: from the first refusal to the first other answer after it. */
export interface RateLimit {
  /** Time since the first refusal, ms. */
  readonly forMs: number;
  /** Time until the next request is sent, ms. */
  readonly retryInMs: number;
}

/** The maximum of waiting requests in this lane is reached. */
export class BudgetFull extends Error {
  override readonly name = "BudgetFull";
  constructor(lane: Lane, waiting: number) {
    super(`${waiting} requests already wait for the request ceiling in lane ${lane}`);
  }
}

type Queued = Lane | "signIn";

interface Waiter extends FairEntry {
  readonly route: string;
  resolve: (grant: Grant) => void;
}

export class RequestBudget {
  readonly #clock: Clock;
  readonly #maxWaiting: number;
  readonly #maxInFlight: number;
  readonly #rate: RateControl;
  /** The user's ceiling; null: none. */
  readonly #requestsPerSecond: number | null;
  readonly #queue = new FairQueue<Queued, Waiter>([
    [lanes.prices, laneWeights[lanes.prices]],
    [lanes.atRisk, laneWeights[lanes.atRisk]],
    [lanes.state, laneWeights[lanes.state]],
    ["signIn", SIGN_IN_WEIGHT],
    [lanes.inbox, laneWeights[lanes.inbox]],
    [lanes.asked, laneWeights[lanes.asked]],
    [lanes.rest, laneWeights[lanes.rest]],
    [lanes.catchUp, laneWeights[lanes.catchUp]],
  ]);
  readonly #routes = new RouteLimits();
  #tokens: number;
  #filledAtMs: number;
  #inFlight = 0;
  /** Requests since the start. */
  #sent = 0;
  /** Number of the newest probe. */
  #probe = 0;
  /** The time of the probe that is under way during a limit, monotonic ms. */
  #probeSentMs = Number.NEGATIVE_INFINITY;
  /** The time from which the next probe in a pause may be sent, monotonic ms. */
  #pauseProbeMs = Number.NEGATIVE_INFINITY;
  #timer: (() => void) | null = null;
  #timerDueMs = Number.POSITIVE_INFINITY;
  readonly #granted: RecentCount;
  readonly #answers: RecentCount;
  #throttled = 0;
  readonly #onSettled: ((perSecond: number) => void)[] = [];
  #settledPerSecond: number | null = null;
  readonly #onLimit: ((limited: boolean, lastedMs: number) => void)[] = [];

  constructor(options: BudgetOptions) {
    this.#clock = options.clock;
    this.#requestsPerSecond = options.requestsPerSecond;
    this.#maxWaiting = options.maxWaiting ?? 20_000;
    this.#maxInFlight = options.maxInFlight ?? MAX_IN_FLIGHT;
    this.#granted = new RecentCount(this.#clock);
    this.#answers = new RecentCount(this.#clock);
    this.#filledAtMs = this.#clock.elapsedMs();
    this.#rate = new RateControl(options.requestsPerSecond, this.#filledAtMs);
    this.#tokens = this.#capacity();
  }

  /** The user's ceiling, requests a second; null: none. */
  get ceilingPerSecond(): number | null {
    return this.#requestsPerSecond;
  }

  /** The current maximum of requests a second: the ceiling, or less after a 429. */
  get ratePerSecond(): number {
    this.#fill();
    return this.#rate.perSecond;
  }

  /** Share of the rate that was used in the last 10 s, 0–1; 1 during the pause after a 429. */
  get usage(): number {
    if (this.pausedForMs > 0) return 1;
    return Math.min(1, this.#granted.perSecond / this.ratePerSecond);
  }

  /** The number of waiting requests. */
  get waiting(): number {
    return this.#queue.size;
  }

  /** Count of 429 answers since the start. */
  get throttledCount(): number {
    return this.#throttled;
  }

  /** The current limit, or null. */
  get limit(): RateLimit | null {
    const sinceMs = this.#rate.limitedSinceMs;
    if (sinceMs === null) return null;
    const nowMs = this.#clock.elapsedMs();
    const probeInMs = Math.max(0, this.#pauseProbeMs - nowMs);
    return { forMs: nowMs - sinceMs, retryInMs: Math.min(this.pausedForMs, probeInMs) };
  }

  /** The time until anything may be sent again, ms; 0 if nothing is paused. */
  get pausedForMs(): number {
    return Math.max(0, this.#rate.pausedUntilMs - this.#clock.elapsedMs());
  }

  /** The rate lowered by the exchange's refusals, and its duration, ms; null: they do not lower it. */
  get granted(): { readonly perSecond: number; readonly forMs: number } | null {
    if (!this.#rate.lowered) return null;
    return { perSecond: this.#rate.perSecond, forMs: this.#clock.elapsedMs() - this.#rate.sinceMs };
  }

  /** Calls `run` when the search for the granted rate ends with a new rate. */
  onSettled(run: (perSecond: number) => void): void {
    this.#onSettled.push(run);
  }

  /** Calls `run` at the start of each limit (true), and at its end (false) with its length in ms. */
  onLimit(run: (limited: boolean, lastedMs: number) => void): void {
    this.#onLimit.push(run);
  }

  /** Returns the grant of one request, if nothing waits; null if it would have to wait. */
  takeNow({ weight = 1, route = "" }: Take): Grant | null {
    this.#fill();
    if (this.#queue.size > 0 || !this.#open() || this.#tokens < Math.min(weight, this.#capacity()))
      return null;
    return this.#grant(weight, route);
  }

  /**
   * Waits for the turn of one request.
   * @throws {BudgetFull}; the signal's reason when it aborts first
   */
  take({ lane, weight = 1, signIn = false, route = "", dueMs, signal }: Take): Promise<Grant> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    const name = signIn ? "signIn" : lane;
    const size = this.#queue.sizeOf(name);
    if (size >= this.#maxWaiting) return Promise.reject(new BudgetFull(lane, size));
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        size: weight,
        dueMs: dueMs ?? this.#clock.elapsedMs(),
        gone: false,
        route,
        resolve,
      };
      this.#queue.push(name, waiter);
      this.#drain();
      if (waiter.gone || !signal) return;
      const onAbort = () => {
        if (waiter.gone) return;
        this.#queue.leave(name, waiter);
        reject(signal.reason);
      };
      signal.addEventListener("abort", onAbort, { once: true });
      waiter.resolve = (grant) => {
        signal.removeEventListener("abort", onAbort);
        resolve(grant);
      };
    });
  }

  #drain(): void {
    this.#fill();
    for (let next = this.#queue.first(); next && this.#open(); next = this.#queue.first()) {
      if (this.#tokens < Math.min(next.size, this.#capacity())) break;
      this.#queue.shift();
      next.resolve(this.#grant(next.size, next.route));
    }
    if (this.pausedForMs > 0) this.#probeInPause();
    this.#wakeLater();
  }

  #probeInPause(): void {
    const nowMs = this.#clock.elapsedMs();
    if (this.#inFlight >= this.#maxInFlight || nowMs < this.#nextPauseProbeMs()) return;
    const lane = this.#pauseProbeLane();
    if (lane === undefined) return;
    const { size, route, resolve } = this.#queue.shiftOf(lane)!;
    this.#pauseProbeMs = nowMs + PAUSE_PROBE_MS;
    resolve(this.#grant(size, route));
  }

  #pauseProbeLane(): Lane | undefined {
    return pauseProbeLanes.find((lane) => this.#queue.sizeOf(lane) > 0);
  }

  /** Returns a monotonic time, ms. */
  #nextPauseProbeMs(): number {
    return Math.max(this.#pauseProbeMs, this.#probeOverMs());
  }

  /** Returns true if a request may be sent now, tokens apart. */
  #open(): boolean {
    if (this.#inFlight >= this.#maxInFlight || this.pausedForMs > 0) return false;
    return this.#rate.limitedSinceMs === null || this.#probeOverMs() <= this.#clock.elapsedMs();
  }

  /** Returns the time at which the next probe may be sent, monotonic ms. */
  #probeOverMs(): number {
    return this.#probeSentMs + PROBE_MS;
  }

  #grant(weight: number, route: string): Grant {
    this.#tokens -= weight;
    this.#granted.add(weight);
    const nth = ++this.#sent;
    if (this.#rate.limitedSinceMs !== null) {
      this.#probe = nth;
      this.#probeSentMs = this.#clock.elapsedMs();
    }
    this.#inFlight++;
    let over = false;
    const end = (how: (nowMs: number) => void) => {
      if (over) return;
      over = true;
      this.#inFlight--;
      if (nth === this.#probe) this.#probeSentMs = Number.NEGATIVE_INFINITY;
      this.#fill();
      how(this.#clock.elapsedMs());
      this.#drain();
    };
    return {
      throttled: (retryAfterMs) => end((nowMs) => this.#refused(nth, route, retryAfterMs, nowMs)),
      answered: () => end((nowMs) => this.#answered(nth, route, nowMs)),
      failed: () => end(() => {}),
    };
  }

  #refused(nth: number, route: string, retryAfterMs: number | null, nowMs: number): void {
    this.#throttled++;
    // The limit belongs to the endpoint: its schedule backs off separately.
    const pauseMs = retryAfterMs !== null && retryAfterMs > PAUSE_PROBE_MS ? retryAfterMs : null;
    const nowSent = { nth, sent: this.#sent };
    if (this.#routes.refused(route, nowSent, pauseMs, nowMs)) return;
    this.#pauseProbeMs = nowMs + PAUSE_PROBE_MS;
    this.#tokens = Math.min(this.#tokens, 1);
    const limited = this.#rate.limitedSinceMs !== null;
    this.#rate.refused(nowSent, retryAfterMs, nowMs);
    if (!limited && this.#rate.limitedSinceMs !== null) for (const run of this.#onLimit) run(true, 0);
  }

  #answered(nth: number, route: string, nowMs: number): void {
    const again = this.#routes.answered(route, nth, nowMs);
    this.#answers.add(1);
    const sinceMs = this.#rate.limitedSinceMs;
    if (!this.#rate.answered({ nth }, { again, answeredPerSecond: this.#answers.perSecond }, nowMs)) return;
    for (const run of this.#onLimit) run(false, nowMs - sinceMs!);
  }

  /** Adds the tokens of the time since the last call, and raises the rate. A pause adds none. */
  #fill(): void {
    const nowMs = this.#clock.elapsedMs();
    const fromMs = Math.max(this.#filledAtMs, Math.min(this.#rate.pausedUntilMs, nowMs));
    this.#filledAtMs = nowMs;
    if (nowMs <= fromMs) return;
    this.#tokens = Math.min(
      this.#capacity(),
      this.#tokens + (this.#rate.perSecond * (nowMs - fromMs)) / 1_000,
    );
    this.#rate.grow(this.#granted.perSecond, nowMs);
    const settled = this.#rate.settledPerSecond;
    if (settled === null || !differs(settled, this.#settledPerSecond)) return;
    this.#settledPerSecond = settled;
    for (const run of this.#onSettled) run(settled);
  }

  #capacity(): number {
    // A limiter that refuses may allow no bursts.
    return this.#rate.lowered ? 1 : Math.max(1, this.#rate.perSecond * BURST_SECONDS);
  }

  /** Sets a timer for the first waiting request; a request that waits for another one's end needs none. */
  #wakeLater(): void {
    const next = this.#queue.first();
    if (!next || this.#inFlight >= this.#maxInFlight) return;
    const nowMs = this.#clock.elapsedMs();
    const missing = Math.max(0, Math.min(next.size, this.#capacity()) - this.#tokens);
    const probeMs = this.#rate.limitedSinceMs === null ? 0 : Math.max(0, this.#probeOverMs() - nowMs);
    const tokensMs = this.pausedForMs + Math.ceil((missing * 1_000) / this.#rate.perSecond);
    let waitMs = Math.max(1, tokensMs, probeMs);
    if (this.pausedForMs > 0 && this.#pauseProbeLane() !== undefined)
      waitMs = Math.min(waitMs, Math.max(1, this.#nextPauseProbeMs() - nowMs));
    const dueMs = nowMs + waitMs;
    if (this.#timer && this.#timerDueMs <= dueMs) return;
    this.#timer?.();
    this.#timerDueMs = dueMs;
    this.#timer = this.#clock.after(waitMs, () => {
      this.#timer = null;
      this.#timerDueMs = Number.POSITIVE_INFINITY;
      this.#drain();
    });
  }
}

/** Returns true if a rate is new, and not only another step of the same search. */
function differs(rate: number, before: number | null): boolean {
  return before === null || Math.abs(rate - before) > 0.15 * before;
}

/** Returns the cause of failures during a rate limit, in wall time. */
export function rateLimitCause(limit: RateLimit | null | undefined, nowMs: number): FailureCause | null {
  if (!limit) return null;
  const sinceMs = Math.round(nowMs - limit.forMs);
  return { kind: "rateLimited", sinceMs, untilMs: Math.round(nowMs + limit.retryInMs) };
}
