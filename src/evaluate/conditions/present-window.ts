/**
 * A window over a figure that changes between its samples, with the present value as its newest sample: profit is known at each
 * price, and sampled at each answer. If the present value is unknown, so is the result.
 */
import { type BucketStats, type Facts, Unknown, type Window } from "../../rules/index.ts";

export class PresentWindow implements Window {
  readonly #window: Window;
  readonly #facts: Facts;
  readonly #field: string;
  readonly #companion: string | null;
  readonly #missing: Unknown;

  constructor(window: Window, facts: Facts, field: string, companion: string | null) {
    this.#window = window;
    this.#facts = facts;
    this.#field = field;
    this.#companion = companion;
    this.#missing = new Unknown("missing", "collateral", `${field} is not known now`);
  }

  read(nowMs: number): number | Unknown {
    const { values } = this.#facts;
    const value = values[this.#field];
    if (typeof value !== "number") return this.#missing;
    const beside = this.#companion === null ? undefined : values[this.#companion];
    const window = this.#window;
    if (window.readWith === undefined) return window.read(nowMs);
    return window.readWith(nowMs, value, typeof beside === "number" ? beside : undefined);
  }

  push(atMs: number, value: number, companion?: number): boolean {
    return this.#window.push(atMs, value, companion);
  }

  pushBucket(atMs: number, stats: BucketStats, companion?: BucketStats, widthMs?: number): void {
    this.#window.pushBucket(atMs, stats, companion, widthMs);
  }

  coverage(nowMs: number): number {
    return this.#window.coverage(nowMs);
  }

  nextEdgeMs(nowMs: number): number | null {
    return this.#window.nextEdgeMs(nowMs);
  }

  clear(): void {
    this.#window.clear();
  }
}
