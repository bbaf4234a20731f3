/**
 * The rate at which requests may be sent: the rate that the exchange grants, determined from its 429 answers.
 *
 *   open ──429──► limited: paused, then one probe at a time ──any other answer──► open
 *
 *  - A refusal pauses all requests for `Retry-After` if that is a second to a minute, else for one second, from the
 *    second probe on for two. A longer pause may end early by an answered probe (budget.ts).
 *  - A limit that also refused a probe, or stated a longer pause, does not concern the rate if the previous limit
 *    ended more than a minute ago: the rate is restored as soon as a probe is answered.
 *  - Any other limit is the exchange's own rate if the refused endpoint is answered soon after it. A rate that held for
 *    ten seconds before a short limit is lowered by 5 %: a limiter also refuses requests of one kind that coincide. Any
 *    other is halved, but not below what was answered. An endpoint that refuses everything changes no rate
 *    (route-limits.ts).
 *  - Every ten seconds in which three quarters of the rate are used it grows: by 10 % up to the rate that was refused last, by
 *    1 % from a tenth below it on (the rate is settled), and by half above a quarter more than that and where none was
 *    refused. So a grant is kept to within a few percent at the cost of about one refusal a minute.
 *  - Without a user's ceiling the rate starts at 20 a second and grows in the same steps, up to 200.
 */

/** The first rate without a user's ceiling, requests a second. */
export const AUTO_START_PER_SECOND = 20;
export const AUTO_MAX_PER_SECOND = 200;
/** Minimum rate: the exchange was never seen to refuse one request a second. */
const FLOOR_PER_SECOND = 0.25;
const PAUSE_MS = 1_000;
const NEXT_PAUSE_MS = 2_000;
export const MAX_PAUSE_MS = 60_000;
/** Maximum pause of a limiter that waits for its next token. */
const TOKEN_PAUSE_MS = 2_000;
const PASSING_AFTER_MS = 60_000;
const HOLDS_AFTER_MS = 10_000;
const DOUBT_MS = 10_000;
const USED = 0.75;
const HALF = 0.5;
const SLIGHTLY_LESS = 0.95;
const FIRST_GROWTH = 1.5;
const GROWTH = 1.1;
const SLOW_GROWTH = 1.01;
/** Relative changes below this are steps of the same search. */
const SAME = 0.15;

interface Limit {
  readonly sinceMs: number;
  /** True if the limit does not concern the rate. */
  blocked: boolean;
  refusals: number;
}

interface SentRequest {
  readonly nth: number;
  readonly sent: number;
}

interface Answer {
  /** True if its endpoint had been refused before. */
  readonly again: boolean;
  /** Answers in the last ten seconds. */
  readonly answeredPerSecond: number;
}

export class RateControl {
  /** The user's ceiling, or the maximum without one. */
  readonly ceilingPerSecond: number;
  readonly floorPerSecond: number;
  /** Requests a second outside of pauses. */
  perSecond: number;
  /** Time since which `perSecond` is about the same, monotonic ms. */
  sinceMs: number;
  #aboutPerSecond: number;
  /** The time of the last step, monotonic ms. */
  #changedMs: number;
  pausedUntilMs = Number.NEGATIVE_INFINITY;
  #limit: Limit | null = null;
  /** The number of requests sent at the newest refusal. */
  #sentBefore = 0;
  #endedMs = Number.NEGATIVE_INFINITY;
  /** Time until which an answer of a refused endpoint shows that the limit concerned the rate, not the endpoint. */
  #doubtUntilMs = Number.NEGATIVE_INFINITY;
  /** True if the previous limit was one that a limiter ends with its next token. */
  #brief = false;
  /** The newest rate that held for ten seconds since the last cut; null: none. */
  #heldPerSecond: number | null = null;
  /** The last refused rate; null: none known. */
  #refusedPerSecond: number | null = null;
  /** The result of the search, once refusals of the exchange started one; null: none yet. */
  settledPerSecond: number | null = null;
  #lowered = false;

  /** @param ceilingPerSecond the user's; null: the rate that the exchange grants */
  constructor(ceilingPerSecond: number | null, nowMs: number) {
    this.ceilingPerSecond = ceilingPerSecond ?? AUTO_MAX_PER_SECOND;
    this.perSecond = ceilingPerSecond ?? AUTO_START_PER_SECOND;
    this.floorPerSecond = Math.min(this.perSecond, FLOOR_PER_SECOND);
    this.sinceMs = this.#changedMs = nowMs;
    this.#aboutPerSecond = this.perSecond;
  }

  /** True if refusals of the exchange hold the rate below its normal value. */
  get lowered(): boolean {
    return this.#lowered && this.perSecond < this.ceilingPerSecond;
  }

