/**
 * The rate at which requests may be sent: what the exchange grants, found out by its 429 answers.
 *
 *   open ──429──► limited: paused, then one probe at a time ──any other answer──► open
 *
 *  - A refusal pauses everything for `Retry-After` (at most a minute), else for one second, from the second probe on for two.
 *    In a longer pause only its probes are sure (budget.ts): an answer ends it.
 *  - A limit that also refused a probe, or that asked for a longer pause, has nothing to do with the rate as long as the one
 *    before it ended more than a minute ago: the rate is what it was as soon as a probe is answered.
 *  - Any other limit is the exchange's own rate if the refused endpoint is answered soon after it: half of the refused rate
 *    is used, at least what was answered, and the grant is found by bisection between what held for ten seconds and what was
 *    refused. Steps are made only while the rate is used to three quarters. Within a tenth the search ends: the rate is
 *    settled. An endpoint that refuses everything changes no rate (route-limits.ts).
 *  - A settled rate is tried above after five minutes. Each refusal there doubles this time, up to an hour.
 *  - Without a ceiling of the user's the rate starts at 20 a second and grows in the same steps, up to 200.
 */

/** The first rate without a ceiling of the user's, requests a second. */
export const AUTO_START_PER_SECOND = 20;
export const AUTO_MAX_PER_SECOND = 200;
/** The exchange was never seen to refuse one request a second. */
const FLOOR_PER_SECOND = 0.5;
const PAUSE_MS = 1_000;
const NEXT_PAUSE_MS = 2_000;
export const MAX_PAUSE_MS = 60_000;
/** Pauses up to this long are those of a limiter that waits for its next token. */
const TOKEN_PAUSE_MS = 2_000;
const PASSING_AFTER_MS = 60_000;
const HOLDS_AFTER_MS = 10_000;
const DOUBT_MS = 10_000;
const USED = 0.75;
const PRECISION = 0.1;
const FIRST_PATIENCE_MS = 5 * 60_000;
const MAX_PATIENCE_MS = 60 * 60_000;

interface Limit {
  readonly sinceMs: number;
  /** It is not the pace that is refused. */
  blocked: boolean;
  refusals: number;
}

interface SentRequest {
  readonly nth: number;
  readonly sent: number;
}

interface Answer {
  /** Its endpoint had been refused before. */
  readonly again: boolean;
  /** Answers in the last ten seconds. */
  readonly answeredPerSecond: number;
}

export class RateControl {
  /** The user's, or the most that is tried without one. */
  readonly ceilingPerSecond: number;
  readonly floorPerSecond: number;
  /** Requests a second outside of pauses. */
  perSecond: number;
  /** Since when `perSecond` is what it is, monotonic ms. */
  changedMs: number;
  pausedUntilMs = Number.NEGATIVE_INFINITY;
  #limit: Limit | null = null;
  /** Requests up to this number had been sent at the newest refusal. */
  #sentBefore = 0;
  #endedMs = Number.NEGATIVE_INFINITY;
  /** Until then an answer of a refused endpoint shows that the limit was one of the rate, not one of that endpoint. */
  #doubtUntilMs = Number.NEGATIVE_INFINITY;
  /** The lowest rate that was refused; null: none was, as far as is remembered. */
  #refusedPerSecond: number | null = null;
  #heldPerSecond: number | null = null;
  #patienceMs = FIRST_PATIENCE_MS;
  #exploring = false;
  /** The rate that the search ended with, once the exchange's refusals made one necessary; null: it did not yet. */
  settledPerSecond: number | null = null;
  #lowered = false;

  /** @param ceilingPerSecond the user's; null: as much as the exchange grants */
  constructor(ceilingPerSecond: number | null, nowMs: number) {
    this.ceilingPerSecond = ceilingPerSecond ?? AUTO_MAX_PER_SECOND;
    this.perSecond = ceilingPerSecond ?? AUTO_START_PER_SECOND;
    this.floorPerSecond = Math.min(this.perSecond, FLOOR_PER_SECOND);
    this.changedMs = nowMs;
  }

  /** The exchange's refusals hold the rate below what it would be. */
  get lowered(): boolean {
    return this.#lowered && this.perSecond < this.ceilingPerSecond;
  }

  /** Since when requests are refused, monotonic ms; null: they are not. */
  get limitedSinceMs(): number | null {
    return this.#limit?.sinceMs ?? null;
  }

  /**
   * A request was answered with 429.
   * @param nth its number in the order of sending  @param sent how many were sent until now
   */
  refused({ nth, sent }: SentRequest, retryAfterMs: number | null, nowMs: number): void {
    // Requests that were under way together are one refusal, and the last of them say nothing new after the limit's end.
    const news = nth > this.#sentBefore;
    if (!news && this.#limit === null) return;
    const first = this.#limit === null;
    this.#limit ??= { sinceMs: nowMs, blocked: false, refusals: 0 };
    const limit = this.#limit;
    if (news) limit.refusals++;
    const ownMs = limit.refusals > 1 ? NEXT_PAUSE_MS : PAUSE_MS;
    const pauseMs = Math.min(retryAfterMs ?? ownMs, MAX_PAUSE_MS);
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
      this.#doubtUntilMs = passing ? Number.NEGATIVE_INFINITY : nowMs + DOUBT_MS;
    }
    if (again && this.#limit === null && nowMs <= this.#doubtUntilMs) {
      this.#doubtUntilMs = Number.NEGATIVE_INFINITY;
      this.#lower(answeredPerSecond, nowMs);
    }
    return ends;
  }

  /** Half of the refused rate, at least what held, unless that is what was refused, and at least what was answered. */
  #lower(answeredPerSecond: number, nowMs: number): void {
    const refused = this.perSecond;
    if (this.#heldPerSecond !== null && this.#heldPerSecond >= refused) this.#heldPerSecond = null;
    if (this.#exploring) this.#patienceMs = Math.min(MAX_PATIENCE_MS, this.#patienceMs * 2);
    this.#exploring = false;
    this.#refusedPerSecond = refused;
    this.#lowered = true;
    const least = Math.max(this.floorPerSecond, this.#heldPerSecond ?? 0, answeredPerSecond);
    this.#set(Math.min(refused, Math.max(refused / 2, least)), nowMs);
  }

  /**
   * Raises the rate where it held.
   * @param usedPerSecond what was sent in the last ten seconds
   */
  grow(usedPerSecond: number, nowMs: number): void {
    if (this.#limit || nowMs - this.changedMs < HOLDS_AFTER_MS || nowMs < this.pausedUntilMs) return;
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
    const refused = this.#refusedPerSecond;
    if (refused === null) {
      this.#set(Math.min(this.ceilingPerSecond, this.perSecond * 1.5), nowMs);
      return;
    }
    const next = (this.perSecond + refused) / 2;
    if (next - this.perSecond > PRECISION * this.perSecond)
      this.#set(Math.min(this.ceilingPerSecond, next), nowMs);
    else if (nowMs - this.changedMs >= this.#patienceMs) {
      this.#exploring = true;
      this.#refusedPerSecond = null;
      this.#set(Math.min(this.ceilingPerSecond, this.perSecond * 1.25), nowMs);
    } else this.#settle();
  }

  #settle(): void {
    if (this.#lowered) this.settledPerSecond = this.perSecond;
  }

  #set(perSecond: number, nowMs: number): void {
    this.perSecond = perSecond;
    this.changedMs = nowMs;
  }
}
