/**
 * The time at which the inputs of a subject's rules become stale. Each answer postpones it for all of them, so they share one
 * deadline, and the rule concerned is searched only when the deadline is reached.
 */
import type { Deadlines, Due } from "../../domain/structures/deadlines.ts";

/** The parts that all subjects share. */
export interface Judging<T> {
  readonly deadlines: Deadlines;
  /** The earliest staleness time of a subject's rules, ms. */
  readonly firstStaleMs: (of: T) => number;
  /** Judges the rules whose time has come; they set new times. */
  readonly judgeStale: (of: T, nowMs: number) => void;
}

export class Staleness<T> implements Due {
  queuedMs = Number.POSITIVE_INFINITY;
  place = -1;
  order: number | undefined = undefined;
  #judging: Judging<T> | null = null;
  readonly #of: T;

  constructor(of: T) {
    this.#of = of;
  }

  get dueMs(): number {
    return this.#judging === null ? Number.POSITIVE_INFINITY : this.#judging.firstStaleMs(this.#of);
  }

  /** Ignored: the time comes from the rules. */
  set dueMs(_: number) {}

  keep(judging: Judging<T>): void {
    this.#judging = judging;
  }

  /** Takes the staleness time of a rule. */
  noted(staleMs: number): void {
    if (staleMs < this.queuedMs) this.#judging?.deadlines.set(this, staleMs);
  }

  onDue(nowMs: number): void {
    const judging = this.#judging;
    if (judging === null) return;
    judging.judgeStale(this.#of, nowMs);
    this.noted(this.dueMs);
  }
}
