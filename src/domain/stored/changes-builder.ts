/** A Changes value while one tick fills it. */

import type { Source } from "../sources.ts";
import type { Changes } from "./changes.ts";

type Filling = { -readonly [K in keyof Changes]: Changes[K][number][] };

/** A reading that should be made at once because something depends on it, outside its schedule. */
export interface Ask {
  readonly source: Source;
  /** Null: of the exchange. */
  readonly wallet: string | null;
}

export class ChangesBuilder {
  readonly atMs: number;
  readonly changes: Filling;
  readonly asks: Ask[] = [];

  constructor(atMs: number) {
    this.atMs = atMs;
    this.changes = {
      observations: [],
      ticks: [],
      facts: [],
      events: [],
      failedReads: [],
      milestones: [],
      payloads: [],
      alerts: [],
      alertChanges: [],
      ruleStates: [],
      ruleStatesGone: [],
      deliveryItems: [],
      messages: [],
      acknowledgements: [],
      cursors: [],
      keep: [],
    };
  }

  /** Takes over what another one holds, and empties it. */
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
