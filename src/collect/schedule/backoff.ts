/** The delay after failures of the exchange. */
import type { Random } from "../../domain/clock.ts";
import type { Source } from "../../domain/sources.ts";

/** Sources that risk is computed from: tried at least this often, whatever the failure. */
const CRITICAL_MS = 30_000;
const OTHERS_MS = 120_000;
const FIRST_MS = 2_000;

const critical: ReadonlySet<Source> = new Set(["traderState", "markets", "marketConfig", "notifications"]);

/**
 * Returns the delay after `failures` in a row, ms: from 2 s (or the interval, if that is shorter) doubling, with jitter,
 * at most 30 s for critical sources and 2 min for others, even if the exchange asks for more.
 */
export function backoffMs(
  source: Source,
  everyMs: number,
  failures: number,
  retryAfterMs: number | null,
  random: Random,
): number {
  const maxMs = critical.has(source) ? CRITICAL_MS : OTHERS_MS;
  const wantedMs = Math.min(everyMs, FIRST_MS) * 2 ** Math.min(failures - 1, 20);
  const jittered = Math.min(wantedMs, maxMs) * (0.75 + 0.25 * random());
  return Math.min(maxMs, Math.max(jittered, retryAfterMs ?? 0));
}
