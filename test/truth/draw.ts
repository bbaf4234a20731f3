/** Draws from a seeded generator, for the plans of scenarios. */
import { type Random, seededRandom } from "../../src/domain/clock.ts";

export class Draw {
  readonly random: Random;

  /** @param part another one gives other draws for the same seed */
  constructor(seed: number, part: number) {
    this.random = seededRandom(Math.imul(seed, 0x9e3779b1) ^ Math.imul(part, 0x85ebca6b));
  }

  between(low: number, high: number): number {
    return low + this.random() * (high - low);
  }

  /** Both ends included. */
  whole(low: number, high: number): number {
    return low + Math.floor(this.random() * (high - low + 1));
  }

  chance(share: number): boolean {
    return this.random() < share;
  }

  one<T>(list: readonly T[]): T {
    return list[Math.floor(this.random() * list.length)]!;
  }

  /** Some of a list, each with this chance; at least one. */
  some<T>(list: readonly T[], share: number): readonly T[] {
    const found = list.filter(() => this.chance(share));
    return found.length > 0 ? found : [this.one(list)];
  }
}
