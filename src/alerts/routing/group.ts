/** Groups of owed items, and the times at which they leave. Pure. */

import { z } from "zod";
import type { AlertChange } from "../../domain/alert.ts";
import type { ChangesBuilder } from "../../domain/changes-builder.ts";
import { KeptKind, type KeptValues, keptNumber } from "../../domain/kept.ts";
import type { Way } from "./route.ts";

/** Kept in history under its name, where its interval is longer than a restart takes. */
interface Group {
  /** The time at which the waiting items leave; where nothing waits, the time at which something last left. */
  readonly releaseMs: number;
  readonly intervalMs: number;
}

/** By name. */
export const keptGroup: KeptKind<Group> = new KeptKind(
  "group/{}",
  z.object({ releaseMs: keptNumber, intervalMs: keptNumber }),
);
/** An interval that is no longer is over before a start is: not worth a row each time, ms. */
const briefMs = 10_000;
/** Groups of which nothing was told for so long, and for longer than their interval, begin anew, ms. */
const forgottenMs = 600_000;

/** Returns true for what begins, gets worse or ends at the highest level: it leaves at once. */
export function isUrgent({ kind, alert }: Pick<AlertChange, "kind" | "alert">): boolean {
  return alert.severity === "critical" && kind !== "fell" && kind !== "reminder" && kind !== "acknowledged";
}

/**
 * @param knownMs when the group leaves, or last left, ms; undefined: nothing of it was owed before
 * @returns when an item that is owed at `nowMs` leaves with its group, ms
 */
export function groupReleaseMs(
  knownMs: number | undefined,
  { groupWaitMs, groupIntervalMs }: Pick<Way, "groupWaitMs" | "groupIntervalMs">,
  urgent: boolean,
  nowMs: number,
): number {
  if (urgent) return nowMs;
  // A fast clock before a restart, or an interval that was longer then, holds nothing back for longer than this one.
  const lastMs = Math.min(
    knownMs ?? Number.NEGATIVE_INFINITY,
    nowMs + Math.max(groupWaitMs, groupIntervalMs),
  );
  return lastMs > nowMs ? lastMs : Math.max(nowMs + groupWaitMs, lastMs + groupIntervalMs);
}

export class Groups {
  readonly #groups: Map<string, Group>;
  #sweptMs: number;

  /** @param before those of the watch that is replaced at a reload: they go on */
  constructor(before: Groups | undefined) {
    this.#groups = before ? before.#groups : new Map();
    this.#sweptMs = before ? before.#sweptMs : 0;
  }

  restore(keep: KeptValues): void {
    for (const [name, group] of keptGroup.all(keep)) this.#groups.set(name, group);
  }

  /** The time at which the group of this name leaves next. */
  release(name: string, way: Way, urgent: boolean, builder: ChangesBuilder): number {
    const { atMs: nowMs } = builder;
    const knownMs = this.#groups.get(name)?.releaseMs;
    const releaseMs = groupReleaseMs(knownMs, way, urgent, nowMs);
    if (urgent || releaseMs !== knownMs)
      this.#keepGroup(name, { releaseMs, intervalMs: way.groupIntervalMs }, builder);
    return releaseMs;
  }

  #keepGroup(name: string, group: Group | null, builder: ChangesBuilder): void {
    const before = this.#groups.get(name);
    if (group === null) this.#groups.delete(name);
    else this.#groups.set(name, group);
    const kept = group !== null && group.intervalMs > briefMs;
    if (!kept && (before === undefined || before.intervalMs <= briefMs)) return;
    builder.changes.keep.push(keptGroup.row(name, kept ? group : null));
  }

  /** Forgets old groups, now and then. @returns true if it did */
  sweep(builder: ChangesBuilder): boolean {
    const { atMs: nowMs } = builder;
    if (nowMs - this.#sweptMs < forgottenMs) return false;
    this.#sweptMs = nowMs;
    for (const [name, { releaseMs, intervalMs }] of this.#groups)
      if (nowMs - releaseMs > Math.max(forgottenMs, intervalMs)) this.#keepGroup(name, null, builder);
    return true;
  }
}
