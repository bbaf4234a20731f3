/**
 * The exchange's time, measured from the `Date` header of its answers.
 *
 * The header has whole seconds, so an answer that arrived at monotonic moment R to a request sent at S says only: at
 * some moment between S and R it was between `date` and `date + 1 s` there. Each answer bounds (exchange's clock less our
 * monotonic clock) from both sides, and the bounds of recent answers intersect to a few dozen milliseconds. Resting on the
 * monotonic clock means that a jump of our wall clock shows in `offsetMs` at once.
 *
 * One answer that contradicts the others (a cached one, a second server) is not believed; three in a row are. A time that is
 * more than a day from our wall clock never is: what is stored by it would be wrong for good.
 */
import type { Clock } from "../domain/clock.ts";

const MOST_SAMPLES = 32;
const BELIEVED = 3;
const BETWEEN_SAMPLES_MS = 200;
/** The largest offset of an exchange's clock that is taken. */
export const MAX_OFFSET_MS = 86_400_000;

interface Bounds {
  readonly low: number;
  readonly high: number;
}

export class ExchangeTime {
  readonly #clock: Clock;
  #samples: Bounds[] = [];
  #bounds: Bounds | null = null;
  #lastSampleMs = Number.NEGATIVE_INFINITY;
  #header = "";
  #headerMs = Number.NaN;
  readonly #maxOffsetMs: number;
  readonly #onRefused: (offsetMs: number) => void;
  /** Our wall clock less the exchange's, ms, as the newest answer tells it, which is too far off to be taken; null: it is not. */
  refusedOffsetMs: number | null = null;

  /**
   * @param clock the machine's own, not one that is corrected by this very measurement
   * @param maxOffsetMs the largest offset that is taken
   * @param onRefused called with the offset when the first answer is refused, and again after others were taken
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
    return this.#bounds !== null;
  }

  /** Our wall clock less the exchange's, ms; 0 while nothing contradicts that they agree. */
  get offsetMs(): number {
    if (this.#bounds === null) return 0;
    const ours = this.#clock.nowMs() - this.#clock.elapsedMs();
    const { low, high } = this.#bounds;
    return ours >= low && ours <= high ? 0 : Math.round(ours - (low + high) / 2);
  }

  /** Wall time at the exchange, ms. Our own while unmeasured. */
  nowMs(): number {
    return this.#clock.nowMs() - this.offsetMs;
  }

  /** @param sentMs, receivedMs monotonic   @param date the header as it came */
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
      const isFirst = this.refusedOffsetMs === null;
      this.refusedOffsetMs = offsetMs;
      if (isFirst) this.#onRefused(offsetMs);
      return;
    }
    this.refusedOffsetMs = null;
    this.#samples.push({ low: this.#headerMs - receivedMs, high: this.#headerMs + 1_000 - sentMs });
    if (this.#samples.length > MOST_SAMPLES) this.#samples.shift();
    this.#intersect();
  }

  /** The bounds that the longest run of the newest answers agree on. */
  #intersect(): void {
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
    if (agreeing < this.#samples.length && agreeing < BELIEVED && this.#bounds !== null) return;
    this.#samples = this.#samples.slice(-agreeing);
    this.#bounds = { low, high };
  }
}
