/**
 * Lines of advice against arithmetic of their own: each amount clears the account of all that fires, now, at prices a little against it
 * and after the further move, one step less does not, and nothing is proposed that leaves another account in danger or a leg of a hedge
 * alone.
 */
import type { AlertChange, Severity } from "../../../src/domain/alerts/alert.ts";
import { legText } from "../names.ts";
import { type AccountFigures, type Price, tickUsd } from "./margin.ts";
import type { Ease, Level, Predicate } from "./predicate.ts";
import { predicates } from "./rules/index.ts";
import type { AccountTruth } from "./truth.ts";
import { accountOf, type View } from "./view.ts";

type Prices = ReadonlyMap<string, Price>;
/** The level at which the alert of a rule about a subject stands; null: none does. */
type Standing = (rule: string, subject: string) => Severity | null;

/** Rules about distances to liquidation and margins. */
const ofMargin = new Set([
  ...["LiquidationNear", "AccountLiquidationNear", "NearLiquidationAfterHours"],
  ...["MarginHigh", "OrdersMayBeCancelled", "AccountLiquidatable"],
]);
const judged = predicates.filter(({ rule }) => ofMargin.has(rule));

/** The share of a daily move for which an amount suffices, and the move of a market of which none is known. */
const headroomMoves = 0.5;
const unknownHeadroom = 0.02;
/** The marks move by this against an account while a person acts. */
const slip = 0.001;
const leastDaily = 0.01;
const ranks: Readonly<Record<Severity, number>> = { info: 0, warning: 1, critical: 2 };

const money = String.raw`\$([\d,]+(?:\.\d+)?)`;
const transferText = new RegExp(`^transfer ${money} from (\\S+) to (\\S+)$`, "i");
const depositText = new RegExp(`^deposit ${money} to (\\S+)$`, "i");
const book = String.raw`(?: \(the book takes \$[\d,.]+ within 0\.5% of its middle\))?`;
const tradeText = new RegExp(
  `^(sell|buy) ([\\d,]+(?:\\.\\d+)?) (\\w+) reduce-only(?: in (\\S+))?${book}$`,
  "i",
);
const lineText =
  /^(.+?)(?:: (?:this|either|any of them) ends all distance and margin alerts, info too(?:; after that they stay quiet as long as (.+?))?| ends all distance and margin alerts of (\S+)) \((?:marks?|prices) .*at \d\d:\d\d:\d\d [^()]+\)\.(?: A smaller amount also helps\.| A deposit of less than \$([\d,.]+\d) leaves it liquidatable\.| To end only what is critical: (.+?)\.(?= Not offered|$))?(?: Not offered: .+\.)?$/;

interface Trade {
  readonly account: string;
  readonly symbol: string;
  readonly isSell: boolean;
  readonly units: number;
}

/**
 * @param subject of the alert that has the line
 * @param isLost true of an account that was read within a gap of the recording, and not again since: nothing can be said of it
 */
export function adviceProblems(
  view: View,
  line: string,
  subject: string,
  standing: Standing,
  isLost: (account: string) => boolean,
): readonly string[] {
  const parts = lineText.exec(line);
  if (parts === null)
    return /^\d+ more accounts are in danger\.$/.test(line) ? [] : [`"${line}" is no advice`];
  const [, ways = "", upTo, hopeless, least, critical] = parts;
  if (hopeless !== undefined) return [];
  const texts = ways.split(/, or /);
  const named = texts
    .map((text) => (transferText.exec(text) ?? depositText.exec(text))?.at(-1))
    .find(Boolean);
  const name = named ?? tradeText.exec(texts[0]!.split(" and ")[0]!)?.[4] ?? accountOf(subject);
  const account = view.seen.accounts.get(name);
  if (account === undefined || view.account(name) === undefined)
    return isLost(name) ? [] : [`nothing is known of ${name}`];
  const of = new Danger(view, account, standing);
  const { maintenance, effective } = view.account(name)!;
  const shortUsd = least === undefined ? 0 : Number(least.replaceAll(",", ""));
  const isShort =
    least === undefined || Math.abs(shortUsd - (maintenance - effective)) <= 0.02 + shortUsd * 1e-5;
  return [
    ...(isShort
      ? []
      : [`it is short of its maintenance margin by ${maintenance - effective}, not ${shortUsd}`]),
    ...(of.isNone(1) ? [`nothing about ${name} fires`] : []),
    ...upToProblems(view, of, upTo ?? ""),
    ...texts.flatMap((text) => wayProblems(view, of, text, standing, isLost, "all")),
    ...(critical?.split(/, or /) ?? []).flatMap((text) =>
      wayProblems(view, of, text, standing, isLost, "critical"),
    ),
    ...(critical !== undefined && of.isNone(1, "critical") ? [`nothing about ${name} is critical`] : []),
  ];
}

