/** Collects the changes of one tick. */

import type { Source } from "../sources.ts";
import { type Changes, emptyChanges, type MutableChanges } from "./changes.ts";

/** A reading that is needed at once, outside its schedule. */
export interface Ask {
  readonly source: Source;
  /** Null: a reading of the exchange. */
  readonly wallet: string | null;
}

export class ChangesBuilder {
  readonly atMs: number;
  readonly changes: MutableChanges;
  readonly asks: Ask[] = [];

  constructor(atMs: number) {
    this.atMs = atMs;
    this.changes = emptyChanges();
  }

  /** Moves the changes of another one into this one. */
  absorb(other: ChangesBuilder): void {
    for (const key in this.changes) {
      const from: unknown[] = other.changes[key as keyof Changes];
      if (from.length === 0) continue;
      (this.changes[key as keyof Changes] as unknown[]).push(...from);
      from.length = 0;
    }
  }

  ask(source: Source, wallet: string | null): void {
    if (!this.asks.some((ask) => ask.source === source && ask.wallet === wallet))
      this.asks.push({ source, wallet });
  }
}
