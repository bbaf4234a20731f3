/** drawdown.yaml. */
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
  type Text,
} from "../predicate.ts";
import type { View } from "../view.ts";
import type { Share } from "../wallets.ts";

/** Texts that name both ends between which a profit lies, and are judged by neither. */
const bothEnds = /not counting|, or a |or an? \w+ of \$/;

/** Sums in doubles, of amounts that the exchange rounds. */
const cent = 0.01;

function shareRule(
  rule: string,
  times: { readonly forMs: number; readonly keepMs: number },
  bounds: readonly (readonly [severity: Level["severity"], on: number, off: number])[],
  value: (view: View, wallet: string) => (Share & { readonly sure?: boolean }) | undefined,
  claims: (view: View, wallet: string, text: Text) => ReturnType<Predicate["claims"]>,
): Predicate {
  return {
    rule,
    ...times,
    reads: ["collateral"],
    subjects: (view) => view.ownWallets(),
    levels: (view, wallet, ease: Ease) => {
      const share = value(view, wallet);
      const now = view.money.now(wallet);
      if (!share || !now) return undefined;
      // A change of the accounts that is not explained yet leaves it unknown: then what held goes on, or both ends are judged.
      const isChanged = view.money.knownForMs(wallet, view.nowMs) < 0;
      // Flows of a time without a daemon are not known before their history was read.
      const isUnknown = !now.sure || !view.seen.histories.has(wallet);
      const unsure = isUnknown || (isChanged && (ease > 0 || view.money.areLate(wallet)));
      // No clock of the rule runs where it may be that it cannot be judged.
      const nothingSure = ease < 0 && share.sure === false;
      return bounds.map(([severity, on, off]) => ({
        severity,
        on: unsure ? ease > 0 : !nothingSure && above(ease > 0 ? share.high : share.low, on, ease),
        off: unsure ? ease > 0 : !nothingSure && below(ease > 0 ? share.low : share.high, off, ease),
        perhapsUnknown: share.sure === false || isChanged,
      }));
    },
    unreadForMs: (view, wallet, text, severity) => {
      const [, on = 0] = bounds.find(([one]) => one === severity) ?? [];
      const share = value(view, wallet);
      if (!share || above(share.high, on, 1) || !bothEnds.test(`${text.summary} ${text.description}`))
        return undefined;
      return view.money.unreadForMs(wallet, view.nowMs);
    },
    claims: (view, wallet, text) => {
      const found = claims(view, wallet, text);
      return view.money.now(wallet)?.stated && !bothEnds.test(`${text.summary} ${text.description}`)
        ? found
        : found.filter(({ name }) => name === "equity");
    },
  };
}

const between = ({ low, high }: Share): readonly [truth: number, room: number] => [
  (low + high) / 2,
  (high - low) / 2 + 1e-9,
];

export const drawdown = shareRule(
  "Drawdown",
  { forMs: 2 * minuteMs, keepMs: 5 * minuteMs },
  [
    ["info", 0.05, 0.04],
    ["warning", 0.1, 0.08],
    ["critical", 0.2, 0.17],
  ],
  (view, wallet) => view.money.drawdown(wallet),
  (view, wallet, text) => {
    const now = view.money.now(wallet)!;
    return claimsOf(text, [
      ["share", new RegExp(`down ${percent} from its peak`), ...between(view.money.drawdown(wallet)!)],
      ["PnL", new RegExp(`PnL ${money},`), now.profit, cent + view.money.room(wallet)],
      ["equity", new RegExp(`equity ${money}`), now.equity],
    ]);
  },
);

const windowMs = 10 * minuteMs;

const losing = (view: View, wallet: string) =>
  view.money.losing(
    wallet,
    view.terms.windowMs("LosingFast", windowMs),
    view.nowMs,
    2 * view.terms.accountsMs,
  );

const ofLosingFast = shareRule(
  "LosingFast",
  { forMs: 30_000, keepMs: 2 * minuteMs },
  [
    ["warning", 0.05, 0.03],
    ["critical", 0.1, 0.06],
  ],
  losing,
  (view, wallet, text) => {
    const share = losing(view, wallet);
    if (!share) return [];
    const now = view.money.now(wallet)!;
    return claimsOf(text, [
      ["share", new RegExp(`lost ${percent} of its equity`), ...between(share)],
      ["change", new RegExp(`PnL moved by ${money}`), ...between(share.change)],
      ["gain", new RegExp(`no longer losing: up ${money}`), ...between(share.change)],
      ["PnL", new RegExp(`PnL moved by .* to ${money},`), now.profit, cent + view.money.room(wallet)],
      ["equity", new RegExp(`equity ${money}`), now.equity],
    ]);
  },
);

export const losingFast: Predicate = {
  ...ofLosingFast,
  turns: (view, fromMs, toMs) => view.money.covers(fromMs, toMs, view.terms.windowMs("LosingFast", windowMs)),
};

export const dailyLoss = shareRule(
  "DailyLoss",
  { forMs: minuteMs, keepMs: 5 * minuteMs },
  [
    ["warning", 0.05, 0.04],
    ["critical", 0.1, 0.08],
  ],
  (view, wallet) =>
    view.money.sawMidnight(wallet) || view.seen.midnights.has(wallet)
      ? view.money.lossToday(wallet)
      : undefined,
  (view, wallet, text) =>
    claimsOf(text, [
      ["share", new RegExp(`lost ${percent} today`), ...between(view.money.lossToday(wallet)!)],
      ["profit of today", new RegExp(`today, ${money}`), view.money.profitToday(wallet), cent],
      ["equity", new RegExp(`Equity ${money}`), view.money.now(wallet)!.equity],
    ]),
);
