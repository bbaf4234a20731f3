/**
 * `avgOver`, `stddevOver` and `zscore`, weighted by time. Sums over whole blocks of the series (an hour of minutes, a minute of
 * samples) are kept until a late sample arrives in a block, so that a reading adds a few blocks and not a day of minutes. Blocks
 * are aligned to the clock, not to the samples: the same series gives the same digits however it was fed. A running sum would
 * drift.
 */
import { Unknown } from "../value.ts";
import { notCovered } from "./cover.ts";
import { minuteMs, minuteOf } from "./minute.ts";
import { doubles } from "./samples.ts";
import { enoughCover, type Shape } from "./shape.ts";
import {
  AROUND,
  COUNT,
  found,
  HELD_MS,
  LAST,
  LAST_VALUE,
  MEAN,
  OWN_MS,
  SEEN_MS,
  SteppedWindow,
  type StepsKind,
  stepsKind,
  TOTAL,
  VARIANCE,
} from "./steps.ts";

const blockMinutes = 60;
/** A deviation below this share of the mean is rounding error. */
const noise = 1e-12;

/** Data shared by the windows of one specification. */
interface Kind extends StepsKind {
  readonly fn: "avgOver" | "stddevOver" | "zscore";
  readonly blockMs: number;
  readonly meansOfMinutes: boolean;
}

/** @param shape with an edge at whole minutes for long windows */
export function momentsKind(fn: Kind["fn"], shape: Shape): Kind {
  const blockMs = shape.byMinute ? blockMinutes * minuteMs : minuteMs;
  const deviates = fn !== "avgOver";
  return { fn, blockMs, meansOfMinutes: shape.byMinute && !deviates, ...stepsKind(shape, deviates) };
}

/**
 * Moments of steps are three consecutive numbers: time, sum, and squares around the mean if deviations are needed. Moments of two sets
 * can be added.
 */
const [MS, SUM, SQUARES] = [0, 1, 2] as const;
const width = 3;
/** Offsets of those sums: of all but the newest sample, of the whole blocks, and of the newest block. */
const [SETTLED, MIDDLE, TAIL] = [0, width, 2 * width] as const;
/** The edge of `SETTLED`, the times between which it is valid, and the time since which the newest sample is valid. */
const [SETTLED_FROM, SETTLED_AT, SETTLED_UNTIL, NEWEST_BEGINS] = [
  3 * width,
  3 * width + 1,
  3 * width + 2,
  3 * width + 3,
] as const;
/** Clearly above `enoughCover`. */
const amply = 0.91;
/** No block. */
const none = -1;
const noBlocks: readonly number[] = doubles(0);

/** The result of the present reading; shared by all windows. */
const total = doubles(width);

export class MomentsWindow extends SteppedWindow<Kind> {
  readonly #sums = doubles(NEWEST_BEGINS + 1);
  #settledLast = -1;
  /** The version of the samples that all this was computed from. */
  #of = -1;
  /** The first sample after the edge. */
  #known = -1;

  /** The sums of the samples of the first block, each together with all later ones, the last one first. */
  #head: readonly number[] = noBlocks;
  #headKey = none;
  #headFirst = 0;
  #headEnd = 0;
  /** The sums of the blocks that are completely within the window. */
  #blocks: readonly number[] = noBlocks;
  #middleFrom = none;
  #middleUntil = none;
  #tailKey = none;
  #tailUntil = 0;

  read(nowMs: number): number | Unknown {
    const { fn, shape, deviates, meansOfMinutes } = this.kind;
    this.#settle(nowMs);
    if (meansOfMinutes) return this.#mean(nowMs);
    const { samples } = this;
    if (fn === "zscore" && samples.first !== samples.end)
      if (nowMs - samples.timeAt(samples.end - 1) > shape.staleAfterMs)
        return new Unknown("stale", null, "the newest sample is too old");
    this.#addNewest(nowMs);
    const lengthMs = nowMs - this.#sums[SETTLED_FROM]!;
    const watched = lengthMs > 0 ? total[MS]! / lengthMs : 0;
    if (watched < enoughCover) return notCovered(watched);
    const result = deviates ? this.#deviation() : total[SUM]! / total[MS]!;
    return Number.isNaN(result) ? new Unknown("nan", null, noAnswer[fn]) : result;
  }

