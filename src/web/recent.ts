/** Answers that are made at most once a second, however many ask for them. */
import type { Clock } from "../domain/clock.ts";

const keptMs = 1_000;

/** @returns the last answer where it is less than a second old; those who ask while one is made share it */
export function recent<T>(clock: Clock, make: () => T | Promise<T>): () => Promise<T> {
  let making: Promise<T> | null = null;
  let kept: { readonly answer: T; readonly atMs: number } | null = null;
  return async () => {
    if (kept !== null && clock.elapsedMs() - kept.atMs < keptMs) return kept.answer;
    making ??= Promise.resolve()
      .then(make)
      .then((answer) => {
        kept = { answer, atMs: clock.elapsedMs() };
        return answer;
      })
      .finally(() => {
        making = null;
      });
    return making;
  };
}
