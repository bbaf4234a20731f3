/** funding.yaml. */
import { duration, durationClaims, windowClaims } from "../duration.ts";
import {
  above,
  below,
  claimsOf,
  type Ease,
  type Level,
  minuteMs,
  money,
  type Predicate,
  percent,
} from "../predicate.ts";
import { accountOf, symbolOf, type View } from "../view.ts";
import { accountClaims, levelBelow } from "./liquidation.ts";
import { levelAbove } from "./margin.ts";

const hoursPerYear = 24 * 365;
const hourMs = 3_600_000;
const times = { forMs: 15 * minuteMs, keepMs: 30 * minuteMs };

/** The share of its notional that a position pays in a year; negative: it receives. */
function yearly(view: View, subject: string): number | undefined {
  const rate = view.seen.markets.rate(symbolOf(subject));
  const side = view.marked(subject)?.figures.side;
  return rate === undefined || side === undefined
    ? undefined
    : (side === "long" ? rate : -rate) * hoursPerYear;
}

export const fundingRateHigh: Predicate = {
  rule: "FundingRateHigh",
  ...times,
  // Without the settled rates nobody knows the unit of those in the statistics.
  reads: ["fundingRates"],
  subjects: (view) => view.positions(),
  levels: (view, subject, ease) => {
    const value = yearly(view, subject);
    return value === undefined
      ? undefined
      : [levelAbove(value, "info", 0.75, 0.6, ease), levelAbove(value, "warning", 2, 1.5, ease)];
  },
  claims: (view, subject, text) => {
    const value = Math.abs(yearly(view, subject) ?? Number.NaN);
    const notional = view.marked(subject)?.figures.notional ?? Number.NaN;
    return claimsOf(text, [
      ["rate", new RegExp(`^${percent}/h on`), view.seen.markets.rate(symbolOf(subject))],
      ["share a year", new RegExp(`(?:pays|receives) ${percent} a year`), value],
      ["notional", new RegExp(` on ${money}`), notional],
      ["cost an hour", new RegExp(`about ${money} an hour`), (notional * value) / hoursPerYear],
    ]);
  },
};

/** Time until funding alone makes an account liquidatable, ms. */
function lasts(view: View, account: string): number | undefined {
  const figures = view.account(account);
  if (!figures) return undefined;
  const left = figures.effective - figures.maintenance;
  if (left < 0) return 0;
  let paid = 0;
  for (const { symbol, side, notional } of figures.positions.values()) {
    const rate = view.seen.markets.rate(symbol);
    if (rate === undefined) return undefined;
    paid += (side === "long" ? notional : -notional) * rate;
  }
  return paid > 0 ? (left / paid) * hourMs : Number.POSITIVE_INFINITY;
}

const level = (ms: number, severity: Level["severity"], on: number, off: number, ease: Ease): Level =>
  levelBelow(ms, severity, on * hourMs, off * hourMs, ease);

const fundingEatsMargin: Predicate = {
  rule: "FundingEatsMargin",
  ...times,
  standsStill: true,
  restsOnPositions: true,
  // Without the settled rates nobody knows the unit of those in the statistics.
  reads: ["fundingRates"],
  subjects: (view) => view.accounts(),
  levels: (view, subject, ease) => {
    const ms = lasts(view, subject);
    return ms === undefined
      ? undefined
      : [level(ms, "info", 72, 96, ease), level(ms, "warning", 24, 36, ease)];
  },
  claims: (view, subject, text) => [
    ...durationClaims(
      text,
      "time left",
      new RegExp(`liquidatable in ${duration}`),
      lasts(view, accountOf(subject)),
    ),
    ...accountClaims(view, subject, text),
  ],
};

/** Sums in doubles. */
const cent = 0.01;

/** Before a history is too old, ms: the next judgement comes after that moment. */
const soonMs = 5_000;

const fundingCostHigh: Predicate = {
  rule: "FundingCostHigh",
  forMs: 5 * minuteMs,
  keepMs: 10 * minuteMs,
  reads: ["funding"],
  subjects: (view) => view.ownWallets(),
  levels: (view, wallet, ease) => {
    const share = costOf(view, wallet);
    if (!share) return undefined;
    const [most, least] = ease > 0 ? [share.high, share.low] : [share.low, share.high];
    const bounds = [
      ["info", 0.005, 0.004],
      ["warning", 0.01, 0.008],
    ] as const;
    const freshMs = 2 * view.terms.everyMs("funding") - soonMs;
    const certain = ease > 0 || view.nowMs - (view.seen.fundingReadMs(wallet) ?? 0) <= freshMs;
    return bounds.map(([severity, on, off]) => ({
      severity,
      on: certain && above(most, on, ease),
      off: certain && below(least, off, ease),
    }));
  },
  claims: (view, wallet, text) => {
    const share = costOf(view, wallet);
    const received = view.seen.funding(wallet);
    if (!share || received === undefined) return undefined;
    const middle = (share.low + share.high) / 2;
    return [
      ...windowClaims(text, 24 * hourMs),
      ...claimsOf(text, [
        ["share", new RegExp(`cost ${percent} of its equity`), middle, share.high - middle + 1e-9],
        ["payments", new RegExp(`(?:Paid|Received|earned) ${money} net`), Math.abs(received), cent],
      ]),
    ];
  },
};

function costOf(view: View, wallet: string) {
  const received = view.seen.funding(wallet);
  return received === undefined || !view.money.now(wallet)
    ? undefined
    : view.money.fundingCost(wallet, received);
}

export const fundingRules: readonly Predicate[] = [fundingCostHigh, fundingRateHigh, fundingEatsMargin];
