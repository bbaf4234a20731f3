/** Sources of presses that channels of one bot share: one a bot in a process, begun for the first channel and stopped after the last. */
export interface Source {
  /** The reason why no presses come, for people; null: they do. */
  readonly trouble: string | null;
  stop(): Promise<void>;
}

export interface Listening {
  trouble(): string | null;
  stop(): Promise<void>;
}

export class Sources<Listener> {
  readonly #running = new Map<string, { readonly source: Source; readonly listeners: Set<Listener> }>();

  /** @param begin begins the source of a bot, for listeners that come and go */
  listen(key: string, listener: Listener, begin: (listeners: ReadonlySet<Listener>) => Source): Listening {
    const listeners = this.#running.get(key)?.listeners ?? new Set<Listener>();
    listeners.add(listener);
    const { source } = this.#running.get(key) ?? { source: begin(listeners) };
    this.#running.set(key, { source, listeners });
    return {
      trouble: () => source.trouble,
      stop: async () => {
        listeners.delete(listener);
        if (listeners.size > 0) return;
        this.#running.delete(key);
        await source.stop();
      },
    };
  }
}
