/** Sources that answered after too much darkness in the last two minutes: their alerts stay until that is over. */
import type { LiveAlert } from "./alert-book.ts";
import type { Deadlines, Due } from "./deadlines.ts";

interface Trickle extends Due {
  readonly wallet: string | null;
  /** Null where the alert of the whole exchange stands for it. */
  readonly live: LiveAlert | null;
}

export class Trickles {
  readonly #deadlines: Deadlines;
  readonly #trickles = new Map<string, Trickle>();

  constructor(deadlines: Deadlines) {
    this.#deadlines = deadlines;
  }

  get all(): Iterable<Trickle> {
    return this.#trickles.values();
  }

  get(key: string): Trickle | undefined {
    return this.#trickles.get(key);
  }

  /** @param end called at `calmMs`, unless it is dark again before */
  begin(key: string, of: Pick<Trickle, "wallet" | "live">, calmMs: number, end: () => void): void {
    const trickle: Trickle = {
      ...of,
      dueMs: Number.POSITIVE_INFINITY,
      queuedMs: Number.POSITIVE_INFINITY,
      place: -1,
      onDue: () => {
        this.#trickles.delete(key);
        end();
      },
    };
    this.#trickles.set(key, trickle);
    this.#deadlines.set(trickle, calmMs);
  }

  /** It is dark again. */
  leave(key: string): Trickle | undefined {
    const trickle = this.#trickles.get(key);
    if (trickle) this.#deadlines.drop(trickle);
    this.#trickles.delete(key);
    return trickle;
  }
}
