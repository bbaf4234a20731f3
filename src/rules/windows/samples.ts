/**
 * Numbers in order of time, of which the oldest are dropped first. Late ones are inserted at their place.
 *
 * Stored in a ring buffer that grows as needed, shrinks when little of it is used, and is overwritten: there are many windows with few
 * samples each that change with every answer, so dropping samples must not allocate. Indices count from the first sample ever
 * taken; those from `first` to `end` are stored. The ring buffer is preceded by a few numbers of the window itself: with thousands of
 * subjects the cost is memory access, and separate objects would need one each.
 */
import type { Layout } from "./shape.ts";

/** Offsets within a sample. */
export const [TIME, VALUE] = [0, 1] as const;
const smallest = 4;
/** Below this size the buffer never shrinks and grows by doubling; above it grows by a quarter. */
const roomy = 64;

export class Samples {
  readonly #layout: Layout;
  /** The window's own numbers; then for each sample its time, its value and further numbers. */
  #ring: number[];
  /** The number of samples that fit. */
  #capacity = 0;
  /** The position of the first sample in the ring. */
  #place = 0;
  #first = 0;
  #end = 0;
  /** The last result of a search by `above`: the edge of a window is mostly there again, or one further. */
  #found = 0;

  constructor(layout: Layout) {
    this.#layout = layout;
    this.#ring = layout.head === 0 ? empty : doubles(layout.head);
  }

  get first(): number {
    return this.#first;
  }
  /** The index after the newest sample. */
  get end(): number {
    return this.#end;
  }
  timeAt(index: number): number {
    return this.#ring[this.#at(index) + TIME]!;
  }
  valueAt(index: number): number {
    return this.#ring[this.#at(index) + VALUE]!;
  }
  /** @param which index among the numbers after time and value, from 0 */
  moreAt(index: number, which: 0 | 1 | 2): number {
    return this.#ring[this.#at(index) + 2 + which]!;
  }

  /** For reading several numbers of a sample: those of index `i` begin at `offset(i)`. Valid until the next insertion. */
  get ring(): readonly number[] {
    return this.#ring;
  }
  offset(index: number): number {
    return this.#at(index);
  }

  /** One of the window's own numbers. Meaningless until it is set; not reset by `clear`. */
  head(which: 0 | 1 | 2 | 3 | 4): number {
    return this.#ring[which]!;
  }
  setHead(which: 0 | 1 | 2 | 3 | 4, value: number): void {
    this.#ring[which] = value;
  }

  /** Replaces the sample at an index; its time must keep the order. Numbers beyond the stride are ignored. */
  set(index: number, timeMs: number, value: number, more0 = 0, more1 = 0, more2 = 0): void {
    const ring = this.#ring;
    const { stride } = this.#layout;
    const at = this.#at(index);
    ring[at + TIME] = timeMs;
    ring[at + VALUE] = value;
    if (stride > 2) ring[at + 2] = more0;
    if (stride > 3) ring[at + 3] = more1;
    if (stride > 4) ring[at + 4] = more2;
  }

  /** The first index with a time above `ms`; searched from the end, since samples arrive nearly in order. */
  above(ms: number): number {
    const first = this.#first;
    let index = this.#end;
    if (index === first || this.timeAt(index - 1) <= ms) return index;
    let low = first;
    const near = this.#found;
    if (near >= first && near < index && (near === first || this.timeAt(near - 1) <= ms)) {
      if (this.timeAt(near) > ms) return near;
      // Not the newest, which is above.
      low = near + 1;
      if (this.timeAt(low) > ms) {
        this.#found = low;
        return low;
      }
    }
    while (low < index) {
      const middle = low + ((index - low) >> 1);
      if (this.timeAt(middle) <= ms) low = middle + 1;
      else index = middle;
    }
    this.#found = index;
    return index;
  }

  insert(index: number, timeMs: number, value: number, more0 = 0, more1 = 0, more2 = 0): void {
    if (this.#end - this.#first === this.#capacity) this.#resize(this.#larger());
    for (let i = this.#end++; i > index; i--) this.#copy(i - 1, i);
    this.set(index, timeMs, value, more0, more1, more2);
  }

  remove(index: number, count: number): void {
    for (let i = index; i + count < this.#end; i++) this.#copy(i + count, i);
    this.#end -= count;
  }

  /** Drops all samples before this index. */
  forgetUntil(index: number): void {
    this.#place += index - this.#first;
    if (this.#place >= this.#capacity) this.#place -= this.#capacity;
    this.#first = index;
    // Only long after a busy period, or after past samples were loaded.
    const held = this.#end - index;
    if (this.#capacity > roomy && held * 8 < this.#capacity) this.#resize(Math.max(smallest, held * 2));
  }

  clear(): void {
    const { head } = this.#layout;
    this.#ring = head === 0 ? empty : this.#ring.slice(0, head);
    this.#capacity = this.#place = this.#first = this.#end = this.#found = 0;
  }

  #at(index: number): number {
    const place = this.#place + index - this.#first;
    const { head, stride } = this.#layout;
    return head + (place < this.#capacity ? place : place - this.#capacity) * stride;
  }

  #copy(from: number, to: number): void {
    const ring = this.#ring;
    const [source, target] = [this.#at(from), this.#at(to)];
    for (let part = 0; part < this.#layout.stride; part++) ring[target + part] = ring[source + part]!;
  }

  #larger(): number {
    const capacity = this.#capacity;
    const { maxSamples } = this.#layout;
    if (capacity < smallest) return smallest;
    const larger = capacity < roomy ? capacity * 2 : capacity + (capacity >> 2);
    return capacity < maxSamples ? Math.min(larger, maxSamples) : larger;
  }

  #resize(capacity: number): void {
    const { head, stride } = this.#layout;
    const ring = doubles(head + capacity * stride);
    for (let which = 0; which < head; which++) ring[which] = this.#ring[which]!;
    for (let index = this.#first, to = head; index < this.#end; index++) {
      const from = this.#at(index);
      for (let part = 0; part < stride; part++) ring[to++] = this.#ring[from + part]!;
    }
    this.#ring = ring;
    this.#capacity = capacity;
    this.#place = 0;
  }
}

/** Fractions, so that V8 makes it an array of doubles: its copies then never box their elements. */
const blanks: number[] = [0.5];
const empty: number[] = blanks.slice(0, 0);

/** An array of exactly this length: one that grows by push has spare capacity of half its size. The initial content is meaningless. */
export function doubles(length: number): number[] {
  while (blanks.length < length) blanks.push(0.5);
  return blanks.slice(0, length);
}
