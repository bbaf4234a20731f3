/** Maximum wait of a caller for shared work. */
import type { Clock } from "../../domain/clock.ts";

/** Maximum time for which a caller waits. */
export interface Patience {
  /** Monotonic, ms. */
  readonly endMs: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Waits for work that continues after the caller gives up. @param onLate creates the error at the caller's time limit
 */
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
