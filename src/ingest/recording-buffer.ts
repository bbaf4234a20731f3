/**
 * Observations that are not recorded yet. While commits fail, they are held up to a limit; those beyond it are dropped,
 * and the gap is recorded as a milestone.
 */

import type { Observation } from "../domain/observation.ts";
import { type Changes, changes, type Milestone } from "../domain/stored/changes.ts";

const maxHeld = 5_000;
/** This many observations of time alone are written without waiting for other changes. */
const maxTimesHeld = 64;

export class RecordingBuffer {
  #held: Observation[] = [];
  /** True if an observation other than time is held. */
  #isMoreThanTime = false;
  #gap: { fromMs: number; toMs: number; lost: number } | null = null;

  get empty(): boolean {
    return this.#held.length === 0 && this.#gap === null;
  }

  /** True if it has to be written although there are no other changes. */
  get urgent(): boolean {
    return this.#isMoreThanTime || this.#held.length >= maxTimesHeld || this.#gap !== null;
  }

  record(observation: Observation): void {
    // A gap lasts until it is written, so that recorded observations follow one another.
    if (this.#gap !== null || this.#held.length >= maxHeld) this.#addToGap([observation]);
    else {
      this.#held.push(observation);
      this.#isMoreThanTime ||= observation.kind !== "time";
    }
  }

  /** Drops all held observations. */
  drop(): void {
    const lost = this.#held;
    this.#held = [];
    this.#isMoreThanTime = false;
    this.#addToGap(lost);
  }

  /** Changes that record all held observations and the gap; null: nothing is held. */
  changes(): Changes | null {
    if (this.empty) return null;
    return changes({
      observations: this.#held,
      milestones: this.#gap === null ? [] : [milestone(this.#gap)],
    });
  }

  /**
   * Marks the result of `changes` as written.
   * @returns number of observations lost in the gap
   */
  written(): number {
    const lost = this.#gap?.lost ?? 0;
    this.#held = [];
    this.#isMoreThanTime = false;
    this.#gap = null;
    return lost;
  }

  #addToGap(lost: readonly Observation[]): void {
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
