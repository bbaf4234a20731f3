/** A Changes value while one tick fills it. */
import type { Changes } from "../domain/changes.ts";
import type { Source } from "../domain/observation.ts";

type Filling = { -readonly [K in keyof Changes]: Changes[K][number][] };

/** A reading that should be made at once because something depends on it, outside its schedule. */
export interface Ask {
  readonly source: Source;
  readonly wallet: string;
}

export class Draft {
  readonly atMs: number;
  readonly changes: Filling;
  readonly asks: Ask[] = [];

  constructor(atMs: number) {
    this.atMs = atMs;
    this.changes = {
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
      owed: [],
      messages: [],
      acknowledgements: [],
      cursors: [],
      keep: [],
    };
  }

  ask(source: Source, wallet: string): void {
    if (!this.asks.some((ask) => ask.source === source && ask.wallet === wallet))
      this.asks.push({ source, wallet });
  }
}
