/** The series of an alert, for a chart. */
import type { Severity } from "./alert.ts";

export interface ChartSeries {
  readonly title: string;
  /** The unit of its values, by the units of the rule language: `usd`, `price`, `ratio`, … */
  readonly unit: string;
  /** Time in ms and value, oldest first. */
  readonly points: readonly (readonly [atMs: number, value: number])[];
  /** The values from which its rule fires, by level. */
  readonly thresholds: readonly { readonly severity: Severity; readonly value: number }[];
}
