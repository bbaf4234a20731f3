/**
 * `quantileOver`, weighted by time: the smallest value such that the series was at or below it for that share of the window. Settled
 * samples are kept sorted with their durations; the newest sample, and one that overlaps the edge, are handled separately. For long
 * windows it is the quantile of one-minute means.
 */
import { Unknown } from "../value.ts";
import { notCovered } from "./cover.ts";
import { enoughCover, type Shape } from "./shape.ts";
import {
  found,
  HELD_MS,
  LAST_VALUE,
  MEAN,
  OWN_MS,
  SteppedWindow,
  type StepsKind,
  stepsKind,
} from "./steps.ts";

/** Data shared by the windows of one specification. */
interface Kind extends StepsKind {
  readonly share: number;
}

/** @param share 0–1: 0.5 is the median  @param shape with an edge at whole minutes for long windows */
export function quantileKind(share: number, shape: Shape): Kind {
  return { share, ...stepsKind(shape, false) };
}

export class QuantileWindow extends SteppedWindow<Kind> {
  readonly #sorted = new Sorted();
  /** `sorted` contains the samples from this index on. */
  #from = 0;
  #until = 0;
  /** The version of the samples that it was computed from. */
  #of = -1;

  read(nowMs: number): number | Unknown {
    const watchedMs = this.#weigh(nowMs);
    const cover = this.#covered(nowMs, watchedMs);
    if (cover < enoughCover) return notCovered(cover);
    return (
      this.#sorted.at(this.kind.share * watchedMs, beside) ?? new Unknown("nan", null, "quantile of nothing")
    );
  }

  coverage(nowMs: number): number {
    return this.#covered(nowMs, this.#weigh(nowMs));
  }

  override clear(): void {
    super.clear();
    this.#sorted.clear();
    this.#from = this.#until = 0;
  }

  #settle(first: number, last: number): void {
    const sorted = this.#sorted;
    if (
      this.#of !== this.version ||
      first > this.#until ||
      first < this.#from ||
      last < this.#until ||
      // A sample that was dropped without being read can no longer be removed from the sorted values.
      this.#from < this.samples.first
    ) {
      sorted.clear();
      this.#from = this.#until = first;
      this.#of = this.version;
      for (; this.#until < last; this.#until++) this.#whole(this.#until);
      sorted.order();
      return;
    }
    for (; this.#until < last; this.#until++) this.#whole(this.#until);
    sorted.sign = -1;
    for (; this.#from < first; this.#from++) this.#whole(this.#from);
    sorted.sign = 1;
  }

  #whole(index: number): void {
    this.lookAtAll(index);
    addFound(this.#sorted);
  }

  /** Updates `sorted` and `beside`. @returns covered time, ms */
  #weigh(nowMs: number): number {
    const { samples } = this;
    beside.clear();
    const last = samples.end - 1;
    if (last < samples.first) {
      this.#sorted.clear();
      this.#from = this.#until = samples.end;
      return 0;
    }
    const fromMs = this.kind.shape.edge.at(nowMs);
    const first = Math.min(samples.above(fromMs - 1), last);
    this.#settle(first, last);
    if (first > samples.first) {
      this.look(first - 1, fromMs, this.beginsAt(first));
      addFound(beside);
    }
    this.look(last, fromMs, nowMs);
    addFound(beside);
    return this.#sorted.total + beside.total;
  }

  #covered(nowMs: number, watchedMs: number): number {
    const length = nowMs - this.kind.shape.edge.at(nowMs);
    return length > 0 ? watchedMs / length : 0;
  }
}

/** Takes a value and the time for which it was valid, ms. */
interface Weighing {
  add(ms: number, value: number): void;
}

/** Adds the result of the last `look`. */
function addFound(into: Weighing): void {
  if (found[OWN_MS]! > 0) into.add(found[OWN_MS]!, found[MEAN]!);
  if (found[HELD_MS]! > 0) into.add(found[HELD_MS]!, found[LAST_VALUE]!);
}

const blockSize = 64;

/** Values in order, each with the total time for which the series had it; and the sums of these times by block. */
class Sorted implements Weighing {
  total = 0;
  /** −1: values are removed instead of added. */
  sign: 1 | -1 = 1;
  #values = new Float64Array(64);
  #times = new Float64Array(64);
  #size = 0;
  #blocks = new Float64Array(1);
  #stale = true;
  /** Values collected while everything is sorted again. */
  #gathering: [number, number][] | null = null;

