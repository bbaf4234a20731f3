/**
 * The time at which the inputs of a subject's rules become stale. Each answer puts that off for all of them, so they share
 * one deadline, and it is looked for among them only when it comes up.
 */
import type { Deadlines, Due } from "../../domain/deadlines.ts";

/** The parts that all subjects share. */
export interface Judging<T> {
  readonly deadlines: Deadlines;
  /** The first moment of a subject's rules, ms. */
  readonly firstStaleMs: (of: T) => number;
  /** Judges by those whose moment has come; they set new ones. */
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

  /** The moment is the rules' own. */
  set dueMs(_: number) {}

  keep(judging: Judging<T>): void {
    this.#judging = judging;
  }

  /** A rule's moment was set. */
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
