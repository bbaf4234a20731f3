/** Numbers in order of time, the oldest forgotten first. Late ones are put in their place. */
export class Samples {
  #times: number[] = [];
  #values: number[] = [];
  #extra: number[] = [];
  #head = 0;

  get first(): number {
    return this.#head;
  }
  /** One past the newest. */
  get end(): number {
    return this.#times.length;
  }
  timeAt(index: number): number {
    return this.#times[index]!;
  }
  valueAt(index: number): number {
    return this.#values[index]!;
  }
  extraAt(index: number): number {
    return this.#extra[index]!;
  }

  /** Replaces what stands at an index; its time must keep the order. */
  set(index: number, timeMs: number, value: number, extra: number): void {
    this.#times[index] = timeMs;
    this.#values[index] = value;
    this.#extra[index] = extra;
  }

  /** The first index whose time is above `ms`; from the end, since samples come nearly in order. */
  above(ms: number): number {
    let index = this.#times.length;
    if (index === this.#head || this.#times[index - 1]! <= ms) return index;
    let low = this.#head;
    while (low < index) {
      const middle = (low + index) >> 1;
      if (this.#times[middle]! <= ms) low = middle + 1;
      else index = middle;
    }
    return index;
  }

  insert(index: number, timeMs: number, value: number, extra: number): void {
    if (index === this.#times.length) {
      this.#times.push(timeMs);
      this.#values.push(value);
      this.#extra.push(extra);
    } else {
      this.#times.splice(index, 0, timeMs);
      this.#values.splice(index, 0, value);
      this.#extra.splice(index, 0, extra);
    }
  }

  remove(index: number, count: number): void {
    if (index + count === this.#times.length) {
      this.#times.length = this.#values.length = this.#extra.length = index;
    } else {
      this.#times.splice(index, count);
      this.#values.splice(index, count);
      this.#extra.splice(index, count);
    }
  }

  /** Forgets all before this index. Space is given back now and then, not at each step. */
  forgetUntil(index: number): void {
    this.#head = index;
    if (index < 512 || index < this.#times.length / 2) return;
    this.#times = this.#times.slice(index);
    this.#values = this.#values.slice(index);
    this.#extra = this.#extra.slice(index);
    this.#head = 0;
  }

  clear(): void {
    this.#times = [];
    this.#values = [];
    this.#extra = [];
    this.#head = 0;
  }
}