  clear(): void {
    this.#size = 0;
    this.total = 0;
    this.sign = 1;
    this.#stale = true;
    this.#gathering = [];
  }

  order(): void {
    const gathered = this.#gathering ?? [];
    this.#gathering = null;
    gathered.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
    for (const [value, ms] of gathered) this.#put(this.#size, value, ms);
  }

  add(ms: number, value: number): void {
    if (this.#gathering !== null) this.#gathering.push([value, ms]);
    else this.#put(this.#find(value), value, ms * this.sign);
  }

  /** @returns the first value at which, together with `beside`, at least `ms` are reached */
  at(ms: number, beside: Beside): number | null {
    const size = this.#size;
    const values = this.#values;
    // Slightly less: sums of times are whole numbers, a share of them may not be.
    const wanted = ms * (1 - 1e-12);
    if (this.#stale) this.#sumBlocks();
    let reached = 0;
    let i = 0;
    for (let block = 0; i + blockSize < size; block++, i += blockSize) {
      const after = reached + this.#blocks[block]!;
      if (after + beside.upTo(values[i + blockSize - 1]!) >= wanted) break;
      reached = after;
    }
    // Values in `beside` may be below the skipped values, or between them.
    for (; i < size; i++) {
      const value = values[i]!;
      const between = beside.first(wanted - reached, value);
      if (between !== null) return between;
      reached += this.#times[i]!;
      if (reached + beside.upTo(value) >= wanted) return value;
    }
    return (
      beside.first(wanted - reached, Number.POSITIVE_INFINITY) ?? beside.highest ?? values[size - 1] ?? null
    );
  }

  /** The index of the first value that is not lower. */
  #find(value: number): number {
    const values = this.#values;
    let low = 0;
    let high = this.#size;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (values[middle]! < value) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #put(index: number, value: number, ms: number): void {
    this.total += ms;
    this.#stale = true;
    if (index > 0 && index === this.#size && this.#values[index - 1] === value) index--;
    if (index < this.#size && this.#values[index] === value) {
      this.#times[index]! += ms;
      if (this.#times[index]! > 0) return;
      this.#values.copyWithin(index, index + 1, this.#size);
      this.#times.copyWithin(index, index + 1, this.#size);
      this.#size--;
      return;
    }
    if (this.#size === this.#values.length) {
      this.#values = grown(this.#values);
      this.#times = grown(this.#times);
    }
    this.#values.copyWithin(index + 1, index, this.#size);
    this.#times.copyWithin(index + 1, index, this.#size);
    this.#values[index] = value;
    this.#times[index] = ms;
    this.#size++;
  }

  #sumBlocks(): void {
    const count = Math.ceil(this.#size / blockSize);
    if (this.#blocks.length < count) this.#blocks = new Float64Array(count * 2);
    for (let block = 0; block < count; block++) {
      let sum = 0;
      const end = Math.min((block + 1) * blockSize, this.#size);
      for (let i = block * blockSize; i < end; i++) sum += this.#times[i]!;
      this.#blocks[block] = sum;
    }
    this.#stale = false;
  }
}

function grown(array: Float64Array): Float64Array<ArrayBuffer> {
  const larger = new Float64Array(array.length * 2);
  larger.set(array);
  return larger;
}

/** The few steps that are not sorted: at most two at each end of the window. */
class Beside implements Weighing {
  total = 0;
  readonly #steps: { value: number; ms: number }[] = [];

  get highest(): number | null {
    return this.#steps.at(-1)?.value ?? null;
  }

  add(ms: number, value: number): void {
    this.total += ms;
    this.#steps.push({ value, ms });
    this.#steps.sort((a, b) => a.value - b.value);
  }

  /** Time at or below a value, ms. */
  upTo(value: number): number {
    let ms = 0;
    for (const step of this.#steps) if (step.value <= value) ms += step.ms;
    return ms;
  }

  /** @returns the first of them below `before` at which `ms` are reached, or null */
  first(wanted: number, before: number): number | null {
    let ms = 0;
    for (const step of this.#steps) {
      if (step.value >= before && before !== Number.POSITIVE_INFINITY) return null;
      ms += step.ms;
      if (ms >= wanted) return step.value;
    }
    return null;
  }

  clear(): void {
    this.total = 0;
    this.#steps.length = 0;
  }
}

/** The unsorted steps of the window that is being read: recomputed at each reading, so shared by all windows. */
const beside = new Beside();
