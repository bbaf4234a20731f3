/**
 * When what a subject's rules read becomes stale. Each answer puts that off for all of them, so they share one deadline,
 * and it is looked for among them only when it comes up.
 */
import type { Deadlines, Due } from "./deadlines.ts";
import type { Instance } from "./instance.ts";

export class Staleness implements Due {
  queuedMs = Number.POSITIVE_INFINITY;
  place = -1;
  #judge: (instance: Instance) => void = () => {};
  #deadlines: Deadlines | null = null;
  #staleMsOf: (instance: Instance) => number = () => Number.POSITIVE_INFINITY;
  readonly #of: { readonly instances: readonly Instance[] };

  constructor(of: { readonly instances: readonly Instance[] }) {
    this.#of = of;
  }

  get dueMs(): number {
    let firstMs = Number.POSITIVE_INFINITY;
    for (const instance of this.#of.instances) firstMs = Math.min(firstMs, this.#staleMsOf(instance));
    return firstMs;
  }

  /** The moment is the rules' own. */
  set dueMs(_: number) {}

  /**
   * @param judge called with each rule whose moment has come; it sets a new one
   * @param staleMsOf a rule's moment
   */
  keep(
    deadlines: Deadlines,
    judge: (instance: Instance) => void,
    staleMsOf: (instance: Instance) => number,
  ): void {
    this.#deadlines = deadlines;
    this.#judge = judge;
    this.#staleMsOf = staleMsOf;
  }

  /** A rule's moment was set. */
  noted(staleMs: number): void {
    if (staleMs < this.queuedMs) this.#deadlines?.set(this, staleMs);
  }

  onDue(nowMs: number): void {
    for (const instance of [...this.#of.instances])
      if (this.#staleMsOf(instance) <= nowMs) this.#judge(instance);
    this.noted(this.dueMs);
  }
}
