/**
 * Deadlines: the times at which time alone can change something. A binary heap of owners, each at most once. A deadline that
 * moves later keeps its place in the heap until that place is reached, so the common case (a fresh answer postpones
 * staleness) costs nothing.
 */

/**
 * Jump of time, and delay of due deadlines, from which the process counts as suspended, ms. As after a restart, that
 * time is not counted.
 */
export const stoodStillMs = 2_000;

export interface Due {
  /** The deadline, ms; +∞ for none. Written only by `Deadlines.set`. */
  dueMs: number;
  /** The time by which the heap orders it; +∞: not in the heap. Written only here. */
  queuedMs: number;
  /** Its index in the heap; -1: not in the heap. Written only here. */
  place: number;
  /**
   * Orders two deadlines of the same time: the one that had a deadline first. Written here, and by an owner that replaces
   * another one after a reload.
   */
  order?: number | undefined;
  /** Called when the deadline is due. */
  onDue(nowMs: number): void;
  /** Called when it left the heap without being due. */
  onLeft?(): void;
}

export class Deadlines {
  readonly #heap: Due[] = [];
  #owners: number;

  /** @param before the deadlines from before a reload, whose owners continue */
  constructor(before?: Deadlines) {
    this.#owners = before ? before.#owners : 0;
  }

  set(owner: Due, dueMs: number): void {
    owner.dueMs = dueMs;
    if (dueMs >= owner.queuedMs) return;
    owner.order ??= this.#owners++;
    owner.queuedMs = dueMs;
    if (owner.place === -1) owner.place = this.#heap.push(owner) - 1;
    this.#rise(owner);
  }

  cancel(owner: Due): void {
    owner.dueMs = Number.POSITIVE_INFINITY;
  }

  /** Removes an owner at once; a cancelled one stays in the heap until its place is reached. */
  drop(owner: Due): void {
    owner.dueMs = Number.POSITIVE_INFINITY;
    if (owner.place !== -1) this.#take(owner);
  }

  /**
   * Returns the time of the next deadline, or null.
   * @param untilMs later deadlines are not searched: the returned time is then after it, and possibly too early
   */
  nextMs(untilMs = Number.POSITIVE_INFINITY): number | null {
    for (;;) {
      const top = this.#heap[0];
      if (top === undefined) return null;
      if (top.queuedMs > untilMs) return top.queuedMs;
      const { dueMs } = top;
      if (dueMs <= top.queuedMs) return top.queuedMs;
      this.#settle(top, dueMs);
    }
  }

  /** Calls every owner with a deadline at or before `nowMs`, in the order of deadlines. */
  run(nowMs: number): void {
    for (;;) {
      const top = this.#heap[0];
      if (top === undefined || top.queuedMs > nowMs) return;
      const { dueMs } = top;
      if (dueMs <= top.queuedMs) {
        this.#take(top);
        top.dueMs = Number.POSITIVE_INFINITY;
        top.onDue(nowMs);
      } else this.#settle(top, dueMs);
    }
  }

  get size(): number {
    return this.#heap.length;
  }

  /** Moves the first owner, whose deadline changed, to its place. The deadline is a parameter, as computing it may be costly. */
  #settle(top: Due, dueMs: number): void {
    if (dueMs === Number.POSITIVE_INFINITY) {
      this.#take(top);
      top.onLeft?.();
    } else {
      top.queuedMs = dueMs;
      this.#sink(top);
    }
  }

  #take(owner: Due): void {
    const { place } = owner;
    const last = this.#heap.pop()!;
    owner.queuedMs = Number.POSITIVE_INFINITY;
    owner.place = -1;
    if (last === owner) return;
    last.place = place;
    this.#sink(last);
    this.#rise(last);
  }

  #rise(owner: Due): void {
    const heap = this.#heap;
    let index = owner.place;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = heap[parent]!;
      if (!isBefore(owner, above)) break;
      heap[index] = above;
      above.place = index;
      index = parent;
    }
    heap[index] = owner;
    owner.place = index;
  }

  #sink(owner: Due): void {
    const heap = this.#heap;
    const { length } = heap;
    let index = owner.place;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= length) break;
      if (child + 1 < length && isBefore(heap[child + 1]!, heap[child]!)) child++;
      const below = heap[child]!;
      if (!isBefore(below, owner)) break;
      heap[index] = below;
      below.place = index;
      index = child;
    }
    heap[index] = owner;
    owner.place = index;
  }
}

/** A total order: the order at one time must not depend on calls of `nextMs`. */
function isBefore(a: Due, b: Due): boolean {
  return a.queuedMs < b.queuedMs || (a.queuedMs === b.queuedMs && (a.order ?? 0) < (b.order ?? 0));
}
