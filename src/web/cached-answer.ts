/** Computes an answer at most once a second. */
import type { Clock } from "../domain/clock.ts";

const maxAgeMs = 1_000;

/** @returns the last answer if it is less than a second old. Concurrent calls share one computation */
export function cachedAnswer<T>(clock: Clock, make: () => T | Promise<T>): () => Promise<T> {
  let pending: Promise<T> | null = null;
  let last: { readonly answer: T; readonly atMs: number } | null = null;
  return async () => {
    if (last !== null && clock.elapsedMs() - last.atMs < maxAgeMs) return last.answer;
    pending ??= Promise.resolve()
      .then(make)
      .then((answer) => {
        last = { answer, atMs: clock.elapsedMs() };
        return answer;
      })
      .finally(() => {
        pending = null;
      });
    return pending;
  };
}
