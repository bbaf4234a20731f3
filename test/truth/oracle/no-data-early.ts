/** Alerts about missing data that come too early: before something was missing for 30 s of the last two minutes. */
import type { Row } from "./no-data-rows.ts";
import { assetRules, type Readings, type Span } from "./readings.ts";
import type { Terms } from "./terms.ts";

const leastMs = 30_000;
export const windowMs = 120_000;
/** Clocks, and times that are observed once a second, ms. */
const slackMs = 3_000;
/** Rules bear an age of two intervals at least. */
const intervals = 2;

/** @param rows of an alert that fires at a time of the daemon's clock */
export function earlyProblems(
  rows: readonly Row[],
  readings: Readings,
  terms: Terms,
  atMs: number,
): readonly string[] {
  if (rows.length === 0 || rows.some(({ more }) => more)) return [];
  const fromMs = atMs - windowMs;
  const names = [
    ...rows.flatMap(({ words, schedule, wallets, symbols }) =>
      words === assetRules
        ? []
        : (wallets.length > 0 ? wallets : symbols.length > 0 ? symbols : [""]).map(
            (owner) => [schedule, owner] as const,
          ),
    ),
    // A rule that cannot be judged names one source of those that it lacks.
    ...rows.flatMap(({ wallets }) => wallets.map((wallet) => ["traderState", wallet] as const)),
    ...(["markets", "marketConfig"] as const).map((schedule) => [schedule, ""] as const),
  ];
  const spans = names.flatMap(([schedule, owner]) =>
    readings.stale(schedule, owner, intervals * terms.everyMs(schedule), atMs),
  );
  if (rows.some(({ words }) => words === assetRules))
    spans.push(...readings.staleAssetRules(intervals * terms.everyMs("marketConfig"), atMs));
  const missingMs = lengthOf(
    spans
      .filter(({ toMs }) => toMs > fromMs)
      .map((one) => ({ ...one, fromMs: Math.max(one.fromMs, fromMs) })),
  );
  return missingMs + slackMs >= leastMs
    ? []
    : [`that ${leastMs} ms are without data of the last ${windowMs}, not ${missingMs}`];
}

/** The time that spans cover together, ms. */
export function lengthOf(spans: readonly Span[]): number {
  let sumMs = 0;
  let untilMs = Number.NEGATIVE_INFINITY;
  for (const { fromMs, toMs } of spans.toSorted((a, b) => a.fromMs - b.fromMs)) {
    sumMs += Math.max(0, toMs - Math.max(fromMs, untilMs));
    untilMs = Math.max(untilMs, toMs);
  }
  return sumMs;
}
