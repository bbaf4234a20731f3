/**
 * Numbers in order of time, the oldest forgotten first. Late ones are put in their place.
 *
 * Kept in a ring that grows by doubling, shrinks where little of it is needed, and is written over: windows hold few
 * samples, are many, and change with every answer, so whatever they let go of must cost nothing. Indices count from the
 * first sample ever taken; those from `first` to `end` are held.
 */
const [TIME, VALUE, EXTRA] = [0, 1, 2] as const;
const smallest = 4;
/** Below this it is not worth while to give room back. */
const roomy = 64;

export class Samples {
  /** Time, value and, where kept, companion of each sample in turn. */
  #ring: number[] = [];
  /** How many fit, a power of two; 0 before the first. */
  #room = 0;
  #first = 0;
  #end = 0;
  /** What `above` found last by searching: the edge of a window lies there again, or one further. */
  #found = 0;
  /** Numbers of each sample in the ring. */
  readonly #stride: 2 | 3;

  /** @param parts whether a companion is kept beside the value: without one it takes a third less */
  constructor(parts: "valueOnly" | "withExtra" = "withExtra") {
    this.#stride = parts === "valueOnly" ? 2 : 3;
  }

  get first(): number {
    return this.#first;
  }
  /** One past the newest. */
  get end(): number {
    return this.#end;
  }
  timeAt(index: number): number {
    return this.#ring[this.#at(index) + TIME]!;
  }
  valueAt(index: number): number {
    return this.#ring[this.#at(index) + VALUE]!;
  }
  /** Only where extras are kept. */
  extraAt(index: number): number {
    return this.#ring[this.#at(index) + EXTRA]!;
  }

  /** Replaces what stands at an index; its time must keep the order. */
  set(index: number, timeMs: number, value: number, extra: number): void {
    const ring = this.#ring;
    const at = this.#at(index);
    ring[at + TIME] = timeMs;
    ring[at + VALUE] = value;
    if (this.#stride === 3) ring[at + EXTRA] = extra;
  }

  /** The first index whose time is above `ms`; from the end, since samples come nearly in order. */
  above(ms: number): number {
    let index = this.#end;
    if (index === this.#first || this.timeAt(index - 1) <= ms) return index;
    let low = this.#first;
    for (let near = this.#found; near <= this.#found + 1; near++) {
      if (near < low || near >= index) continue;
      if (this.timeAt(near) > ms) {
        if (near > low && this.timeAt(near - 1) > ms) break;
        this.#found = near;
        return near;
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

  insert(index: number, timeMs: number, value: number, extra: number): void {
    if (this.#end - this.#first === this.#room) this.#resize(Math.max(smallest, this.#room * 2));
    for (let i = this.#end++; i > index; i--) this.#copy(i - 1, i);
    this.set(index, timeMs, value, extra);
  }

  remove(index: number, count: number): void {
    for (let i = index; i + count < this.#end; i++) this.#copy(i + count, i);
    this.#end -= count;
  }

  /** Forgets all before this index. */
  forgetUntil(index: number): void {
    this.#first = index;
    // Long after a stretch that filled it, or after a past that came at once.
    if (this.#room > roomy && (this.#end - index) * 8 < this.#room) this.#resize(this.#room / 4);
  }

  clear(): void {
    this.#ring = [];
    this.#room = this.#first = this.#end = 0;
  }

  #at(index: number): number {
    return (index & (this.#room - 1)) * this.#stride;
  }

  #copy(from: number, to: number): void {
    const extra = this.#stride === 3 ? this.extraAt(from) : 0;
    this.set(to, this.timeAt(from), this.valueAt(from), extra);
  }

  #resize(room: number): void {
    const ring: number[] = [];
    const stride = this.#stride;
    // Filled with a fraction: an array of doubles from the beginning, and so never boxed.
    for (let i = 0; i < room * stride; i++) ring.push(0.5);
    for (let index = this.#first; index < this.#end; index++) {
      const [from, to] = [this.#at(index), (index & (room - 1)) * stride];
      for (let part = 0; part < stride; part++) ring[to + part] = this.#ring[from + part]!;
    }
    this.#ring = ring;
    this.#room = room;
  }
}
