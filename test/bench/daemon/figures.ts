/** Small sums over measurements. */

/** The value below which a share of them lies; 0 ≤ share ≤ 1. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1))] ?? Number.NaN;
}

export const median = (values: readonly number[]): number => quantile(values, 0.5);

/** Processor time of this process so far, all threads, µs. */
export function cpuUs(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}
