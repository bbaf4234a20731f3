/**
 * The moments at which time alone can change something. A binary heap of owners, each at most once; an owner whose moment
 * moved later stays where it is and is put right when that place comes up, so that the common case (a fresh answer pushes
 * staleness further away) costs nothing.
 */

/**
 * Jump of time, and delay of due deadlines, from which the process counts as suspended, ms. As after a restart, that
 * time is not counted.
 */
export const stoodStillMs = 2_000;

export interface Due {
  /** The moment that counts, ms; +∞ for none. Written through `Deadlines.set` only. */
  dueMs: number;
  /** The moment under which it stands in the heap; +∞ when it does not. Written here only. */
  queuedMs: number;
  /** Its index in the heap; -1 when it does not. Written here only. */
  place: number;
  /**
   * Orders two deadlines of one moment: the one that had a moment first. Written here, and by an owner that goes on for another
   * one after a reload.
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

  /** Lets go of an owner: unlike one that is cancelled, it does not wait in the heap until its place comes up. */
  drop(owner: Due): void {
    owner.dueMs = Number.POSITIVE_INFINITY;
    if (owner.place !== -1) this.#take(owner);
  }

  /**
   * The time of the next deadline, or null.
   * @param untilMs one after this is not looked for: what is told then is after it, too, and maybe too early
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

  /** Calls every owner whose moment is at or before `nowMs`, in the order of their moments. */
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

  /** Puts the first one, whose moment moved, where it belongs now. Its moment may have to be looked for: once is enough. */
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

/** A total order: what happens in one moment may not depend on how often somebody asked when the next one is. */
function isBefore(a: Due, b: Due): boolean {
  return a.queuedMs < b.queuedMs || (a.queuedMs === b.queuedMs && (a.order ?? 0) < (b.order ?? 0));
}
