/** The window that a rule's history function asks for. */
import { unreachable } from "../../domain/unreachable.ts";
import type { WindowSpec } from "../rule.ts";
import { rollingEdge, todayEdge } from "./edge.ts";
import { extremeWindow } from "./extremes.ts";
import { momentsWindow } from "./moments.ts";
import { pastWindow } from "./past.ts";
import { quantileWindow } from "./quantile.ts";
import { rawUpToMs, type Shape } from "./shape.ts";
import { ageWindow, sinceWindow } from "./since.ts";
import { totalWindow } from "./totals.ts";
import type { Window } from "./window.ts";

/** @param timezone of `today`, an IANA name. */
export function createWindow(
  spec: Pick<WindowSpec, "fn" | "windowMs" | "staleAfterMs" | "quantile">,
  timezone: string,
): Window {
  const shape: Shape = {
    edge: spec.windowMs === "today" ? todayEdge(timezone) : rollingEdge(spec.windowMs),
    staleAfterMs: spec.staleAfterMs,
    byMinute: spec.windowMs === "today" || spec.windowMs > rawUpToMs,
  };
  switch (spec.fn) {
    case "ago":
    case "change":
    case "changeRatio":
      return pastWindow(spec.fn, shape);
    case "minOver":
    case "maxOver":
    case "drawdown":
      return extremeWindow(spec.fn, shape);
    case "avgOver":
    case "stddevOver":
    case "zscore":
      return momentsWindow(spec.fn, shape);
    case "quantileOver":
      return quantileWindow(spec.quantile ?? 0.5, shape);
    case "since":
      return sinceWindow(shape);
    case "seriesAge":
      return ageWindow(shape);
    case "sumOver":
    case "countOver":
      return totalWindow(shape);
    default:
      return unreachable(spec.fn);
  }
}
