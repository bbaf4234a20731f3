import type { Clock } from "../../domain/clock.ts";

/** A token bucket. Returns a function that takes one token; false: the bucket is empty. */
export function tokenBucket(clock: Clock, perSecond: number, burst: number): () => boolean {
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
