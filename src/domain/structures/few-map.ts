/**
 * A map that mostly has one entry, or none, and of which there are thousands: one entry stands in the map's own fields, and
 * a table, which takes four times as much, is made for the second. (No private methods: each object would hold a mark of them.)
 */
export class FewMap<K, V> implements ReadonlyMap<K, V> {
  #key: K | typeof free = free;
  #value: V | undefined = undefined;
  /** All entries, once there were two. */
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

  /** In the order in which they came. What comes or goes meanwhile may be told of or not. */
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

/** In place of a key: there is no entry. */
const free = Symbol("free");
const nobody = (): MapIterator<never> => ([] as never[]).values();
