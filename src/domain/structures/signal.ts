/** Notifies listeners, in the order of their subscription. */
export class Signal<News extends unknown[]> {
  readonly #listeners: ((...news: News) => void)[] = [];

  listen(listener: (...news: News) => void): void {
    this.#listeners.push(listener);
  }

  send(...news: News): void {
    for (const listener of this.#listeners) listener(...news);
  }
}
