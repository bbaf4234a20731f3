/**
 * The moments at which time alone can change something. A binary heap in which every owner has at most one live entry;
 * an owner whose moment moved later keeps its old entry and is put back when that comes up, so that the common case
 * (a fresh answer pushes staleness further away) costs nothing.
 */
export interface Due {
  /** The moment that counts, ms; +∞ for none. Written through `Deadlines.set` only. */
  dueMs: number;
  /** The moment under which it stands in the heap; +∞ when it does not. */
  queuedMs: number;
  /** Called when the moment has come. */
  onDue(nowMs: number): void;
}

export class Deadlines {
  readonly #heap: { readonly atMs: number; readonly owner: Due }[] = [];

  set(owner: Due, dueMs: number): void {
    owner.dueMs = dueMs;
    if (dueMs < owner.queuedMs) {
      owner.queuedMs = dueMs;
      this.#push({ atMs: dueMs, owner });
    }
  }

  cancel(owner: Due): void {
    owner.dueMs = Number.POSITIVE_INFINITY;
  }

  /** When the next moment is, or null. May name a moment that turns out to have moved. */
  nextMs(): number | null {
    for (;;) {
      const top = this.#heap[0];
      if (top === undefined) return null;
      if (top.owner.queuedMs === top.atMs && top.owner.dueMs <= top.atMs) return top.atMs;
      this.#settle();
    }
  }

  /** Calls every owner whose moment is at or before `nowMs`, each once. */
  run(nowMs: number): void {
    for (;;) {
      const top = this.#heap[0];
      if (top === undefined || top.atMs > nowMs) return;
      if (top.owner.queuedMs === top.atMs && top.owner.dueMs <= nowMs) {
        this.#pop();
        top.owner.queuedMs = Number.POSITIVE_INFINITY;
        top.owner.dueMs = Number.POSITIVE_INFINITY;
        top.owner.onDue(nowMs);
      } else this.#settle();
    }
  }

  get size(): number {
    return this.#heap.length;
  }

  /** Takes the top entry out and puts its owner back where it belongs now. */
  #settle(): void {
    const top = this.#pop();
    if (top.owner.queuedMs !== top.atMs) return;
    top.owner.queuedMs = Number.POSITIVE_INFINITY;
    if (Number.isFinite(top.owner.dueMs)) this.set(top.owner, top.owner.dueMs);
  }

  #push(entry: { readonly atMs: number; readonly owner: Due }): void {
    const heap = this.#heap;
    let index = heap.push(entry) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (heap[parent]!.atMs <= entry.atMs) break;
      heap[index] = heap[parent]!;
      index = parent;
    }
    heap[index] = entry;
  }

  #pop(): { readonly atMs: number; readonly owner: Due } {
    const heap = this.#heap;
    const top = heap[0]!;
    const last = heap.pop()!;
    if (heap.length > 0) {
      let index = 0;
      for (;;) {
        let child = 2 * index + 1;
        if (child >= heap.length) break;
        if (child + 1 < heap.length && heap[child + 1]!.atMs < heap[child]!.atMs) child++;
        if (heap[child]!.atMs >= last.atMs) break;
        heap[index] = heap[child]!;
        index = child;
      }
      heap[index] = last;
    }
    return top;
  }
}
