/** margin.yaml. */
import type { AccountFigures } from "../margin.ts";
import {
  above,
  below,
  claimsOf,
  type Ease,
  keepMs,
  type Level,
  money,
  type Predicate,
  percent,
} from "../predicate.ts";
import { accountClaims } from "./liquidation.ts";

export const levelAbove = (
  value: number,
  severity: Level["severity"],
  on: number,
  off: number,
  ease: Ease,
): Level => ({
  severity,
  on: above(value, on, ease),
  off: below(value, off, ease),
});

/** Infinite where nothing is left that positions stand on. @param notional of a position, or of all, USD */
export const leverageOf = (notional: number, { effective }: AccountFigures): number =>
  notional === 0 ? 0 : effective > 0 ? notional / effective : Number.POSITIVE_INFINITY;

export const marginHigh: Predicate = {
  rule: "MarginHigh",
  forMs: 0,
  keepMs,
  byOldPositions: true,
  standsStill: true,
  subjects: (view) => view.accounts(),
  worsens: { towards: "higher", worst: 1, value: (view, subject) => view.account(subject)?.ratio },
  levels: (view, subject, ease) => {
    const figures = view.account(subject);
    return (
      figures && [
        levelAbove(figures.ratio, "info", 0.5, 0.45, ease),
        levelAbove(figures.ratio, "warning", 0.65, 0.6, ease),
        levelAbove(figures.ratio, "critical", 0.8, 0.7, ease),
      ]
    );
  },
  claims: (view, subject, text) => {
    const figures = view.account(subject);
    return [
      ...claimsOf(text, [
        ["margin ratio", new RegExp(`: margin ratio is ${percent}`), figures?.ratio],
        ["leverage", /leverage\s+((?:over )?[\d,.]*\d)×/, figures && leverageOf(figures.gross, figures)],
      ]),
      ...accountClaims(view, subject, text),
    ];
  },
};

export const ordersMayBeCancelled: Predicate = {
  rule: "OrdersMayBeCancelled",
  standsStill: true,
  forMs: 10_000,
  keepMs,
  subjects: (view) => view.accounts(),
  levels: (view, subject) => {
    const figures = view.account(subject);
    if (!figures) return undefined;
    const on = figures.tier === "cancellable" && view.seen.accounts.get(subject)!.orders.length > 0;
    return [{ severity: "warning", on, off: !on }];
  },
  claims: (view, subject, text) => [
    ...claimsOf(text, [["orders", /^(\d+) orders? rests?/, view.seen.accounts.get(subject)?.orders.length]]),
    ...accountClaims(view, subject, text),
  ],
};

export const accountLiquidatable: Predicate = {
  rule: "AccountLiquidatable",
  forMs: 0,
  keepMs,
  subjects: (view) => view.accounts(),
  levels: (view, subject) => {
    const tier = view.account(subject)?.tier;
    if (tier === undefined) return undefined;
    const on = ["liquidatable", "backstopLiquidatable", "highRisk"].includes(tier);
    return [{ severity: "critical", on, off: !on }];
  },
  claims: (view, subject, text) => [
    ...claimsOf(text, [
      ["gross", new RegExp(`may close ${money} of positions`), view.account(subject)?.gross],
      ["margin ratio", new RegExp(`margin ratio ${percent}`), view.account(subject)?.ratio],
    ]),
    ...accountClaims(view, subject, text),
  ],
};
