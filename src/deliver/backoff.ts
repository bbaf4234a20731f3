/** The delay before the next try. Pure. */

export interface Backoff {
  /** After the first failure, ms. */
  readonly firstMs: number;
  /** Never longer, ms. */
  readonly mostMs: number;
}

/**
 * Doubles with every failure; up to a fifth of it is taken off by chance, so that what failed together comes apart.
 * @param failures in a row so far, at least 1  @param jitter in [0, 1)  @returns ms
 */
export function backoffMs({ firstMs, mostMs }: Backoff, failures: number, jitter: number): number {
  return Math.min(mostMs, firstMs * 2 ** Math.min(failures - 1, 40)) * (1 - 0.2 * jitter);
}
