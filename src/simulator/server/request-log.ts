/** The received requests, for assertions of tests. Control calls are not counted. */
import { pathFits } from "./faults.ts";

export interface Asked {
  /** Simulated ms. */
  readonly atMs: number;
  readonly method: string;
  readonly path: string;
  /** Without "?". */
  readonly query: string;
  /** 0 while it is in progress, and for a connection that was cut off. */
  status: number;
}

const maxKept = 20_000;
const maxPaths = 20_000;

export class RequestLog {
  #asked: Asked[] = [];
  readonly #counts = new Map<string, number>();
  #total = 0;

  note(asked: Asked): void {
    this.#total += 1;
    this.#asked.push(asked);
    if (this.#asked.length > maxKept * 2) this.#asked = this.#asked.slice(-maxKept);
    const known = this.#counts.get(asked.path);
    if (known !== undefined || this.#counts.size < maxPaths) this.#counts.set(asked.path, (known ?? 0) + 1);
  }

  /** @param pattern exact path, or a prefix that ends in `*`; undefined: all */
  query(pattern: string | undefined) {
    const fits = (path: string) => pattern === undefined || pathFits(pattern, path);
    const counts = Object.fromEntries([...this.#counts].filter(([path]) => fits(path)));
    const count = Object.values(counts).reduce((sum, it) => sum + it, 0);
    return {
      count,
      total: this.#total,
      counts,
      requests: this.#asked.filter((it) => fits(it.path)).slice(-1_000),
    };
  }

  clear(): void {
    this.#asked = [];
    this.#counts.clear();
    this.#total = 0;
  }
}
