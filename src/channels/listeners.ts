/**
 * Sources of button presses, shared by the channels of one bot: one source per bot and process, started for the first
 * channel and stopped after the last.
 */
export interface Source {
  /** The reason why no presses are received, for people; null: they are received. */
  readonly trouble: string | null;
  stop(): Promise<void>;
}

export interface Listening {
  trouble(): string | null;
  stop(): Promise<void>;
}

export class Sources<Listener> {
  readonly #running = new Map<string, { readonly source: Source; readonly listeners: Set<Listener> }>();

  /** @param startSource starts the source of a bot, for a set of listeners that changes */
  listen(
    key: string,
    listener: Listener,
    startSource: (listeners: ReadonlySet<Listener>) => Source,
  ): Listening {
    const listeners = this.#running.get(key)?.listeners ?? new Set<Listener>();
    listeners.add(listener);
    const { source } = this.#running.get(key) ?? { source: startSource(listeners) };
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
