/** Requests over HTTP for data missing in the stream, each at a limited rate. */
import type { Clock } from "../../domain/clock.ts";
import type { Source } from "../../domain/sources.ts";

/** Minimum interval between two reads of one wallet, or of the prices, caused by inconsistent data. */
export const betweenDoubtsMs = 5_000;
/** Minimum interval between two reads of an inbox caused by its items. */
const betweenInboxesMs = 10_000;

export class PacedReads {
  readonly #clock: Pick<Clock, "after" | "elapsedMs">;
  readonly #ask: (source: Source, wallet: string | null) => void;
  readonly #later = new Map<string, () => void>();
  readonly #askedMs = new Map<string, number>();

  constructor(
    clock: Pick<Clock, "after" | "elapsedMs">,
    ask: (source: Source, wallet: string | null) => void,
  ) {
    this.#clock = clock;
    this.#ask = ask;
  }

  stop(): void {
    for (const cancel of this.#later.values()) cancel();
    this.#later.clear();
  }

  doubt(wallet: string): void {
    this.soon("traderState", wallet, betweenDoubtsMs);
  }

  inbox(wallet: string): void {
    this.soon("notifications", wallet, betweenInboxesMs);
  }

  /** Requests a read now, or when the minimum interval since the last one is over: it is never dropped. */
  soon(source: Source, wallet: string | null, betweenMs: number): void {
    const key = `${source} ${wallet}`;
    if (this.#later.has(key)) return;
    const ask = () => {
      this.#later.delete(key);
      this.#askedMs.set(key, this.#clock.elapsedMs());
      this.#ask(source, wallet);
    };
    const waitMs = (this.#askedMs.get(key) ?? Number.NEGATIVE_INFINITY) + betweenMs - this.#clock.elapsedMs();
    if (waitMs <= 0) ask();
    else this.#later.set(key, this.#clock.after(waitMs, ask));
  }
}
