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
  readonly #of: { readonly instances: readonly Instance[] };

  constructor(of: { readonly instances: readonly Instance[] }) {
    this.#of = of;
  }

  get dueMs(): number {
    let firstMs = Number.POSITIVE_INFINITY;
    for (const { staleMs } of this.#of.instances) if (staleMs < firstMs) firstMs = staleMs;
    return firstMs;
  }

  /** The moment is the rules' own. */
  set dueMs(_: number) {}

  /** @param judge called with each rule whose moment has come; it sets a new one */
  keep(deadlines: Deadlines, judge: (instance: Instance) => void): void {
    this.#deadlines = deadlines;
    this.#judge = judge;
  }

  /** A rule's moment was set. */
  noted(staleMs: number): void {
    if (staleMs < this.queuedMs) this.#deadlines?.set(this, staleMs);
  }

  onDue(nowMs: number): void {
    for (const instance of [...this.#of.instances]) if (instance.staleMs <= nowMs) this.#judge(instance);
    this.noted(this.dueMs);
  }
}
