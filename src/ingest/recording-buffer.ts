/**
 * The input of the watch that is not written yet. While the disk takes nothing it is held up to a limit; what comes beyond
 * it is let go of, and the gap is told, so that nobody takes the recording for whole there.
 */
import { type Changes, changes, type Milestone } from "../domain/changes.ts";
import type { Observation } from "../domain/observation.ts";

const maxHeld = 5_000;
/** So many observations of nothing but time are written by themselves. */
const timesHeld = 64;

export class Tape {
  #seen: Observation[] = [];
  /** True if something else than time was seen. */
  #more = false;
  #gap: { fromMs: number; toMs: number; lost: number } | null = null;

  get empty(): boolean {
    return this.#seen.length === 0 && this.#gap === null;
  }

  /** True if it has to be written although nothing else has. */
  get urgent(): boolean {
    return this.#more || this.#seen.length >= timesHeld || this.#gap !== null;
  }

  record(observation: Observation): void {
    // A gap goes on until it is written: what is recorded has to follow on what is.
    if (this.#gap !== null || this.#seen.length >= maxHeld) this.#lose([observation]);
    else {
      this.#seen.push(observation);
      this.#more ||= observation.kind !== "time";
    }
  }

  /** Makes room: nothing of what is held is recorded. */
  letGo(): void {
    const lost = this.#seen;
    this.#seen = [];
    this.#more = false;
    this.#lose(lost);
  }

  /** All of it, to be written; null: nothing. */
  changes(): Changes | null {
    if (this.empty) return null;
    return changes({
      observations: this.#seen,
      milestones: this.#gap === null ? [] : [milestone(this.#gap)],
    });
  }

  /** Marks the result of `changes` as written. */
  written(): number {
    const lost = this.#gap?.lost ?? 0;
    this.#seen = [];
    this.#more = false;
    this.#gap = null;
    return lost;
  }

  #lose(lost: readonly Observation[]): void {
    for (const { atMs } of lost) {
      this.#gap ??= { fromMs: atMs, toMs: atMs, lost: 0 };
      this.#gap.toMs = Math.max(this.#gap.toMs, atMs);
      this.#gap.lost++;
    }
  }
}

function milestone(gap: {
  readonly fromMs: number;
  readonly toMs: number;
  readonly lost: number;
}): Milestone {
  return { atMs: gap.toMs, kind: "recordingGap", value: JSON.stringify(gap) };
}
