/** Waiting for things to be so, without polling: a list that tells whoever waits for an element. */

export class Watched<T> {
  readonly items: T[] = [];
  readonly #waiting = new Set<() => void>();

  add(item: T): void {
    this.items.push(item);
    this.changed();
  }

  /** Tells the waiting that an element changed in place. */
  changed(): void {
    for (const look of [...this.#waiting]) look();
  }

  /**
   * @returns the first element that fits, now or later
   * @throws when none has come within `timeoutMs`, saying what was there instead
   */
  waitFor(fits: (item: T) => boolean, timeoutMs = 10_000): Promise<T> {
    const there = this.items.find(fits);
    if (there !== undefined) return Promise.resolve(there);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(look);
        const seen = this.items.map((item) => JSON.stringify(item)?.slice(0, 500)).join("\n  ");
        reject(
          new Error(`nothing fitting came within ${timeoutMs} ms; seen so far:\n  ${seen || "nothing"}`),
        );
      }, timeoutMs);
      const look = () => {
        const found = this.items.find(fits);
        if (found === undefined) return;
        clearTimeout(timer);
        this.#waiting.delete(look);
        resolve(found);
      };
      this.#waiting.add(look);
    });
  }
}
