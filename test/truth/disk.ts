/**
 * The disk under the daemon's database. While a fault `diskFull` is in force what would be written is refused, all of it or a share,
 * and nothing of it is there; what is read is read.
 */

import type { Random } from "../../src/domain/clock.ts";
import { CommitFailed } from "../../src/domain/ports.ts";
import { type Changes, isEmpty } from "../../src/domain/stored/changes.ts";
import { HistoryError } from "../../src/history/index.ts";
import type { ProcessClock } from "./clock.ts";
import type { Weather } from "./weather.ts";

/** Methods of a store that write. */
const writing: ReadonlySet<unknown> = new Set(["commit", "save", "remove", "maintain", "compact"]);
/** The longest time for which the daemon holds what the disk would take again, ms: it runs meanwhile. */
const heldForMs = 6_000;

export interface DiskParts {
  readonly weather: Weather;
  readonly clock: ProcessClock;
  readonly random: Random;
}

/** As one life of the daemon finds it. */
export class Disk {
  readonly #parts: DiskParts;
  /** The time of its last refusal, ms after the beginning; 0: it never refused. */
  #refusedMs = 0;

  constructor(parts: DiskParts) {
    this.#parts = parts;
  }

  /** The daemon may hold changes that were refused. */
  get holds(): boolean {
    return this.#refusedMs > 0 && this.#parts.clock.ranFor(this.#refusedMs) <= heldForMs;
  }

  /** A fraction of a ms, since no two timers may share a moment. */
  spread(): number {
    return this.#parts.random();
  }

  /** @throws {HistoryError} where no database can be opened now */
  open(): void {
    const fault = this.#parts.weather.now("diskFull");
    if (fault && !fault.opens) throw new HistoryError("full", "", "the disk is full");
  }

  /** @returns what a call of a method of the store fails with; null: it does not */
  refusal(method: unknown, given: readonly unknown[]): CommitFailed | null {
    const { weather, clock, random } = this.#parts;
    if (!writing.has(method)) return null;
    if (method === "commit" && (given[0] as readonly Changes[]).every(isEmpty)) return null;
    if (!weather.hits("diskFull", random)) return null;
    if (method === "commit") this.#refusedMs = clock.elapsedMs();
    return weather.now("diskFull")!.reason === "full"
      ? new CommitFailed("full", "the disk is full")
      : new CommitFailed("busy", "another program holds the database locked");
  }
}
