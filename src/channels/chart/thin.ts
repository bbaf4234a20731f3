/** Fewer points of a series, that look the same when drawn. Pure. */
import type { ChartSeries } from "../../domain/chart.ts";

/**
 * The least and the most of each stretch, so that no spike is lost, and the last point. @returns about `most`, never more
 * than two above
 */
export function thinned(points: ChartSeries["points"], most: number): ChartSeries["points"] {
  if (points.length <= most) return points;
  const size = Math.ceil(points.length / (most / 2));
  const kept: (readonly [number, number])[] = [];
  for (let index = 0; index < points.length; index += size) {
    const some = points.slice(index, index + size);
    const least = some.reduce((a, b) => (b[1] < a[1] ? b : a));
    const highest = some.reduce((a, b) => (b[1] > a[1] ? b : a));
    kept.push(...(least === highest ? [least] : least[0] < highest[0] ? [least, highest] : [highest, least]));
  }
  const last = points.at(-1)!;
  if (kept.at(-1) !== last) kept.push(last);
  return kept;
}
