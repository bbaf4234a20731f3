/** The delay before the next try. Pure. */

export interface Backoff {
  /** Delay after the first failure, ms. */
  readonly firstMs: number;
  /** Maximum delay, ms. */
  readonly maxMs: number;
}

/**
 * Doubles with every failure, with up to a fifth of random reduction, so that simultaneous failures spread out.
 * @param failures in a row so far, at least 1  @param jitter in [0, 1)  @returns ms
 */
export function backoffMs({ firstMs, maxMs }: Backoff, failures: number, jitter: number): number {
  return Math.min(maxMs, firstMs * 2 ** Math.min(failures - 1, 40)) * (1 - 0.2 * jitter);
}
