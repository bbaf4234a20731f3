import type { Clock } from "../domain/clock.ts";

/**
 * Repeats work with a pause after each run. Runs do not overlap, and a failed run is followed by the next one.
 * @returns a function that ends it
 */
export function every(clock: Clock, ms: number, work: () => Promise<void>): () => void {
  let stopped = false;
  let cancel = (): void => {};
  const next = (): void => {
    if (stopped) return;
    cancel = clock.after(ms, () => {
      work().then(next, next);
    });
  };
  next();
  return () => {
    stopped = true;
    cancel();
  };
}
