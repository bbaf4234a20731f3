/** Creates the window of a history function. */
import { unreachable } from "../../domain/unreachable.ts";
import type { WindowSpec } from "../rule.ts";
import { AgoWindow, agoKind } from "./ago-window.ts";
import { rollingEdge, todayEdge } from "./edge.ts";
import { ExtremeWindow, extremeKind } from "./extremes.ts";
import { minuteMs } from "./minute.ts";
import { MomentsWindow, momentsKind } from "./moments.ts";
import { QuantileWindow, quantileKind } from "./quantile.ts";
import { rawUpToMs, type Shape } from "./shape.ts";
import { AgeWindow, SinceWindow } from "./since.ts";
import { TotalWindow, totalKind } from "./totals.ts";
import type { Window } from "./window.ts";

type Spec = Pick<WindowSpec, "fn" | "windowMs" | "staleAfterMs" | "quantile">;

/** @param timezone time zone of `today`, an IANA name */
export function createWindow(spec: Spec, timezone: string): Window {
  return windowMaker(spec, timezone)();
}

/**
 * Creates the windows of one specification. Their shared data are created once: a window itself is little more than its samples.
 * @returns a function that creates one of them
 */
export function windowMaker(spec: Spec, timezone: string): () => Window {
  const { fn } = spec;
  const shape = shapeOf(spec, timezone);
  const inMinutes: Shape = shape.byMinute ? { ...shape, edge: shape.edge.wholeMinutes() } : shape;
  switch (fn) {
    case "ago":
    case "change":
    case "changeRatio": {
      const kind = agoKind(fn, shape);
      return () => new AgoWindow(kind);
    }
    case "minOver":
    case "maxOver":
    case "drawdown": {
      const kind = extremeKind(fn, shape);
      return () => new ExtremeWindow(kind);
    }
    case "avgOver":
    case "stddevOver":
    case "zscore": {
      const kind = momentsKind(fn, inMinutes);
      return () => new MomentsWindow(kind);
    }
    case "quantileOver": {
      const kind = quantileKind(spec.quantile ?? 0.5, inMinutes);
      return () => new QuantileWindow(kind);
    }
    case "since":
      return () => new SinceWindow(shape);
    case "seriesAge":
      return () => new AgeWindow(shape);
    case "sumOver":
    case "countOver": {
      const kind = totalKind(shape);
      return () => new TotalWindow(kind);
    }
    default:
      return unreachable(fn);
  }
}

function shapeOf({ windowMs, staleAfterMs }: Spec, timezone: string): Shape {
  const edge = windowMs === "today" ? todayEdge(timezone) : rollingEdge(windowMs);
  const byMinute = windowMs === "today" || windowMs > rawUpToMs;
  // Those of the minutes at both ends, and the one that overlaps the edge.
  const maxSamples = byMinute ? Math.ceil(edge.spanMs / minuteMs) + 3 : Number.POSITIVE_INFINITY;
  return { edge, staleAfterMs, byMinute, maxSamples };
}
