/** markets.yaml but for the status of a market, which exchange.ts has. */
import {
  above,
  below,
  claimsOf,
  type Ease,
  keepMs,
  minuteMs,
  money,
  type Predicate,
  percent,
} from "../predicate.ts";
import { symbolOf, type View } from "../view.ts";
import { levelAbove } from "./margin.ts";

/** The next change of a session, in UTC; undefined: not known. */
function nextChange(view: View, subject: string): string | undefined {
  const nextMs = view.seen.markets.sessions.get(symbolOf(subject))?.nextMs;
  return nextMs !== undefined && Number.isFinite(nextMs)
    ? new Date(nextMs).toISOString().slice(0, 19).replace("T", " ")
    : undefined;
}

/** Before the end of a session. */
export const soonMs = 30 * minuteMs;
/** The daemon's clock where nothing else happens. */
const clockMs = 1_000;

const marketAfterHours: Predicate = {
  rule: "MarketAfterHours",
  onlyNamesPositions: true,
  forMs: 0,
  keepMs: 0,
  reads: ["calendars"],
  subjects: (view) => view.positions(),
  levels: (view, subject) => {
    const state = view.seen.markets.sessions.get(symbolOf(subject))?.state;
    if (state === undefined) return undefined;
    return [{ severity: "info", on: state === "afterHours", off: state !== "afterHours" }];
  },
  claims: (view, subject, text) =>
    claimsOf(text, [
      ["notional", new RegExp(`you hold ${money}`), view.marked(subject)?.figures.notional],
      ["next change", /opens again\s+(\S+ \S+) UTC/, nextChange(view, subject)],
    ]),
};

const nearLiquidationAfterHours: Predicate = {
  rule: "NearLiquidationAfterHours",
  forMs: 0,
  keepMs,
  reads: ["calendars"],
  worsens: { towards: "lower", value: (view, subject) => view.position(subject)?.figures.distance },
  subjects: (view) => view.positions(),
  levels: (view, subject, ease) => {
    const held = view.position(subject);
    const session = view.seen.markets.sessions.get(symbolOf(subject));
    if (!held) return undefined;
    const { distance } = held.figures;
    const leftMs = session ? session.nextMs - view.nowMs : Number.NaN;
    const [near, far] = [below(distance, 0.15, ease), above(distance, 0.18, ease)];
    const closed = session?.state === "afterHours";
    // Far from liquidation it is over, whatever the session is.
    if (!closed && Number.isNaN(leftMs) && !far) return undefined;
    const on = near && (closed || leftMs < soonMs + ease * clockMs);
    const off = far || (session?.state === "open" && leftMs > soonMs - ease * clockMs);
    return [{ severity: "warning", on, off }];
  },
  claims: (view, subject, text) => {
    const figures = view.position(subject)?.figures;
    return claimsOf(text, [
      ["distance", new RegExp(`is ${percent} from`), figures?.distance],
      ["mark", new RegExp(`far from the mark \\(${money}\\)`), figures?.mark],
    ]);
  },
};

/** The depth of the side that would have to take a position, USD. */
function facing(view: View, subject: string): number | undefined {
  const depth = view.seen.markets.depths.get(symbolOf(subject));
  return view.marked(subject)?.figures.side === "long" ? depth?.bid : depth?.ask;
}

const exitLargerThanBook: Predicate = {
  rule: "ExitLargerThanBook",
  forMs: 5 * minuteMs,
  keepMs: 5 * minuteMs,
  reads: ["orderbook"],
  standsStill: true,
  subjects: (view) => view.positions(),
  levels: (view, subject, ease: Ease) => {
    const [held, depth] = [view.marked(subject), facing(view, subject)];
    if (!held || depth === undefined) return undefined;
    const value = held.figures.notional / depth;
    return [levelAbove(value, "info", 1, 0.8, ease), levelAbove(value, "warning", 3, 2.5, ease)];
  },
  claims: (view, subject, text) => {
    const figures = view.marked(subject)?.figures;
    const depth = view.seen.markets.depths.get(symbolOf(subject));
    const depths = facing(view, subject);
    return claimsOf(text, [
      ["notional", new RegExp(`of ${money} is`), figures?.notional],
      ["share", new RegExp(`is ${percent} of the`), figures && depths && figures.notional / depths],
      ["depth", new RegExp(`of the\\s+${money} of`), depths],
      ["side", / of\s+(bids|asks) within/, figures && (figures.side === "long" ? "bids" : "asks")],
      ["best price", new RegExp(`best bid ${money}`), figures?.side === "long" ? depth?.bestBid : undefined],
      ["best price", new RegExp(`best ask ${money}`), figures?.side === "short" ? depth?.bestAsk : undefined],
      ["side of the book", /: best (bid|ask) /, figures && (figures.side === "long" ? "bid" : "ask")],
    ]);
  },
};

/** The price elsewhere, USD; undefined: there is none, or it is not known. */
const elsewhere = (view: View, subject: string): number | undefined =>
  view.seen.markets.elsewhere.get(symbolOf(subject)) ?? undefined;

const markOffOtherVenues: Predicate = {
  rule: "MarkOffOtherVenues",
  onlyNamesPositions: true,
  forMs: 15 * minuteMs,
  keepMs: 5 * minuteMs,
  reads: ["candles"],
  subjects: (view) => view.positions(),
  levels: (view, subject, ease) => {
    const [held, other] = [view.marked(subject), elsewhere(view, subject)];
    if (!held || other === undefined) return undefined;
    const value = Math.abs(held.figures.mark / other - 1);
    return [levelAbove(value, "warning", 0.03, 0.02, ease)];
  },
  claims: (view, subject, text) => {
    const [held, other] = [view.marked(subject), elsewhere(view, subject)];
    if (!held || other === undefined) return undefined;
    const off = held.figures.mark / other - 1;
    return claimsOf(text, [
      ["share", new RegExp(`is\\s+${percent} (?:above|below)\\s+other venues`), Math.abs(off)],
      ["direction", /% (above|below)\s+other venues/, off < 0 ? "below" : "above"],
      ["mark", new RegExp(`Mark ${money}`), held.figures.mark],
      ["oracle", new RegExp(`oracle ${money}`), view.oracle(subject)],
      ["elsewhere", new RegExp(`other venues ${money}`), other],
      ["notional", new RegExp(`(?:long|short) of ${money}`), held.figures.notional],
    ]);
  },
};

export const marketRules: readonly Predicate[] = [
  marketAfterHours,
  nearLiquidationAfterHours,
  exitLargerThanBook,
  markOffOtherVenues,
];
