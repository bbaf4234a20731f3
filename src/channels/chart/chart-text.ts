/** The contents of a chart as text, for labels and alternative texts. Pure. */
import type { ChartSeries } from "../../domain/alerts/chart.ts";
import { formatDurationMs } from "../../domain/text/duration.ts";
import {
  formatAmount,
  formatPercent,
  formatPrice,
  formatRate,
  formatUsd,
} from "../../domain/text/number-text.ts";
import { ownLine, shorten } from "../message/text.ts";

/** @returns a formatter for values of a unit */
export function formatOf(unit: string): (value: number) => string {
  switch (unit) {
    case "usd":
      return formatUsd;
    case "price":
      return formatPrice;
    case "ratio":
      return formatPercent;
    case "rate":
      return (value) => `${formatRate(value)}/h`;
    case "yearlyRate":
      return (value) => `${formatRate(value)}/year`;
    case "duration":
      return formatDurationMs;
    default:
      return formatAmount;
  }
}

/** `main/0.0/SOL: position.liquidationDistance, from 20% to 4.08% within 3h 19m; fires at 10% (warning), 5% (critical)` */
export function chartText({ title, unit, points, thresholds }: ChartSeries): string {
  const format = formatOf(unit);
  const [first, last] = [points[0], points.at(-1)];
  const moved =
    first === undefined || last === undefined
      ? ""
      : `, from ${format(first[1])} to ${format(last[1])} within ${formatDurationMs(last[0] - first[0])}`;
  const limits = thresholds.map(({ severity, value }) => `${format(value)} (${severity})`).join(", ");
  return shorten(ownLine(`${title}${moved}${limits === "" ? "" : `; fires at ${limits}`}`), 300);
}