  coverage(nowMs: number): number {
    this.#settle(nowMs);
    this.#addNewest(nowMs);
    const lengthMs = nowMs - this.#sums[SETTLED_FROM]!;
    return lengthMs > 0 ? total[MS]! / lengthMs : 0;
  }

  /** Writes the moments of the window to `total`: the settled part, and the newest sample until now. */
  #addNewest(nowMs: number): void {
    const { samples } = this;
    const { deviates } = this.kind;
    const sums = this.#sums;
    for (let part = 0; part < width; part++) total[part] = sums[SETTLED + part]!;
    if (samples.first === samples.end) return;
    this.look(samples.end - 1, sums[SETTLED_FROM]!, nowMs);
    addFound(total, 0, deviates);
  }

  /**
   * The mean of minutes, the most frequent function, in one pass: separate calls would cost twice as much.
   */
  #mean(nowMs: number): number | Unknown {
    const { samples } = this;
    const sums = this.#sums;
    const fromMs = sums[SETTLED_FROM]!;
    let ms = sums[SETTLED + MS]!;
    let sum = sums[SETTLED + SUM]!;
    if (samples.first !== samples.end) {
      const { ring } = samples;
      const at = samples.offset(samples.end - 1);
      const beginsMs = sums[NEWEST_BEGINS]!;
      const endsMs = beginsMs + minuteMs;
      const ownMs = Math.min(endsMs, nowMs) - Math.max(beginsMs, fromMs);
      if (ownMs > 0) {
        ms += ownMs;
        sum += (ring[at + TOTAL]! / ring[at + COUNT]!) * ownMs;
      }
      const untilMs = Math.min(ring[at + SEEN_MS]! + this.kind.shape.staleAfterMs, nowMs);
      const heldMs = untilMs - Math.max(endsMs, fromMs);
      if (heldMs > 0) {
        ms += heldMs;
        sum += ring[at + LAST]! * heldMs;
      }
    }
    const lengthMs = nowMs - fromMs;
    // A division is skipped if the result is clear.
    if (!(ms > lengthMs * amply)) {
      const watched = lengthMs > 0 ? ms / lengthMs : 0;
      if (watched < enoughCover) return notCovered(watched);
    }
    const mean = sum / ms;
    return Number.isNaN(mean) ? new Unknown("nan", null, noAnswer.avgOver) : mean;
  }

  #settle(nowMs: number): void {
    const last = this.samples.end - 1;
    const sums = this.#sums;
    const same = nowMs < sums[SETTLED_UNTIL]! && nowMs >= sums[SETTLED_AT]!;
    if (!same || this.#settledLast !== last || this.#of !== this.version) this.#settleAnew(nowMs, last);
  }

  #settleAnew(nowMs: number, last: number): void {
    const { samples } = this;
    const { blockMs, deviates, shape } = this.kind;
    const sums = this.#sums;
    if (this.#of !== this.version) {
      this.#headKey = this.#middleFrom = this.#tailKey = none;
      sums[SETTLED_FROM] = Number.NaN;
      this.#of = this.version;
    }
    const before = sums[SETTLED_FROM]!;
    const fromMs = shape.edge.at(nowMs);
    sums[SETTLED_FROM] = fromMs;
    sums[SETTLED_AT] = nowMs;
    sums[SETTLED_UNTIL] = shape.edge.staysUntil(fromMs, nowMs);
    this.#settledLast = last;
    clear(sums, SETTLED);
    if (last < samples.first) return;
    const lastMs = this.beginsAt(last);
    sums[NEWEST_BEGINS] = lastMs;
    // It may be before the window.
    if (samples.timeAt(last) < fromMs) return;
    const known = this.#known;
    // The edge moves by one or two samples at a time.
    let first =
      fromMs >= before && known >= samples.first && known <= last ? known : samples.above(fromMs - 1);
    while (first < last && samples.timeAt(first) < fromMs) first++;
    this.#known = first;
    if (first > samples.first && this.beginsAt(first) > fromMs) {
      this.look(first - 1, fromMs, lastMs);
      addFound(sums, SETTLED, deviates);
    }
    const fromKey = Math.floor(fromMs / blockMs);
    const lastKey = Math.floor(lastMs / blockMs);
    if (fromKey >= lastKey) {
      for (let i = first; i < last; i++) {
        this.look(i, fromMs, lastMs);
        addFound(sums, SETTLED, deviates);
      }
      return;
    }
    const isWhole = fromKey * blockMs === fromMs;
    if (!isWhole) this.#addHead(fromKey, first);
    this.#addMiddle(isWhole ? fromKey : fromKey + 1, lastKey);
    this.#addTail(lastKey, last);
  }

  /** Adds the part of the first block after the edge: summed from the block's end, so that the edge can move through it. */
  #addHead(key: number, first: number): void {
    const { samples } = this;
    const { deviates, blockMs } = this.kind;
    if (this.#headKey !== key || first < this.#headFirst) {
      this.#headKey = key;
      this.#headFirst = first;
      this.#headEnd = samples.above((key + 1) * blockMs - 1);
      const count = Math.max(this.#headEnd - first, 0);
      const head = doubles(count * width);
      for (let n = 0; n < count; n++) {
        clear(head, n * width);
        this.#addWhole(this.#headEnd - 1 - n, head, n * width);
        if (n > 0) merge(head, n * width, head, (n - 1) * width, deviates);
      }
      this.#head = head;
    }
    const at = (this.#headEnd - 1 - first) * width;
    if (at >= 0 && at < this.#head.length) merge(this.#sums, SETTLED, this.#head, at, deviates);
  }

  /** Adds the blocks that are completely within the window. */
  #addMiddle(fromKey: number, untilKey: number): void {
    const { deviates } = this.kind;
    const sums = this.#sums;
    if (this.#middleFrom !== fromKey || this.#middleUntil !== untilKey) {
      const blocks = doubles((untilKey - fromKey) * width);
      const [known, knownFrom, knownUntil] = [this.#blocks, this.#middleFrom, this.#middleUntil];
      clear(sums, MIDDLE);
      for (let key = fromKey; key < untilKey; key++) {
        const at = (key - fromKey) * width;
        if (knownFrom === none || key < knownFrom || key >= knownUntil) this.#sumBlock(key, blocks, at);
        else
          for (let part = 0; part < width; part++)
            blocks[at + part] = known[(key - knownFrom) * width + part]!;
        merge(sums, MIDDLE, blocks, at, deviates);
      }
      this.#blocks = blocks;
      this.#middleFrom = fromKey;
      this.#middleUntil = untilKey;
    }
    merge(sums, SETTLED, sums, MIDDLE, deviates);
  }

  #sumBlock(key: number, into: number[], at: number): void {
    const { samples } = this;
    const { blockMs } = this.kind;
    const end = samples.above((key + 1) * blockMs - 1);
    // It was the newest until now.
    if (key === this.#tailKey) {
      const sums = this.#sums;
      while (this.#tailUntil < end) this.#addWhole(this.#tailUntil++, sums, TAIL);
      for (let part = 0; part < width; part++) into[at + part] = sums[TAIL + part]!;
      return;
    }
    clear(into, at);
    for (let i = samples.above(key * blockMs - 1); i < end; i++) this.#addWhole(i, into, at);
  }

  /** Adds the settled part of the newest block. */
  #addTail(key: number, last: number): void {
    const { blockMs, deviates } = this.kind;
    const sums = this.#sums;
    if (this.#tailKey !== key || last < this.#tailUntil) {
      this.#tailKey = key;
      clear(sums, TAIL);
      this.#tailUntil = this.samples.above(key * blockMs - 1);
    }
    while (this.#tailUntil < last) this.#addWhole(this.#tailUntil++, sums, TAIL);
    merge(sums, SETTLED, sums, TAIL, deviates);
  }

  /** Adds a sample that another one follows. */
  #addWhole(index: number, into: number[], at: number): void {
    const { samples } = this;
    const { deviates, shape } = this.kind;
    const { ring } = samples;
    const sample = samples.offset(index);
    const seenMs = ring[sample + SEEN_MS]!;
    const staleMs = seenMs + shape.staleAfterMs;
    const nextMs = ring[samples.offset(index + 1) + SEEN_MS]!;
    if (!shape.byMinute) {
      const ms = Math.min(nextMs, staleMs) - seenMs;
      if (ms > 0) add(into, at, deviates, ms, ring[sample + TOTAL]!, 0);
      return;
    }
    const count = ring[sample + COUNT]!;
    const variance = deviates ? ring[sample + AROUND]! / count : 0;
    add(into, at, deviates, minuteMs, ring[sample + TOTAL]! / count, variance);
    const endsMs = minuteOf(seenMs) + minuteMs;
    // Mostly the next minute has a sample, too.
    if (nextMs < endsMs + minuteMs) return;
    const heldMs = Math.min(minuteOf(nextMs), staleMs) - endsMs;
    if (heldMs > 0) add(into, at, deviates, heldMs, ring[sample + LAST]!, 0);
  }

  #deviation(): number {
    const mean = total[SUM]! / total[MS]!;
    const deviation = Math.sqrt(total[SQUARES]! / total[MS]!);
    const known = deviation > Math.abs(mean) * noise ? deviation : Number.isNaN(deviation) ? deviation : 0;
    if (this.kind.fn === "stddevOver") return known;
    const apart = this.newest - mean;
    return (known === 0 && Math.abs(apart) <= Math.abs(mean) * noise ? 0 : apart) / known;
  }
}

