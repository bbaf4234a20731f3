/** drawdown.yaml. */

import { printed } from "../../../desk/numbers.ts";
import { windowClaims } from "../duration.ts";
import {
  above,
  below,
  type Claim,
  claimsOf,
  type Ease,
  type Level,
  minuteMs,
  money,
  type Predicate,
  percent,
  type Text,
  unknown,
} from "../predicate.ts";
import type { View } from "../view.ts";
import type { Share } from "../wallets.ts";

/** Texts that name both ends between which a profit lies. */
const bothEnds = /not counting|, or a |or an? \w+ of \$/;
/** The amounts of what is not explained. */
const openAmounts = new RegExp(`(?:, or a (?:profit|loss)) of ${money}`, "g");
const atHighEnd = /\((?:counting a deposit|not counting a withdrawal)/;
const atLowEnd = /\((?:counting a withdrawal|not counting a deposit)/;

/** The truth of a figure, give or take; undefined: nobody knows it. */
type Bounds = readonly [truth: number | undefined, room: number];

/** The range of a profit in a text around the truth, USD. */
interface Ends {
  readonly low: number;
  readonly high: number;
}

/** Trades whose fills were not read are estimated: what is not explained is off by a share of it. */
const estimateError = 0.05;

/**
 * One figure of a text is right: what is not explained may be all paid, or all gained.
 * @param unreadUsd what was paid in, less what was paid out, that no record tells of: it is nothing but a loss or a profit at one end
 */
export function endsOf({ summary, description }: Text, unreadUsd: number): Ends {
  const openUsd = [...description.matchAll(openAmounts)].reduce(
    (sum, [, amount]) => sum + Math.abs(printed(amount!)?.value ?? 0),
    0,
  );
  if (openUsd === 0) return { low: 0, high: 0 };
  const roomUsd = openUsd * estimateError + cent;
  const usd = openUsd + roomUsd;
  return {
    low: atHighEnd.test(summary) ? -roomUsd : Math.min(-usd, unreadUsd),
    high: atLowEnd.test(summary) ? roomUsd : Math.max(usd, unreadUsd),
  };
}

/** The amounts of what is not explained: no more than changed. */
function unexplainedClaims({ summary, description }: Text, changedUsd: number): readonly Claim[] {
  const amounts = [summary, description].flatMap((text) => [...text.matchAll(openAmounts)]);
  return amounts.map(([, text = ""]) => {
    const usd = Math.abs(printed(text)?.value ?? 0);
    const mostUsd = changedUsd * (1 + estimateError) + cent;
    return { name: "not explained", text, truth: Math.min(usd, mostUsd), room: cent };
  });
}

/** A profit as a text may have it. @param share the range in which it lies */
export const profitOf = (share: Share, { low, high }: Ends): Bounds =>
  between({ low: share.low + low, high: share.high + high });

/** A share that is lost, by what its equity may have lost or gained more. */
const shareOf = (share: Share, { low, high }: Ends, equity: number): Bounds =>
  between({
    low: share.low - high / Math.max(equity, 1),
    high: share.high - low / Math.max(equity, 1),
  });

/**
 * The same of a change within some time, which may be of any size beside what is left.
 * @param change the range of the change, USD
 */
const changedShareOf = (share: Share, change: Share, ends: Ends, equity: number): Bounds => {
  if (ends.low === ends.high) return between(share);
  const lossOf = (usd: number): number => (equity - usd > 0 ? -usd / (equity - usd) : 0);
  const all = [change.low + ends.low, change.high + ends.high].map(lossOf);
  // A fall from the peak: what was paid out meanwhile is a part of what was there then, and none of the fall.
  const fallBy = (fall: number, usd: number): number => {
    const lost = fall < 1 ? (fall / (1 - fall)) * equity : 0;
    const capital = equity + lost + Math.max(0, -usd);
    return capital > 0 ? Math.max(0, lost - usd) / capital : fall;
  };
  all.push(fallBy(share.low, ends.high), fallBy(share.high, ends.low));
  return between({ low: Math.min(share.low, ...all), high: Math.max(share.high, ...all) });
};

/** Figures that no flow of money makes uncertain. */
const surelyTold: ReadonlySet<string> = new Set(["equity", "fees of today", "funding of today"]);
/** Sums in doubles, of amounts that the exchange rounds. */
const cent = 0.01;
/** The same, of amounts that are told exactly. */
const tiny = 1e-6;

function shareRule(
  rule: string,
  times: { readonly forMs: number; readonly keepMs: number },
  bounds: readonly (readonly [severity: Level["severity"], on: number, off: number])[],
  value: (view: View, wallet: string) => (Share & { readonly sure?: boolean }) | undefined,
  claims: (view: View, wallet: string, text: Text, ends: Ends) => ReturnType<Predicate["claims"]>,
): Predicate {
  return {
    rule,
    ...times,
    reads: ["collateral"],
    restsOnPositions: true,
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
      const nothingSure = ease < 0 && (share.sure === false || view.seen.isGarbledLately);
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
      // Profit is not known after collateral came at an unknown price, or beside a payment that a trade may hide.
      if (!view.money.now(wallet)?.stated) return undefined;
      if (!share || above(share.high, on, 1) || !bothEnds.test(`${text.summary} ${text.description}`))
        return undefined;
      return view.money.unreadForMs(wallet, view.nowMs);
    },
    claims: (view, wallet, text) => {
      if (!view.money.now(wallet)) return undefined;
      const { low, high } = endsOf(text, view.money.unreadUsd(wallet));
      const { inUsd, outUsd } = view.money.hidden(wallet);
      const found = claims(view, wallet, text, { low: low - outUsd, high: high + inUsd });
      if (found === undefined) return undefined;
      const isPriced = view.money.now(wallet)?.priced;
      return [
        ...found.flatMap((one) => (isPriced || surelyTold.has(one.name) ? [one] : unknown([one]))),
        ...unexplainedClaims(text, view.money.changedUsd(wallet)),
      ];
    },
  };
}

const between = ({ low, high }: Share): Bounds =>
  Number.isFinite(high - low) ? [(low + high) / 2, (high - low) / 2 + 1e-9] : [undefined, 0];

export const around = (one: number | Share, room: number): Share =>
  typeof one === "number"
    ? { low: one - room, high: one + room }
    : { low: one.low - room, high: one.high + room };

export const drawdown = shareRule(
  "Drawdown",
  { forMs: 2 * minuteMs, keepMs: 5 * minuteMs },
  [
    ["info", 0.05, 0.04],
    ["warning", 0.1, 0.08],
    ["critical", 0.2, 0.17],
  ],
  (view, wallet) => view.money.drawdown(wallet),
  (view, wallet, text, ends) => {
    const now = view.money.now(wallet)!;
    const top = view.money.highest(wallet);
    const highest = top ? profitOf(around(top, cent), ends) : ([undefined] as const);
    return [
      ...windowClaims(text, 24 * 60 * minuteMs),
      ...claimsOf(text, [
        ["highest PnL", new RegExp(`highest PnL so far was ${money}`), ...highest],
        [
          "share",
          new RegExp(`down ${percent} from its peak`),
          ...shareOf(view.money.drawdown(wallet)!, ends, now.equity),
        ],
      ]),
    ];
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
  (view, wallet, text, ends) => {
    const share = losing(view, wallet);
    if (!share) return undefined;
    const now = view.money.now(wallet)!;
    return [
      ...windowClaims(text, view.terms.windowMs("LosingFast", windowMs)),
      ...claimsOf(text, [
        [
          "share",
          new RegExp(`lost ${percent} of its equity`),
          ...changedShareOf(share, share.change, ends, now.equity),
        ],
        ["change", new RegExp(`PnL moved by ${money}`), ...profitOf(share.change, ends)],
        ["gain", new RegExp(`no longer losing: up ${money}`), ...profitOf(share.change, ends)],
      ]),
    ];
  },
);

export const losingFast: Predicate = {
  ...ofLosingFast,
  turns: (view, fromMs, toMs) => view.money.covers(fromMs, toMs, view.terms.windowMs("LosingFast", windowMs)),
};

const directionOf = (funding: number | undefined): string | undefined =>
  funding === undefined ? undefined : funding < 0 ? "paid" : "received";

export const dailyLoss = shareRule(
  "DailyLoss",
  { forMs: minuteMs, keepMs: 5 * minuteMs },
  [
    ["warning", 0.05, 0.04],
    ["critical", 0.1, 0.08],
  ],
  (view, wallet) => {
    const { money, seen } = view;
    if (money.sawMidnight(wallet) || seen.midnights.has(wallet)) return money.lossToday(wallet);
    const share = money.mayKnowMidnight(wallet) ? money.lossToday(wallet) : undefined;
    return share && { ...share, sure: false };
  },
  (view, wallet, text, ends) => {
    const { equity } = view.money.now(wallet)!;
    const { timezone } = view.terms;
    const usd = view.money.profitToday(wallet);
    const funding = view.seen.today.funding(wallet, view.nowMs, timezone);
    const today = usd === undefined ? ([undefined] as const) : profitOf(around(usd, cent), ends);
    const [profit, room] = today;
    const lost = profit === undefined ? ([undefined] as const) : ([-profit, room ?? 0] as const);
    return claimsOf(text, [
      ["share", new RegExp(`lost ${percent} today`), ...shareOf(view.money.lossToday(wallet)!, ends, equity)],
      ["loss of today", new RegExp(`today, ${money}`), ...lost],
      ["profit of today", new RegExp(`no longer losing today: up ${money}`), ...today],
      [
        "fees of today",
        new RegExp(`fees ${money}`),
        view.seen.today.fees(wallet, view.nowMs, timezone),
        tiny,
      ],
      [
        "funding of today",
        new RegExp(`funding\\s+(?:paid|received) ${money}`),
        funding === undefined ? undefined : Math.abs(funding),
        tiny,
      ],
      ["direction of funding", /funding\s+(paid|received)/, directionOf(funding)],
    ]);
  },
);