/** Changes of an alert that ask somebody to act. */
const asking: ReadonlySet<string> = new Set([
  "fired",
  "rose",
  "fell",
  "worsened",
  "changed",
  "reminder",
  "escalated",
]);

/** An alert about an account in danger that says nothing of what clears it, although all that it rests on was read lately. */
export function missingAdvice(
  view: View,
  { kind, alert, advice, past }: AlertChange,
  standing: Standing,
): readonly string[] {
  const account = view.seen.accounts.get(accountOf(alert.subject));
  const isAsking = asking.has(kind) && alert.severity !== "info" && ofMargin.has(alert.rule);
  if (!isAsking || advice !== undefined || past || account === undefined) return [];
  return new Danger(view, account, standing).isNone(-1) ? [] : ["it says nothing of what clears the account"];
}

/** The alerts that an amount is to end. */
type Wanted = "all" | "critical";

/** An account, and what fires about its margin. */
class Danger {
  readonly account: AccountTruth;
  readonly prices: Prices;
  /** Prices a little against it: trades fill there, and what fires has to be over there as well. */
  readonly near: Prices;
  /** Prices after the further move against it. */
  readonly further: Prices;
  readonly #view: View;
  readonly #standing: Standing;

  constructor(view: View, account: AccountTruth, standing: Standing) {
    this.#view = view;
    this.#standing = standing;
    this.account = account;
    this.prices = view.seen.prices;
    this.near = movedPrices(view, account, () => slip, true);
    this.further = movedPrices(view, account, (symbol) => headroomOf(view, symbol));
  }

  /** Nothing fires, or nothing critical does. @param ease 1: surely, −1: perhaps */
  isNone(ease: Ease, wanted: Wanted = "all"): boolean {
    const now = this.#supposed(this.account, this.prices);
    return subjectsOf(now).every(
      ([predicate, subject]) => !isWanted(this.#level(now, predicate, subject, ease), wanted),
    );
  }

  /**
   * Returns true if a changed account is clear of what fires.
   * @param ease 1: it may be, by what figures at a threshold allow; −1: it surely is, of all that may fire
   */
  isClear(changed: AccountTruth, ease: Ease, wanted: Wanted): boolean {
    return [this.prices, this.near].every((prices) => this.#isClearAt(changed, prices, ease, wanted));
  }

  #isClearAt(changed: AccountTruth, prices: Prices, ease: Ease, wanted: Wanted): boolean {
    const before = this.#supposed(this.account, this.prices);
    const now = this.#supposed(changed, prices);
    const there = this.#supposed(changed, this.further);
    const against: Ease = ease === 1 ? -1 : 1;
    return subjectsOf(before).every(([predicate, subject]) => {
      const level = this.#level(before, predicate, subject, against);
      if (level === null || !isWanted(level, wanted)) return true;
      const counts = ({ severity }: Level) => wanted === "all" || severity === "critical";
      const isOn = (one: Level) => one.on && counts(one);
      const on = predicate.levels(now, subject, against);
      const off = predicate.levels(now, subject, ease);
      if (!on || !off) return true;
      const stays = off.some((one) => ranks[one.severity] <= level && !one.off && counts(one));
      if (wanted === "critical") return !stays && !on.some(isOn);
      return !stays && !on.some(isOn) && !(predicate.levels(there, subject, against) ?? []).some(isOn);
    });
  }

  /** Returns true if nothing about the margin of a changed account surely holds, now and after the further move. */
  isSafe(changed: AccountTruth): boolean {
    return [this.prices, this.further].every((prices) => {
      const view = this.#supposed(changed, prices);
      return subjectsOf(view).every(
        ([predicate, subject]) => !predicate.levels(view, subject, -1)?.some(({ on }) => on),
      );
    });
  }

  /** The rank of the level that fires; null: none does. @param ease 1: that may fire, −1: that surely does */
  #level(view: View, { rule, levels }: Predicate, subject: string, ease: Ease): number | null {
    const stands = this.#standing(rule, subject);
    const against: Ease = ease === 1 ? -1 : 1;
    const on = levels(view, subject, ease)?.filter((one) => one.on) ?? [];
    const held = levels(view, subject, against)?.filter(
      (one) => stands !== null && ranks[one.severity] <= ranks[stands] && !one.off,
    );
    const all = [...on, ...(held ?? [])].map(({ severity }) => ranks[severity]);
    return all.length === 0 ? null : Math.max(...all);
  }

