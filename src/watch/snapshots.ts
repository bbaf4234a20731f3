/** What a wallet was worth at its last answers. Numbers in one list: there is one of these with each answer of each wallet. */

/** Equity of a wallet at one of its answers. */
export interface Snapshot {
  readonly atMs: number;
  readonly slot: number;
  readonly equityUsd: number;
}

/** How far before the newest one they go back. */
const keptMs = 180_000;
const parts = 3;
/** From so many on, those that are too old are let go of: a few more than come in that time, one every 5 s. */
const roomy = 40;

export class Snapshots {
  readonly #of: number[] = [];

  push(atMs: number, slot: number, equityUsd: number): void {
    const of = this.#of;
    if (of.length >= roomy * parts) of.splice(0, firstOf(of, atMs));
    of.push(atMs, slot, equityUsd);
  }

  /** The newest of those whose time is wanted; null: none is kept. */
  findLast(wanted: (atMs: number) => boolean): Snapshot | null {
    const of = this.#of;
    const first = of.length === 0 ? 0 : firstOf(of, of[of.length - parts]!);
    for (let i = of.length - parts; i >= first; i -= parts)
      if (wanted(of[i]!)) return { atMs: of[i]!, slot: of[i + 1]!, equityUsd: of[i + 2]! };
    return null;
  }
}

/** Where the first one stands that is kept, as of the newest. */
function firstOf(of: readonly number[], newestMs: number): number {
  let first = 0;
  while (first < of.length && of[first]! < newestMs - keptMs) first += parts;
  return first;
}
