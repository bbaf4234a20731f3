/** The result type of a history function. */
import type { WindowFunction, WindowPath } from "../../rule.ts";
import type { Range, Unit } from "../../vocabulary/field-types.ts";
import { numberOf, rangeOf, type StaticType, unitOf } from "../types.ts";
import type { Series } from "./history-series.ts";

export function resultType(fn: WindowFunction, { type: series, path }: Series): StaticType {
  if (fn === "since" || fn === "seriesAge") return { kind: "duration" };
  const unit: Unit =
    fn === "countOver"
      ? "count"
      : fn === "drawdown" || fn === "changeRatio"
        ? "ratio"
        : fn === "zscore"
          ? "none"
          : series.kind === "double"
            ? series.unit
            : "none";
  return numberOf("double", unit, resultRange(fn, series, path));
}

const shares: Range = { least: 0, most: 1 };
const growth: Range = { least: -1, most: 10 };

/** The range of the result of a function; undefined if nothing is certain. */
function resultRange(fn: WindowFunction, series: StaticType, path: WindowPath): Range | undefined {
  switch (fn) {
    case "drawdown":
      return shares;
    case "changeRatio":
      // Profit and net figures can change their sign, and by any factor.
      return unitOf(series) === "price" || (path.kind === "field" && path.field === "equity")
        ? growth
        : undefined;
    case "ago":
    case "minOver":
    case "maxOver":
    case "avgOver":
    case "quantileOver":
      return rangeOf(series);
    default:
      return undefined;
  }
}