  #supposed(account: AccountTruth, prices: Prices): View {
    const view = this.#view;
    let figures: AccountFigures | undefined;
    // A copy: what was computed of an object is kept with it.
    const of = () => (figures ??= view.seen.supposed({ ...account }, prices)!);
    return {
      nowMs: view.nowMs,
      seen: { accounts: new Map([[account.name, account]]), markets: view.seen.markets },
      accounts: () => [account.name],
      positions: () => account.positions.map(({ symbol }) => `${account.name}/${symbol}`),
      account: () => of(),
      position: (subject: string) => {
        const own = of().positions.get(subject.split("/")[2]!);
        return own && { figures: own, of: of() };
      },
    } as unknown as View;
  }
}

function isWanted(level: number | null, wanted: Wanted): boolean {
  return level !== null && (wanted === "all" || level >= ranks.critical);
}

function subjectsOf(view: View): readonly (readonly [Predicate, string])[] {
  return judged.flatMap((predicate) =>
    predicate.subjects(view).map((subject) => [predicate, subject] as const),
  );
}

function headroomOf(view: View, symbol: string): number {
  const daily = view.dailyMoves.get(symbol);
  return daily === undefined || Number.isNaN(daily)
    ? unknownHeadroom
    : Math.min(0.99, Math.max(daily, leastDaily) * headroomMoves);
}

function movedPrices(
  view: View,
  { positions, spot }: AccountTruth,
  shareOf: (symbol: string) => number,
  isNearest = false,
): Prices {
  const sides = new Map(positions.map(({ symbol, baseLots }) => [symbol, baseLots > 0n ? -1 : 1]));
  if (spot > 0n && !sides.has("SOL")) sides.set("SOL", -1);
  return new Map(
    [...view.seen.prices].map(([symbol, price]) => {
      const side = sides.get(symbol);
      if (side === undefined) return [symbol, price];
      const to = price.markTicks * (1 + side * shareOf(symbol));
      const ticks = isNearest ? Math.round(to) : side > 0 ? Math.ceil(to) : Math.floor(to);
      const markTicks = Math.max(1, ticks);
      return [
        symbol,
        { markTicks, oracleTicks: Math.floor((price.oracleTicks * markTicks) / price.markTicks) },
      ];
    }),
  );
}

function upToProblems(view: View, { account, further }: Danger, text: string): readonly string[] {
  const told = [...text.matchAll(/(\w+) stays (above|below) \$([\d,.]+\d)/g)];
  return told.flatMap(([, symbol = "", direction, usd = ""]) => {
    const position = account.positions.find((one) => one.symbol === symbol);
    const rules = view.seen.rules.get(symbol);
    if (!position || !rules) return [`${symbol} is no position of ${account.name}`];
    const to = further.get(symbol)!.markTicks * tickUsd(rules);
    const isRight = Math.abs(numberOf(usd) - to) <= tickUsd(rules) / 2 + 0.005;
    const side = position.baseLots > 0n ? "above" : "below";
    return isRight && side === direction ? [] : [`${symbol} ${direction} ${usd} is not ${side} ${to}`];
  });
}

function wayProblems(
  view: View,
  of: Danger,
  text: string,
  standing: Standing,
  isLost: (account: string) => boolean,
  wanted: Wanted,
): readonly string[] {
  const { account } = of;
  const transfer = transferText.exec(text);
  const deposit = depositText.exec(text);
  if (transfer ?? deposit) {
    const usd = numberOf((transfer ?? deposit)![1]!);
    const step = usd < 100_000 ? 0.01 : 1;
    const withUsd = (added: number) => ({ ...account, collateral: account.collateral + quoteLots(added) });
    const from = transfer?.[2];
    const giver =
      from === undefined || view.account(from) === undefined ? undefined : view.seen.accounts.get(from);
    return [
      ...(of.isClear(withUsd(usd), 1, wanted) ? [] : [`"${text}" does not clear ${account.name}`]),
      ...(of.isClear(withUsd(usd - step), -1, wanted) ? [`less than "${text}" clears ${account.name}`] : []),
      ...(from !== undefined && !giver && !isLost(from) ? [`nothing is known of ${from}`] : []),
      ...(giver && !new Danger(view, giver, standing).isSafe(withLess(giver, usd))
        ? [`"${text}" leaves ${giver.name} in danger`]
        : []),
    ];
  }
  const trades = text.split(/, (?!or )| and /).map((one) => tradeOf(one, account.name));
  const [own, ...others] = trades;
  if (trades.includes(null) || !own) return [`"${text}" is not understood`];
  const position = account.positions.find(({ symbol }) => symbol === own.symbol);
  if (!position || own.account !== account.name || position.baseLots > 0n !== own.isSell)
    return [`"${text}" makes no position of ${account.name} smaller`];
  const decimals = view.seen.rules.get(own.symbol)!.baseLotsDecimals;
  const lots = BigInt(Math.round(own.units * 10 ** decimals));
  const reduced = (closed: bigint) => (closed > 0n ? reducedBy(view, of, own.symbol, closed) : account);
  return [
    ...(of.isClear(reduced(lots), 1, wanted) ? [] : [`"${text}" does not clear ${account.name}`]),
    // A joint trade may be held back by the other legs.
    ...(others.length === 0 && of.isClear(reduced(lots - 1n), -1, wanted)
      ? [`a lot less than "${text}" clears ${account.name}`]
      : []),
    ...hedgeProblems(view, own, others as readonly Trade[], text),
  ];
}

