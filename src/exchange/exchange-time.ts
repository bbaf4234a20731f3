/**
 * The exchange's time, measured from the `Date` header of its answers.
 *
 * The header has whole seconds. For an answer received at monotonic time R to a request sent at S, the exchange's time
 * was between `date` and `date + 1 s` at some moment between S and R. Each answer gives a lower and an upper bound of
 * (exchange's clock minus our monotonic clock); the bounds of recent answers intersect to a few dozen milliseconds.
 * Because the monotonic clock is the base, a jump of our wall clock shows in `offsetMs` at once.
 *
 * A vote excludes servers with a wrong clock. Answers that differ from the estimate by more than two seconds form a
 * second estimate, the rival. Each answer that agrees with the rival is a vote for it, each other answer a vote against
 * it. The rival replaces the estimate after it has led by 16 votes for 30 s. Three votes are enough if our wall clock
 * agrees with the rival: after a sleep of the machine the monotonic clock is late and the wall clock is not. An estimate
 * of fewer than three answers that our wall clock contradicts is provisional: requests and sessions use it, and it
 * corrects no clock by more than a minute.
 *
 * A time that differs by more than a day from our wall clock is rejected: stored data would keep the wrong time.
 */
import type { Clock } from "../domain/clock.ts";

const maxSamples = 32;
const minAgreeing = 3;
export const BETWEEN_SAMPLES_MS = 200;
/** Maximum difference between answers of one clock, ms. */
const maxDifferenceMs = 2_000;
/** Lead in votes that a rival needs: with a quarter of the servers wrong, one rival in 20 million reaches it. */
const minLeadVotes = 16;
const minLeadMs = 30_000;
/** Maximum offset that corrects the clock before it is agreed on: stream prices have the exchange's time. */
const maxProvisionalMs = 60_000;
/** Maximum accepted offset of the exchange's clock, ms. */
export const MAX_OFFSET_MS = 86_400_000;

/** Bounds of the exchange's clock minus our monotonic clock, ms. */
interface Bounds {
  readonly low: number;
  readonly high: number;
}

/** Recent answers of one clock. */
class Estimate {
  #samples: Bounds[];
  /** The bounds on which the longest run of the newest answers agrees. */
  bounds: Bounds;
  /** True once the time of an answer agreed with our wall clock. */
  #isVouched = false;

  constructor(sample: Bounds, isVouched: boolean) {
    this.#samples = [sample];
    this.bounds = sample;
    this.#isVouched = isVouched;
  }

  /** True if it is based on more than one answer. */
  get agreed(): boolean {
    return this.#isVouched || this.#samples.length >= minAgreeing;
  }

  fits({ low, high }: Bounds): boolean {
    return low - this.bounds.high <= maxDifferenceMs && this.bounds.low - high <= maxDifferenceMs;
  }

