/**
 * Reads that many wallets need at once, after a connection came back: started at a quarter of the request ceiling,
 * wallets at risk first, so that regular polls keep their turns and the exchange is not overloaded.
 */
import type { Clock } from "../../domain/clock.ts";
import type { Source } from "../../domain/sources.ts";

const SHARE = 0.25;

export interface SpreadReadsOptions {
  readonly clock: Clock;
  readonly ratePerSecond: () => number;
  readonly marginRatio: (wallet: string) => number | null;
  readonly ask: (source: Source, wallet: string) => void;
  /** Returns the time at which the wallet was last read, monotonic ms; a read since the request replaces it. */
  readonly readMs: (source: Source, wallet: string) => number;
}

interface Wanted {
  readonly source: Source;
  readonly wallet: string;
  readonly sinceMs: number;
}

export class SpreadReads {
  readonly #options: SpreadReadsOptions;
  readonly #waiting = new Map<string, Wanted>();
  #sorted: Wanted[] = [];
  #cancel: (() => void) | null = null;

  constructor(options: SpreadReadsOptions) {
    this.#options = options;
  }

  add(source: Source, wallets: readonly string[]): void {
    const sinceMs = this.#options.clock.elapsedMs();
    for (const wallet of wallets) this.#waiting.set(`${source} ${wallet}`, { source, wallet, sinceMs });
    // Worst last, since they are taken from the end.
    const ratio = new Map([...this.#waiting.values()].map(({ wallet }) => [wallet, this.#ratio(wallet)]));
    this.#sorted = [...this.#waiting.values()].sort((a, b) => ratio.get(a.wallet)! - ratio.get(b.wallet)!);
    if (!this.#cancel) this.#next();
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = null;
    this.#waiting.clear();
    this.#sorted = [];
  }

  #ratio(wallet: string): number {
    return this.#options.marginRatio(wallet) ?? 0;
  }

  #next(): void {
    const { clock, ratePerSecond, ask, readMs } = this.#options;
    this.#cancel = null;
    for (let wanted = this.#sorted.pop(); wanted; wanted = this.#sorted.pop()) {
      this.#waiting.delete(`${wanted.source} ${wanted.wallet}`);
      if (readMs(wanted.source, wanted.wallet) > wanted.sinceMs) continue;
      ask(wanted.source, wanted.wallet);
      this.#cancel = clock.after(1_000 / (SHARE * Math.max(0.1, ratePerSecond())), () => this.#next());
      return;
    }
  }
}
