/**
 * A map for thousands of instances that mostly have at most one entry: the first entry is stored in fields of the map, and a
 * table, which takes four times the memory, is made for the second. (No private methods: they take memory in each object.)
 */
export class FewMap<K, V> implements ReadonlyMap<K, V> {
  #key: K | typeof free = free;
  #value: V | undefined = undefined;
  /** All entries, from the second one on. */
  #table: Map<K, V> | null = null;

  get size(): number {
    if (this.#table !== null) return this.#table.size;
    return this.#key === free ? 0 : 1;
  }

  get(key: K): V | undefined {
    if (this.#table !== null) return this.#table.get(key);
    return this.#key === key ? this.#value : undefined;
  }

  has(key: K): boolean {
    return this.#table !== null ? this.#table.has(key) : this.#key === key;
  }

  set(key: K, value: V): this {
    if (this.#table !== null) this.#table.set(key, value);
    else if (this.#key === free || this.#key === key) {
      this.#key = key;
      this.#value = value;
    } else {
      this.#table = new Map([...this, [key, value]]);
      this.#key = free;
      this.#value = undefined;
    }
    return this;
  }

  delete(key: K): boolean {
    if (this.#table !== null) return this.#table.delete(key);
    if (this.#key !== key) return false;
    this.clear();
    return true;
  }

  clear(): void {
    this.#table = null;
    this.#key = free;
    this.#value = undefined;
  }

  /** Yields the entries in the order of insertion. Entries that are added or removed meanwhile may be included or not. */
  entries(): MapIterator<[K, V]> {
    if (this.#table !== null) return this.#table.entries();
    return this.#key === free ? nobody() : [[this.#key, this.#value as V] as [K, V]].values();
  }

  [Symbol.iterator](): MapIterator<[K, V]> {
    return this.entries();
  }

  keys(): MapIterator<K> {
    if (this.#table !== null) return this.#table.keys();
    return this.#key === free ? nobody() : [this.#key].values();
  }

  values(): MapIterator<V> {
    if (this.#table !== null) return this.#table.values();
    return this.#key === free ? nobody() : [this.#value as V].values();
  }

  forEach(call: (value: V, key: K, map: ReadonlyMap<K, V>) => void): void {
    for (const [key, value] of this) call(value, key, this);
  }
}

/** The key of a missing entry. */
const free = Symbol("free");
const nobody = (): MapIterator<never> => ([] as never[]).values();
