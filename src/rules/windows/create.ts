/** The window that a rule's history function asks for. */
import { unreachable } from "../../domain/unreachable.ts";
import type { WindowSpec } from "../rule.ts";
import { averageWindow } from "./average.ts";
import { rollingEdge, todayEdge } from "./edge.ts";
import { extremeWindow } from "./extremes.ts";
import { pastWindow } from "./past.ts";
import { rawUpToMs, type Shape } from "./shape.ts";
import { totalWindow } from "./totals.ts";
import type { Window } from "./window.ts";

/** @param timezone of `today`, an IANA name. */
export function createWindow(
  spec: Pick<WindowSpec, "fn" | "windowMs" | "staleAfterMs">,
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
      return averageWindow(shape);
    case "sumOver":
    case "countOver":
      return totalWindow(shape);
    default:
      return unreachable(spec.fn);
  }
}
