/** Groups of pending items and their release times. Pure. */

import { z } from "zod";
import type { AlertChange } from "../../domain/alerts/alert.ts";
import type { ChangesBuilder } from "../../domain/stored/changes-builder.ts";
import { KeptKind, type KeptValues, keptNumber } from "../../domain/stored/kept.ts";
import type { Way } from "./route.ts";

/** Stored in history under its name, if its interval is longer than a restart takes. */
interface Group {
  /** The time at which the waiting items leave; if nothing waits, the time at which the last items left. */
  readonly releaseMs: number;
  readonly intervalMs: number;
}

/** By name. */
export const keptGroup: KeptKind<Group> = new KeptKind(
  "group/{}",
  z.object({ releaseMs: keptNumber, intervalMs: keptNumber }),
);
/** Intervals up to this are over before a start completes and are not stored, ms. */
const briefMs = 10_000;
/** Groups unused for this time, and for longer than their interval, start again, ms. */
const forgottenMs = 600_000;

/** Returns true for a change that starts, worsens or ends an alert at the highest level: it leaves at once. */
export function isUrgent({ kind, alert }: Pick<AlertChange, "kind" | "alert">): boolean {
  return alert.severity === "critical" && kind !== "fell" && kind !== "reminder" && kind !== "acknowledged";
}

/**
 * @param knownMs the time at which the group leaves, or last left, ms; undefined: it has had no items
 * @returns the time at which an item created at `nowMs` leaves with its group, ms
 */
export function groupReleaseMs(
  knownMs: number | undefined,
  { groupWaitMs, groupIntervalMs }: Pick<Way, "groupWaitMs" | "groupIntervalMs">,
  urgent: boolean,
  nowMs: number,
): number {
  if (urgent) return nowMs;
  // A fast clock before a restart, or a formerly longer interval, delays nothing for longer than this interval.
  const lastMs = Math.min(
    knownMs ?? Number.NEGATIVE_INFINITY,
    nowMs + Math.max(groupWaitMs, groupIntervalMs),
  );
  return lastMs > nowMs ? lastMs : Math.max(nowMs + groupWaitMs, lastMs + groupIntervalMs);
}

export class Groups {
  readonly #groups: Map<string, Group>;
  #sweptMs: number;

  /** @param before the groups of the watch that is replaced at a reload */
  constructor(before: Groups | undefined) {
    this.#groups = before ? before.#groups : new Map();
    this.#sweptMs = before ? before.#sweptMs : 0;
  }

  restore(keep: KeptValues): void {
    for (const [name, group] of keptGroup.all(keep)) this.#groups.set(name, group);
  }

  /** Returns the time at which the group of this name leaves next. */
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

  /** Removes old groups from time to time. @returns true if it did */
  sweep(builder: ChangesBuilder): boolean {
    const { atMs: nowMs } = builder;
    if (nowMs - this.#sweptMs < forgottenMs) return false;
    this.#sweptMs = nowMs;
    for (const [name, { releaseMs, intervalMs }] of this.#groups)
      if (nowMs - releaseMs > Math.max(forgottenMs, intervalMs)) this.#keepGroup(name, null, builder);
    return true;
  }
}
