/** The reads that a no-data alert waits for: of data that is missing again, and of data that an answer may omit. */

import type { Source } from "../../domain/sources.ts";
import type { NoDataSource } from "../../domain/status.ts";
import type { Deadlines } from "../../domain/structures/deadlines.ts";
import { wholeSeenMs } from "../../state/wallets/wallets.ts";
import type { World } from "../../state/world.ts";
import { noDataForMs } from "../patience.ts";
import { gapKey } from "./gaps.ts";
import type { NoDataAlert } from "./no-data-alert.ts";

/** Minimum time for which a frequently read source counts as read, ms. */
export const leastFreshMs = 5_000;

export class MissingReads {
  readonly #world: World;
  readonly #scheduleMs: Readonly<Record<Source, number>>;
  readonly #deadlines: Deadlines;

  constructor(world: World, scheduleMs: Readonly<Record<Source, number>>, deadlines: Deadlines) {
    this.#world = world;
    this.#scheduleMs = scheduleMs;
    this.#deadlines = deadlines;
  }

  /** Returns true if a source that is always read has been without a reading for longer than allowed. */
  isMissing(source: NoDataSource, wallet: string | null, nowMs: number): boolean {
    if (source !== "markets" && source !== "traderState") return false;
    const readMs = this.#world.lastSeenMs(source, wallet);
    const freshMs = Math.max(leastFreshMs, 2 * this.#scheduleMs[source]);
    return readMs !== null && nowMs - readMs > freshMs;
  }

  /**
   * Waits for listed data that is missing again, until it is missing for so long that a gap is due. @returns true if it
   * waits
   */
  awaitMissing(noDataAlert: NoDataAlert, nowMs: number): boolean {
    const { sources, wallets, awaited, waited } = noDataAlert;
    for (const source of ["markets", "traderState"] as const) {
      if (!sources.has(source)) continue;
      for (const wallet of source === "markets" ? [null] : wallets) {
        const key = gapKey(source, wallet);
        if (waited.has(key) || !this.isMissing(source, wallet, nowMs)) continue;
        waited.add(key);
        awaited.set(key, { source, wallet });
      }
    }
    if (awaited.size === 0) return false;
    this.#deadlines.set(noDataAlert, Math.min(noDataAlert.dueMs, nowMs + noDataForMs));
    return true;
  }

  /** Returns true once all positions were read after a source whose answers may omit the missing market. */
  isReadForAll(source: Source, noDataAlert: NoDataAlert): boolean {
    const world = this.#world;
    const readMs = world.lastSeenMs(source, null);
    if (readMs === null || [...world.wallets.values()].some((one) => wholeSeenMs(one) === null)) return false;
    if (readMs > noDataAlert.live.alert.sinceMs)
      noDataAlert.readMs = Math.max(noDataAlert.readMs ?? 0, readMs);
    return true;
  }
}