  /** Start of the refusals, monotonic ms; null: none. */
  get limitedSinceMs(): number | null {
    return this.#limit?.sinceMs ?? null;
  }

  /**
   * A request was answered with 429.
   * @param nth its number in the order of sending  @param sent how many were sent until now
   */
  refused({ nth, sent }: SentRequest, retryAfterMs: number | null, nowMs: number): void {
    // Requests under way together count as one refusal, and the last of them add nothing after the limit's end.
    const news = nth > this.#sentBefore;
    if (!news && this.#limit === null) return;
    const first = this.#limit === null;
    this.#limit ??= { sinceMs: nowMs, blocked: false, refusals: 0 };
    const limit = this.#limit;
    if (news) limit.refusals++;
    const ownMs = limit.refusals > 1 ? NEXT_PAUSE_MS : PAUSE_MS;
    // A missing or past time would resume at the full rate.
    const asked = retryAfterMs !== null && retryAfterMs >= PAUSE_MS;
    const pauseMs = asked ? Math.min(retryAfterMs, MAX_PAUSE_MS) : ownMs;
    if ((news && !first) || pauseMs > TOKEN_PAUSE_MS) limit.blocked = true;
    if (news) this.#sentBefore = sent;
    this.pausedUntilMs = Math.max(this.pausedUntilMs, nowMs + pauseMs);
  }

  /**
   * A request was answered with anything else.
   * @returns true if that ends the limit
   */
  answered({ nth }: Pick<SentRequest, "nth">, { again, answeredPerSecond }: Answer, nowMs: number): boolean {
    const limit = this.#limit;
    // Requests that were sent before the refusal may be answered after it.
    const ends = limit !== null && nth > this.#sentBefore;
    if (ends) {
      this.#limit = null;
      this.pausedUntilMs = Math.min(this.pausedUntilMs, nowMs);
      const passing = limit.blocked && limit.sinceMs - this.#endedMs > PASSING_AFTER_MS;
      this.#endedMs = nowMs;
      this.#brief = !limit.blocked;
      this.#doubtUntilMs = passing ? Number.NEGATIVE_INFINITY : nowMs + DOUBT_MS;
    }
    if (again && this.#limit === null && nowMs <= this.#doubtUntilMs) {
      this.#doubtUntilMs = Number.NEGATIVE_INFINITY;
      this.#lower(answeredPerSecond, nowMs);
    }
    return ends;
  }

  #lower(answeredPerSecond: number, nowMs: number): void {
    const refused = this.perSecond;
    if (nowMs - this.#changedMs >= HOLDS_AFTER_MS) this.#heldPerSecond = refused;
    const less =
      this.#brief && this.#heldPerSecond !== null
        ? Math.min(this.#heldPerSecond, refused * SLIGHTLY_LESS)
        : Math.max(refused * HALF, answeredPerSecond);
    this.#heldPerSecond = null;
    this.#refusedPerSecond = refused;
    this.#lowered = true;
    this.#set(Math.min(refused, Math.max(less, this.floorPerSecond)), nowMs);
  }

  /**
   * Raises the rate if it held.
   * @param usedPerSecond requests sent in the last ten seconds, a second
   */
  grow(usedPerSecond: number, nowMs: number): void {
    if (this.#limit || nowMs - this.#changedMs < HOLDS_AFTER_MS || nowMs < this.pausedUntilMs) return;
    if (this.perSecond >= this.ceilingPerSecond) {
      this.#refusedPerSecond = null;
      this.#settle();
      this.#lowered = false;
      return;
    }
    if (usedPerSecond < USED * this.perSecond) {
      this.#settle();
      return;
    }
    this.#heldPerSecond = this.perSecond;
    const growth = this.#growth();
    if (growth === SLOW_GROWTH) this.#settle();
    this.#set(Math.min(this.ceilingPerSecond, this.perSecond * growth), nowMs);
  }

  #growth(): number {
    const refused = this.#refusedPerSecond;
    if (refused === null) return FIRST_GROWTH;
    if (this.perSecond * GROWTH < refused) return GROWTH;
    if (this.perSecond < refused * GROWTH) return SLOW_GROWTH;
    this.#refusedPerSecond = null;
    return GROWTH;
  }

  #settle(): void {
    if (this.#lowered) this.settledPerSecond = this.perSecond;
  }

  #set(perSecond: number, nowMs: number): void {
    this.perSecond = perSecond;
    this.#changedMs = nowMs;
    if (Math.abs(perSecond - this.#aboutPerSecond) <= SAME * this.#aboutPerSecond) return;
    this.#aboutPerSecond = perSecond;
    this.sinceMs = nowMs;
  }
}
