/**
 * The time for which sources could not be judged by. A source that answers now and then is as bad as one that is silent,
 * so the time of the last two minutes is added up over the answers in between. Each stretch without a judgement is a spell.
 */

/** Period over which spells are added up, ms. */
export const darkWindowMs = 120_000;

interface Spell {
  readonly fromMs: number;
  readonly toMs: number;
}

export class DarkTime {
  /** Spells that are over, oldest first, by source and wallet. */
  readonly #spells = new Map<string, Spell[]>();

  /** A spell is over. */
  add(key: string, fromMs: number, toMs: number): void {
    if (toMs <= fromMs) return;
    const recent = (this.#spells.get(key) ?? []).filter((spell) => spell.toMs > toMs - darkWindowMs);
    recent.push({ fromMs, toMs });
    this.#spells.set(key, recent);
  }

  /** The length of all spells from `fromMs` to `toMs` that are over, ms. */
  within(key: string, fromMs: number, toMs: number): number {
    let sumMs = 0;
    for (const spell of this.#spells.get(key) ?? [])
      sumMs += Math.max(0, Math.min(spell.toMs, toMs) - Math.max(spell.fromMs, fromMs));
    return sumMs;
  }
}
