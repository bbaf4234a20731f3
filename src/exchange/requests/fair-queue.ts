/**
 * Queues that share one server by weight: self-clocked fair queueing.
 *
 * Each queue is ordered by due time, and equal ones first in, first out. Among the heads of all queues the one with the
 * smallest finish tag is next. The tag is the virtual time at which the queue became busy, or the tag of the previous
 * entry, plus size / weight. So a queue that is never empty gets at least its weight's share of the service under any
 * load of the others, and an entry of an idle queue is served after at most as much work of the others as its weight
 * allows. An entry can leave before its turn.
 */
export interface FairEntry {
  /** Size of the work, relative to the others. */
  readonly size: number;
  /** The time by which it should be done; any clock that all entries share. */
  readonly dueMs: number;
  /** True if it left before its turn. Only the queue writes it. */
  gone: boolean;
}

class Fifo<E extends FairEntry> {
  readonly weight: number;
  size = 0;
  /** Finish tag of the entry that was served last, or the virtual time at which the queue became busy. */
  tag = 0;
  #entries: E[] = [];
  #head = 0;

  constructor(weight: number) {
    this.weight = weight;
  }

  push(entry: E): void {
    let at = this.#entries.length;
    while (at > this.#head && this.#entries[at - 1]!.dueMs > entry.dueMs) at--;
    this.#entries.splice(at, 0, entry);
    this.size++;
  }

  /** Finish tag of the first entry. */
  get headTag(): number {
    return this.tag + this.first()!.size / this.weight;
  }

  first(): E | undefined {
    while (this.#entries[this.#head]?.gone) this.#head++;
    if (this.size === 0) {
      this.#entries = [];
      this.#head = 0;
    } else if (this.#head > 1_024 && this.#head * 2 > this.#entries.length) {
      this.#entries = this.#entries.slice(this.#head);
      this.#head = 0;
    }
    return this.#entries[this.#head];
  }
}

export class FairQueue<Name extends string | number, E extends FairEntry> {
  readonly #queues = new Map<Name, Fifo<E>>();
  #virtual = 0;
  #size = 0;

  /** @param weights by name; of equal tags the first named is first */
  constructor(weights: readonly (readonly [Name, number])[]) {
    for (const [name, weight] of weights) this.#queues.set(name, new Fifo(weight));
  }

  get size(): number {
    return this.#size;
  }

  sizeOf(name: Name): number {
    return this.#queues.get(name)!.size;
  }

  push(name: Name, entry: E): void {
    const queue = this.#queues.get(name)!;
    if (queue.size === 0) queue.tag = Math.max(queue.tag, this.#virtual);
    queue.push(entry);
    this.#size++;
  }

  /** Removes an entry that is still in the queue. */
  leave(name: Name, entry: E): void {
    entry.gone = true;
    this.#queues.get(name)!.size--;
    this.#noteLess();
  }

  /** Returns the next entry without removing it; undefined if all queues are empty. */
  first(): E | undefined {
    return this.#next()?.first();
  }

  /** Removes and returns the next entry. */
  shift(): E | undefined {
    return this.#shift(this.#next());
  }

  /** Returns the first entry of a queue without removing it. */
  firstOf(name: Name): E | undefined {
    return this.#queues.get(name)!.first();
  }

  /** Removes and returns the first entry of a queue, out of turn. */
  shiftOf(name: Name): E | undefined {
    return this.#shift(this.#queues.get(name));
  }

  #shift(queue: Fifo<E> | undefined): E | undefined {
    const entry = queue?.first();
    if (!queue || !entry) return undefined;
    queue.tag = queue.headTag;
    this.#virtual = Math.max(this.#virtual, queue.tag);
    entry.gone = true;
    queue.size--;
    this.#noteLess();
    return entry;
  }

  #next(): Fifo<E> | undefined {
    let next: Fifo<E> | undefined;
    let tag = Number.POSITIVE_INFINITY;
    for (const queue of this.#queues.values()) {
      if (queue.size === 0) continue;
      const { headTag } = queue;
      if (headTag < tag) {
        next = queue;
        tag = headTag;
      }
    }
    return next;
  }

  #noteLess(): void {
    this.#size--;
    if (this.#size > 0) return;
    // Tags grow with each entry; without waiting entries they have no meaning.
    this.#virtual = 0;
    for (const queue of this.#queues.values()) queue.tag = 0;
  }
}