  add(sample: Bounds, isVouched: boolean): void {
    this.#isVouched ||= isVouched;
    this.#samples.push(sample);
    if (this.#samples.length > maxSamples) this.#samples.shift();
    let low = Number.NEGATIVE_INFINITY;
    let high = Number.POSITIVE_INFINITY;
    let agreeing = 0;
    for (let i = this.#samples.length - 1; i >= 0; i--) {
      const sample = this.#samples[i]!;
      if (Math.max(low, sample.low) > Math.min(high, sample.high)) break;
      low = Math.max(low, sample.low);
      high = Math.min(high, sample.high);
      agreeing++;
    }
    if (agreeing < this.#samples.length && agreeing < minAgreeing) return;
    this.#samples = this.#samples.slice(-agreeing);
    this.bounds = { low, high };
  }
}

interface Rival {
  readonly estimate: Estimate;
  /** Monotonic, ms. */
  readonly sinceMs: number;
  votes: number;
}

export class ExchangeTime {
  readonly #clock: Clock;
  #estimate: Estimate | null = null;
  #rival: Rival | null = null;
  /** `offsetMs` at the last answer that agreed with the estimate. */
  #usualOffsetMs = 0;
  #lastSampleMs = Number.NEGATIVE_INFINITY;
  #header = "";
  #headerMs = Number.NaN;
  readonly #maxOffsetMs: number;
  readonly #onRefused: (offsetMs: number) => void;
  readonly #agreement = Promise.withResolvers<void>();
  /** Answers in a row with a refused time. */
  #refusedInRow = 0;
  /**
   * Our wall clock minus the exchange's, ms, by the newest answer, if that offset is too large to be accepted; null: it
   * is not.
   */
  refusedOffsetMs: number | null = null;

  /**
   * @param clock the machine's own, not one corrected by this measurement
   * @param maxOffsetMs the maximum accepted offset
   * @param onRefused called with the offset when the first answer is refused, and again after others were accepted
   */
  constructor(
    clock: Clock,
    maxOffsetMs = Number.POSITIVE_INFINITY,
    onRefused: (offsetMs: number) => void = () => {},
  ) {
    this.#clock = clock;
    this.#maxOffsetMs = maxOffsetMs;
    this.#onRefused = onRefused;
  }

  /** True if any answer was seen yet. */
  get known(): boolean {
    return this.#estimate !== null;
  }

  /** True once three answers agree, or one answer and our wall clock. */
  get agreed(): boolean {
    return this.#estimate?.agreed ?? false;
  }

  /** Resolves when it is `agreed`. */
  get agreement(): Promise<void> {
    return this.#agreement.promise;
  }

  /** Our wall clock minus the exchange's, ms; 0 while no measurement contradicts that. */
  get offsetMs(): number {
    return this.#estimate === null ? 0 : this.#offsetOf(this.#estimate.bounds);
  }

  /**
   * `offsetMs` once it is agreed on. Before, 0 if it is large: a single answer may come from a server with a wrong
   * clock.
   */
  get agreedOffsetMs(): number {
    const { offsetMs } = this;
    return this.agreed || Math.abs(offsetMs) <= maxProvisionalMs ? offsetMs : 0;
  }

  /** Returns the wall time of the exchange, ms; our own while unmeasured. */
  nowMs(): number {
    return this.#clock.nowMs() - this.offsetMs;
  }

  /** @param sentMs, receivedMs monotonic   @param date the header's text */
  sample(sentMs: number, receivedMs: number, date: string): void {
    if (receivedMs - this.#lastSampleMs < BETWEEN_SAMPLES_MS) return;
    if (date !== this.#header) {
      this.#header = date;
      this.#headerMs = Date.parse(date);
    }
    if (Number.isNaN(this.#headerMs)) return;
    this.#lastSampleMs = receivedMs;
    const offsetMs = this.#clock.nowMs() - this.#headerMs;
    if (Math.abs(offsetMs) > this.#maxOffsetMs) {
      // One server of several does not show the exchange's time.
      if (this.agreed && ++this.#refusedInRow < minLeadVotes) {
        this.#voteAgainst();
        return;
      }
      const isFirst = this.refusedOffsetMs === null;
      this.refusedOffsetMs = offsetMs;
      if (isFirst) this.#onRefused(offsetMs);
      return;
    }
    this.refusedOffsetMs = null;
    this.#refusedInRow = 0;
    this.#take({ low: this.#headerMs - receivedMs, high: this.#headerMs + 1_000 - sentMs }, receivedMs);
  }

  #take(answer: Bounds, receivedMs: number): void {
    const isVouched = this.#isUsual(answer);
    const rival = this.#rival;
    if (this.#estimate === null) this.#estimate = new Estimate(answer, isVouched);
    else if (this.#estimate.fits(answer)) {
      this.#estimate.add(answer, isVouched);
      this.#voteAgainst();
    } else if (rival === null)
      this.#rival = { estimate: new Estimate(answer, isVouched), sinceMs: receivedMs, votes: 1 };
    else if (rival.estimate.fits(answer)) {
      rival.estimate.add(answer, isVouched);
      rival.votes++;
    } else this.#voteAgainst();
    if (this.#rival !== null && this.#prevails(this.#rival, receivedMs)) {
      this.#estimate = this.#rival.estimate;
      this.#rival = null;
    }
    if (!this.agreed) return;
    this.#agreement.resolve();
    if (this.#estimate.fits(answer)) this.#usualOffsetMs = this.offsetMs;
  }

  #voteAgainst(): void {
    if (this.#rival !== null && --this.#rival.votes === 0) this.#rival = null;
  }

  #prevails({ estimate, sinceMs, votes }: Rival, nowMs: number): boolean {
    if (!this.agreed) return estimate.agreed;
    if (this.#isUsual(estimate.bounds)) return votes >= minAgreeing;
    return votes >= minLeadVotes && nowMs - sinceMs >= minLeadMs;
  }

  /** Returns true if these bounds give the previous offset of our wall clock; at first, if they give none. */
  #isUsual(bounds: Bounds): boolean {
    return Math.abs(this.#offsetOf(bounds) - this.#usualOffsetMs) <= maxDifferenceMs;
  }

  #offsetOf({ low, high }: Bounds): number {
    const ours = this.#clock.nowMs() - this.#clock.elapsedMs();
    return ours >= low && ours <= high ? 0 : Math.round(ours - (low + high) / 2);
  }
}