const noAnswer = {
  avgOver: "mean of infinite values",
  stddevOver: "deviation of infinite values",
  zscore: "the series does not deviate",
} as const;

function clear(moments: number[], at: number): void {
  moments[at + MS] = moments[at + SUM] = moments[at + SQUARES] = 0;
}

/** Adds the result of the last `look`. */
function addFound(into: number[], at: number, deviates: boolean): void {
  if (found[OWN_MS]! > 0) add(into, at, deviates, found[OWN_MS]!, found[MEAN]!, found[VARIANCE]!);
  if (found[HELD_MS]! > 0) add(into, at, deviates, found[HELD_MS]!, found[LAST_VALUE]!, 0);
}

function add(
  into: number[],
  at: number,
  deviates: boolean,
  ms: number,
  value: number,
  variance: number,
): void {
  if (deviates) {
    const before = into[at + MS]!;
    let squares = into[at + SQUARES]!;
    if (before > 0) {
      const apart = value - into[at + SUM]! / before;
      squares += (apart * apart * before * ms) / (before + ms);
    }
    into[at + SQUARES] = squares + variance * ms;
  }
  into[at + MS]! += ms;
  into[at + SUM]! += value * ms;
}

function merge(into: number[], at: number, more: readonly number[], from: number, deviates: boolean): void {
  const ms = more[from + MS]!;
  if (ms === 0) return;
  const sum = more[from + SUM]!;
  if (deviates) {
    const before = into[at + MS]!;
    let squares = into[at + SQUARES]!;
    if (before > 0) {
      const apart = sum / ms - into[at + SUM]! / before;
      squares += (apart * apart * before * ms) / (before + ms);
    }
    into[at + SQUARES] = squares + more[from + SQUARES]!;
  }
  into[at + MS]! += ms;
  into[at + SUM]! += sum;
}
