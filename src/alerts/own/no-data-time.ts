/**
 * The time for which sources gave no usable data. A source that answers rarely is as bad as a silent one, so the time
 * without data in the last two minutes is summed across the answers in between. Each stretch without a judgement is a
 * spell.
 */

/** Period over which spells are added up, ms. */
export const noDataWindowMs = 120_000;

interface Spell {
  readonly fromMs: number;
  readonly toMs: number;
}

export class NoDataTime {
  /** Ended spells, oldest first, by source and wallet. */
  readonly #spells = new Map<string, Spell[]>();

  /** Adds an ended spell. */
  add(key: string, fromMs: number, toMs: number): void {
    if (toMs <= fromMs) return;
    const recent = (this.#spells.get(key) ?? []).filter((spell) => spell.toMs > toMs - noDataWindowMs);
    recent.push({ fromMs, toMs });
    this.#spells.set(key, recent);
  }

  /** Returns the total length of ended spells from `fromMs` to `toMs`, ms. */
  within(key: string, fromMs: number, toMs: number): number {
    let sumMs = 0;
    for (const spell of this.#spells.get(key) ?? [])
      sumMs += Math.max(0, Math.min(spell.toMs, toMs) - Math.max(spell.fromMs, fromMs));
    return sumMs;
  }
}
