/**
 * Counts of the daemon that rules look back over. Those of its process begin at 0 with each start; a window that reaches back
 * over a start would take that for a fall. So what earlier runs counted is kept, and the counts go on.
 */
import type { DaemonFigures } from "../domain/observation.ts";
import type { Draft } from "./draft.ts";

const keptName = "daemon/counts";

type Counted = Pick<DaemonFigures, "authFailures" | "badRecords">;

export class Counts {
  /** The counts of earlier runs. */
  readonly #before: Counted;
  #kept: Counted;

  /** @param keep what history knew at the start */
  constructor(keep: ReadonlyMap<string, string>) {
    this.#before = { authFailures: 0, badRecords: 0, ...JSON.parse(keep.get(keptName) ?? "{}") };
    this.#kept = this.#before;
  }

  /** @returns the counts over all runs */
  take({ authFailures, badRecords }: Counted, draft: Draft): Counted {
    const { authFailures: refused, badRecords: bad } = this.#kept;
    const now = {
      authFailures: this.#before.authFailures + authFailures,
      badRecords: this.#before.badRecords + badRecords,
    };
    if (now.authFailures === refused && now.badRecords === bad) return now;
    this.#kept = now;
    draft.changes.keep.push({ name: keptName, value: JSON.stringify(now) });
    return now;
  }
}
