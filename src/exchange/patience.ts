/** The time for which a caller waits for something that others may wait for as well. */
import type { Clock } from "../domain/clock.ts";

/** Maximum time for which a caller waits. */
export interface Patience {
  /** Monotonic, ms. */
  readonly endMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** Waits for work that goes on when the caller gives up. @param onLate makes the error of a caller whose patience is at its end */
export function waitWithin<T>(
  work: Promise<T>,
  { endMs, signal }: Patience,
  clock: Pick<Clock, "after" | "elapsedMs">,
  onLate: () => Error,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(Math.max(0, endMs - clock.elapsedMs()), () => {
      signal?.removeEventListener("abort", onAbort);
      reject(onLate());
    });
    const onAbort = () => {
      cancel();
      reject(signal?.reason);
    };
    signal?.addEventListener("abort", onAbort, { once: true });
    void work.then((result) => {
      cancel();
      signal?.removeEventListener("abort", onAbort);
      resolve(result);
    });
  });
}
