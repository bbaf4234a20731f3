/** Positions that were read once and that a later answer about their account did not hold: nobody is reminded of them. */
import type { Observation } from "../../../src/domain/observation.ts";
import { accountOf, type View } from "./view.ts";

/** A reminder that was due before an answer is reported by what was known then, ms. */
const promptMs = 1_000;

export class Closed {
  readonly #held = new Set<string>();
  /** The daemon's clock at the first answer without it, by position. */
  readonly #closedMs = new Map<string, number>();

  /** Answers of a time were not recorded: which they held is not known. */
  lose(): void {
    this.#held.clear();
    this.#closedMs.clear();
  }

  note({ wallet, pdaIndex, told, atMs }: Observation & { readonly kind: "accounts" }, view: View): void {
    const prefix = `${wallet}/${pdaIndex}.`;
    const isTold = (subject: string): boolean =>
      subject.startsWith(prefix) &&
      (told === undefined || told.includes(Number(accountOf(subject).slice(prefix.length))));
    const now = new Set([...view.positions(), ...view.whalePositions()].filter(isTold));
    for (const subject of this.#held)
      if (isTold(subject) && !now.has(subject) && !this.#closedMs.has(subject))
        this.#closedMs.set(subject, atMs);
    for (const subject of now) {
      this.#held.add(subject);
      this.#closedMs.delete(subject);
    }
  }

  /** The time since when it has been closed, ms; null: it is not, or only just. */
  sinceMs(subject: string, atMs: number): number | null {
    const closedMs = this.#closedMs.get(subject);
    return closedMs !== undefined && atMs - closedMs > promptMs ? closedMs : null;
  }
}
