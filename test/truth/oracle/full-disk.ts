/** Times in which the disk takes nothing. */
import type { Outcome } from "../scenario.ts";

/** A refused commit is tried again within this, ms. */
const triedAgainMs = 6_000;

/** True while the disk takes nothing, and until what it refused is tried again. @param beginMs of the scenario, or later by a delay */
export function isDiskFull({ troubles }: Outcome["plan"], beginMs: number, atMs: number): boolean {
  return troubles.faults.some(
    (one) =>
      one.kind === "diskFull" && beginMs + one.fromMs <= atMs && atMs <= beginMs + one.toMs + triedAgainMs,
  );
}
