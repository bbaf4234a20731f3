/**
 * Counts of the daemon that rules look back over. Those of its process begin at 0 with each start; a window that reaches back
 * over a start would take that for a fall. So what earlier runs counted is kept, and the counts go on.
 */
import type { DaemonFigures } from "../domain/observation.ts";
import type { Draft } from "./draft.ts";

const keptName = "daemon/counts";

const names = ["authFailures", "repeatedAuthFailures", "badRecords"] as const;

type Counted = Pick<DaemonFigures, (typeof names)[number]>;

const none: Counted = { authFailures: 0, repeatedAuthFailures: 0, badRecords: 0 };

export class Counts {
  /** The counts of earlier runs. */
  readonly #before: Counted;
  #kept: Counted;

  /** @param keep what history knew at the start */
  constructor(keep: ReadonlyMap<string, string>) {
    this.#before = { ...none, ...JSON.parse(keep.get(keptName) ?? "{}") };
    this.#kept = this.#before;
  }

  /** @returns the counts over all runs */
  take(ofThisRun: Counted, draft: Draft): Counted {
    const now: { -readonly [Name in keyof Counted]: number } = { ...none };
    for (const name of names) now[name] = this.#before[name] + ofThisRun[name];
    if (names.every((name) => now[name] === this.#kept[name])) return now;
    this.#kept = now;
    draft.changes.keep.push({ name: keptName, value: JSON.stringify(now) });
    return now;
  }
}
