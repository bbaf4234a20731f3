/** The delay after failures of the exchange. */
import type { Random } from "../../domain/clock.ts";
import type { Source } from "../../domain/sources.ts";

/** Maximum delay of sources that risk is computed from, ms. */
const maxCriticalMs = 30_000;
const maxOthersMs = 120_000;
const firstMs = 2_000;

const critical: ReadonlySet<Source> = new Set(["traderState", "markets", "marketConfig", "notifications"]);

/**
 * Returns the delay after `failures` in a row, ms: from 2 s (or the interval, if that is shorter) doubling, with jitter,
 * at most 30 s for critical sources and 2 min for others, even if the exchange states more.
 */
export function backoffMs(
  source: Source,
  everyMs: number,
  failures: number,
  retryAfterMs: number | null,
  random: Random,
): number {
  const maxMs = critical.has(source) ? maxCriticalMs : maxOthersMs;
  const wantedMs = Math.min(everyMs, firstMs) * 2 ** Math.min(failures - 1, 20);
  const jittered = Math.min(wantedMs, maxMs) * (0.75 + 0.25 * random());
  return Math.min(maxMs, Math.max(jittered, retryAfterMs ?? 0));
}
