/** stop-loss.yaml. A stop loss of the simulated exchange closes all of its position. */
import { above, below, claimsOf, minuteMs, money, type Predicate, percent } from "../predicate.ts";
import type { TriggerTruth } from "../truth.ts";
import type { Holding, View } from "../view.ts";
import { missing } from "./liquidation.ts";

const stopLossesOf = ({ position }: Pick<Holding, "position">): readonly TriggerTruth[] =>
  position.triggers.filter(({ kind }) => kind === "stopLoss");

export const stopsOf = (held: Pick<Holding, "position">): readonly number[] =>
  stopLossesOf(held).map(({ ticks }) => ticks);

/** The stops that the mark meets first: all of that price. */
function firstStops(held: Holding): readonly TriggerTruth[] {
  const ticks = held.figures.side === "long" ? Math.max(...stopsOf(held)) : Math.min(...stopsOf(held));
  return stopLossesOf(held).filter((one) => one.ticks === ticks);
}

/** USD of the stop that the mark meets first; undefined: none. */
function nearestStop(held: Holding, view: View): number | undefined {
  const [stop] = firstStops(held);
  return stop && (stop.ticks * held.figures.mark) / view.seen.prices.get(held.position.symbol)!.markTicks;
}

/** Figures of a position's nearest stop loss, as its status shows them; a figure is absent where several are as near. */
export function stopFigures(held: Holding, view: View): Readonly<Record<string, number>> {
  const price = nearestStop(held, view);
  const [stop, ...others] = firstStops(held);
  if (price === undefined || stop === undefined) return {};
  const { side, mark } = held.figures;
  const room = (side === "long" ? 1 : -1) * (stop.ticks - stop.executionTicks);
  return {
    stopLossPrice: price,
    stopLossDistance: Math.abs(mark - price) / mark,
    ...(others.length === 0 ? { stopLossRoom: room / stop.ticks } : {}),
  };
}

/** USD that no stop would close. */
const uncovered = (held: Holding): number => (stopsOf(held).length > 0 ? 0 : held.figures.notional);

export const stopLossMissing: Predicate = {
  rule: "StopLossMissing",
  forMs: 5 * minuteMs,
  keepMs: 30_000,
  subjects: (view) => view.positions(),
  levels: (view, subject, ease) => {
    const held = view.position(subject);
    if (!held) return undefined;
    const without = view.labels(subject).stops === "none";
    const limit = Math.max(1_000, held.of.effective);
    const value = uncovered(held);
    const on = !without && above(value, limit, ease);
    const off = without || below(value, 0.9 * limit, ease);
    const stopped = stopsOf(held).length > 0;
    return [
      { severity: "info", on, off },
      { severity: "warning", on: on && !stopped, off: off || stopped },
    ];
  },
  claims: (view, subject, text) => {
    const held = view.position(subject);
    if (!held) return undefined;
    const { figures } = held;
    return claimsOf(text, [
      ["notional", new RegExp(`(?:long|short) of ${money}`), figures.notional],
      ["nearest stop", new RegExp(`Nearest stop loss at ${money}`), nearestStop(held, view)],
      ["without a stop", new RegExp(`${money} stand without`), uncovered(held)],
    ]);
  },
};

export const stopLossBehindLiquidation: Predicate = {
  rule: "StopLossBehindLiquidation",
  forMs: minuteMs,
  keepMs: 30_000,
  subjects: (view) => view.positions(),
  levels: (view, subject, ease) => {
    const held = view.position(subject);
    if (!held) return undefined;
    const { side, liquidation, mark } = held.figures;
    const stop = nearestStop(held, view);
    if (stop === undefined) return [{ severity: "warning", on: false, off: true }];
    const price = liquidation ?? missing(side);
    const value = (side === "long" ? stop - price : price - stop) / mark;
    return [
      {
        severity: "warning",
        // Both are whole ticks, so that nothing but 0 is near 0.
        on: value <= 1e-12,
        off: above(value, 0.002, ease),
      },
    ];
  },
  claims: (view, subject, text) => {
    const held = view.position(subject);
    if (!held) return undefined;
    const { side, liquidation, mark, notional } = held.figures;
    const stop = nearestStop(held, view);
    const price = liquidation ?? missing(side);
    const behind = stop && (side === "long" ? price - stop : stop - price) / mark;
    return claimsOf(text, [
      ["stop", new RegExp(`stop loss at ${money}`), stop],
      ["liquidation price", new RegExp(`liquidation at\\s+${money}`), price],
      [
        "distance",
        new RegExp(`lies\\s+${percent} of the mark`),
        behind === undefined ? undefined : Math.abs(behind),
      ],
      [
        "order",
        /(before|behind) liquidation at/,
        behind === undefined ? undefined : behind < 0 ? "before" : "behind",
      ],
      ["notional", new RegExp(`collateral: ${money} would`), notional],
    ]);
  },
};
