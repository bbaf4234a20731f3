/** Invariants of streams: one over which nothing comes any more is given up, so that its data are polled. */
import type { Invariant } from "./invariants.ts";

/** A stream is pinged after 20 s, given up 10 s later, and may have had late frames on their way. */
const noticedWithinMs = 45_000;

export const halfOpenIsNoticed: Invariant = ({ log, plan }) => {
  const beginMs = log.entries[0]!.atMs;
  const stalls = log.of("stalled").map(({ atMs, ms }) => ({ fromMs: atMs, toMs: atMs + ms }));
  const lives = log.of("life").map(({ atMs }) => atMs);
  const ends = log.of("streamEnds").map(({ atMs }) => atMs);
  return plan.troubles.faults.flatMap((fault) => {
    const fromMs = beginMs + fault.fromMs;
    const dueMs = fromMs + noticedWithinMs;
    if (fault.kind !== "halfOpen" || beginMs + fault.toMs < dueMs) return [];
    const isAway = stalls.some((one) => one.fromMs <= dueMs && one.toMs >= fromMs);
    if (isAway || lives.some((ms) => ms >= fromMs && ms <= dueMs)) return [];
    const number = log.of("life").findLast(({ atMs }) => atMs <= fromMs)?.life;
    const isBefore = ({ atMs, life }: { readonly atMs: number; readonly life: number }) =>
      life === number && atMs <= fromMs;
    const opened = log.of("streamOpens").filter(isBefore).length;
    const standing = opened - log.of("streamEnds").filter((one) => one.was && isBefore(one)).length;
    return standing > 0 && !ends.some((ms) => ms > fromMs && ms <= dueMs)
      ? [`${standing} streams told nothing from ${new Date(fromMs).toISOString()} on, and none was given up`]
      : [];
  });
};