function tradeOf(text: string, account: string): Trade | null {
  const found = tradeText.exec(text);
  if (found === null) return null;
  const [, word = "", units = "", symbol = "", where = account] = found;
  return { account: where, symbol, isSell: word.toLowerCase() === "sell", units: numberOf(units) };
}

/** The other legs of its pairs, unless they are flat, are reduced by the same share, to the lot. */
function hedgeProblems(view: View, own: Trade, others: readonly Trade[], text: string): readonly string[] {
  const lot = 1 / 10 ** view.seen.rules.get(own.symbol)!.baseLotsDecimals;
  return view.hedges.names.flatMap((name) => {
    const { symbol, legs } = view.hedges.plan(name);
    const sizes = new Map(view.hedges.figures(name)?.legs.map((leg) => [leg.text, leg.size]));
    const covers = (leg: (typeof legs)[number], account: string) =>
      leg.account === null
        ? account.startsWith(`${leg.wallet}/`)
        : account === `${leg.wallet}/${leg.account.pdaIndex}.${leg.account.subaccount}`;
    const leg = symbol === own.symbol ? legs.find((one) => covers(one, own.account)) : undefined;
    if (leg === undefined) return [];
    const share = own.units / Math.abs(sizes.get(legText(leg, symbol)) ?? Number.NaN);
    return legs.flatMap((other) => {
      const size = sizes.get(legText(other, symbol)) ?? 0;
      if (other === leg || size === 0) return [];
      const trade = others.find((one) => covers(other, one.account));
      const wanted = share * Math.abs(size);
      return trade && Math.abs(trade.units - wanted) <= lot && trade.isSell === size > 0
        ? []
        : [
            `"${text}" leaves ${legText(other, symbol)} of the pair ${name}, of which ${wanted} would go with it`,
          ];
    });
  });
}

function withLess(account: AccountTruth, usd: number): AccountTruth {
  return { ...account, collateral: account.collateral - quoteLots(usd) };
}

/** A fill as a taker at the near mark: funding is settled, the closed share of the quote side is realized, the fee is paid. */
function reducedBy(view: View, { account, near }: Danger, symbol: string, lots: bigint): AccountTruth {
  const position = account.positions.find((one) => one.symbol === symbol)!;
  const isLong = position.baseLots > 0n;
  const size = isLong ? position.baseLots : -position.baseLots;
  const { tickSize } = view.seen.rules.get(symbol)!;
  const value = lots * BigInt(near.get(symbol)!.markTicks) * BigInt(tickSize);
  const fee = BigInt(Math.round((view.seen.takerFees.get(symbol) ?? 0) * 1e6));
  const paid = (value * fee + 999_999n) / 1_000_000n;
  const quote = (position.virtualQuoteLots * lots) / size;
  const left = {
    ...position,
    baseLots: isLong ? position.baseLots - lots : position.baseLots + lots,
    virtualQuoteLots: position.virtualQuoteLots - quote,
    unsettledFunding: 0n,
  };
  const isClosed = left.baseLots === 0n;
  return {
    ...account,
    collateral: account.collateral + position.unsettledFunding + quote + (isLong ? value : -value) - paid,
    positions: account.positions.flatMap((one) => (one !== position ? one : isClosed ? [] : left)),
    orders: account.orders.filter((order) => order.symbol !== symbol || !isClosed || !order.reduceOnly),
  };
}

const quoteLots = (usd: number): bigint => BigInt(Math.round(usd * 1e6));
const numberOf = (text: string): number => Number(text.replaceAll(",", ""));
