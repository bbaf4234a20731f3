import type { Clock } from "../domain/clock.ts";

/** Returns a function that takes one of what may be had now; false: nothing is left. */
export function bucket(clock: Clock, perSecond: number, burst: number): () => boolean {
  let left = burst;
  let atMs = clock.elapsedMs();
  return () => {
    const nowMs = clock.elapsedMs();
    left = Math.min(burst, left + ((nowMs - atMs) / 1_000) * perSecond);
    atMs = nowMs;
    if (left < 1) return false;
    left--;
    return true;
  };
}
