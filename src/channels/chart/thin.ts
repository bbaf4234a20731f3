/** Reduces the points of a series without changing the look of its line. Pure. */
import type { ChartSeries } from "../../domain/alerts/chart.ts";

/**
 * Keeps the minimum and maximum of each section, so that no spike is lost, and the last point. @returns about `most`
 * points, at most two more
 */
export function thinned(points: ChartSeries["points"], max: number): ChartSeries["points"] {
  if (points.length <= max) return points;
  const size = Math.ceil(points.length / (max / 2));
  const kept: (readonly [number, number])[] = [];
  for (let index = 0; index < points.length; index += size) {
    const some = points.slice(index, index + size);
    const min = some.reduce((a, b) => (b[1] < a[1] ? b : a));
    const highest = some.reduce((a, b) => (b[1] > a[1] ? b : a));
    kept.push(...(min === highest ? [min] : min[0] < highest[0] ? [min, highest] : [highest, min]));
  }
  const last = points.at(-1)!;
  if (kept.at(-1) !== last) kept.push(last);
  return kept;
}
