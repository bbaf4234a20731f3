/**
 * The size, seed and result of an attack.
 * PERPWATCH_ATTACKS: `all`, or a number of inputs; otherwise a sample. PERPWATCH_ATTACK_FROM: the first of them. PERPWATCH_SEED: the seed. PERPWATCH_ATTACK_ROWS: a file to
 * which each row is appended (test/attacks/run.ts prints them as one table).
 */
import { appendFileSync } from "node:fs";

export const seed = Number(process.env.PERPWATCH_SEED ?? Date.now() % 2 ** 31);
/** So few inputs that CI has time for them. */
export const isSample = (process.env.PERPWATCH_ATTACKS ?? "") === "";
export const isWhole = process.env.PERPWATCH_ATTACKS === "all";
/** The first input of each parser. */
export const from = Number(process.env.PERPWATCH_ATTACK_FROM ?? 0);

/** The number of inputs to try. */
export function inputs(sample: number, all: number): number {
  const wanted = process.env.PERPWATCH_ATTACKS;
  if (wanted === undefined || wanted === "") return sample;
  return wanted === "all" ? all : Number(wanted);
}

export interface Row {
  readonly attack: string;
  /** Left out of attacks that last a time. */
  readonly inputs?: number;
  readonly accepted?: number;
  readonly refused?: number;
  /** The number of polls during an attack that lasts a time. */
  readonly polls?: number;
  /** The longest that one input took, or that something was held up, ms. */
  readonly longestMs: number;
  /** MB. */
  readonly peakMb: number;
}

export function report(row: Row): void {
  console.log(lineOf(row));
  const file = process.env.PERPWATCH_ATTACK_ROWS;
  if (file !== undefined) appendFileSync(file, `${JSON.stringify({ ...row, seed })}\n`);
}

export const heading: readonly string[] = "attack,inputs,accepted,refused,polls,longest ms,peak MB".split(
  ",",
);

export function cells(row: Row): readonly string[] {
  const { attack, inputs = "", accepted = "", refused = "", polls = "", longestMs, peakMb } = row;
  return [attack, inputs, accepted, refused, polls, longestMs.toFixed(1), Math.round(peakMb)].map(String);
}

export function lineOf(row: Row): string {
  return `${cells(row)
    .map((cell, index) => `${heading[index]}: ${cell}`)
    .filter((text) => !text.endsWith(": "))
    .join(" · ")} (seed ${seed})`;
}

/** Measures inputs one by one. */
export class Meter {
  longestMs = 0;
  peakMb = 0;
  accepted = 0;
  refused = 0;
  #count = 0;

  /** @returns the outcome; undefined: the function threw one of the errors that it may throw */
  try<T>(act: () => T, mayThrow: (error: unknown) => boolean): T | undefined {
    const startMs = performance.now();
    try {
      const found = act();
      this.accepted++;
      return found;
    } catch (error) {
      if (!mayThrow(error)) throw error;
      this.refused++;
      return undefined;
    } finally {
      this.longestMs = Math.max(this.longestMs, performance.now() - startMs);
      if (this.#count++ % 4_096 === 0)
        this.peakMb = Math.max(this.peakMb, process.memoryUsage().rss / 1_048_576);
    }
  }

  row(attack: string): Row {
    const { longestMs, peakMb, accepted, refused } = this;
    return { attack, inputs: accepted + refused, accepted, refused, longestMs, peakMb };
  }
}
