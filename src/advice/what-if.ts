/** Computes a wallet's accounts at other prices, after a deposit, or after positions were closed. */
import { type Severity, severities, severityRank, worseOf } from "../domain/alerts/alert.ts";
import type { AccountOutlook, Rung, WhatIfAccount, WhatIfQuestion, WhatIfRule } from "../domain/what-if.ts";
import { adverseMarks, type Reduction, withDeposit, withReduction } from "../margin/hypothetical.ts";
import type { MarkTicks } from "../margin/model.ts";
import {
  baseLotsFromUnits,
  quoteLotsFromUsd,
  ticksFromUsd,
  unitsFromBaseLots,
  usdFromTicks,
} from "../margin/units.ts";
import { type Facts, formatAmount, formatPercent, formatPrice, formatUsd } from "../rules/index.ts";
import { numbers, priced } from "../state/shown-figures.ts";
import type { AmountsOptions } from "./amounts.ts";
import { clearOf } from "./clear.ts";
import {
  BadQuestion,
  type PriceChange,
  readClosing,
  readPrice,
  type Closing as SupposedClosing,
} from "./question.ts";
import { isBelowWithdrawals, Outlook, type Situation, type Supposed } from "./situation.ts";

export interface Asked {
  /** The accounts of the wallet, at least one. */
  readonly situations: readonly Situation[];
  /** The time of the older of an account's state and its marks, ms. */
  readonly seenMs: (account: string) => number | null;
  /** Taker fee of a market, a fraction. */
  readonly feeOf: (symbol: string) => number;
  /** By the name of an account. */
  readonly optionsOf: (account: string) => AmountsOptions;
  readonly question: WhatIfQuestion;
}

/** Number of steps of the ladder down to liquidation, and the moves (fractions) if there is no liquidation price. */
const rungs = 8;
const movesWithoutEnd = [0.05, 0.1, 0.2, 0.4, 0.8];

/** @throws {BadQuestion} */
export function whatIf({ situations, seenMs, feeOf, optionsOf, question }: Asked): readonly WhatIfAccount[] {
  const known = [...(situations[0]?.markets.keys() ?? [])];
  const prices = question.prices.map((text) => readPrice(text, known));
  const closings = question.closes.map((text) => readClosing(text, known));
  refuseTwice([
    ...prices.map(({ symbol }) => `the price of ${symbol}`),
    ...closings.map(({ symbol }) => `closing ${symbol}`),
  ]);
  const named = question.account === null ? null : accountNamed(question.account, situations);
  const { depositUsd } = question;
  const deposited = depositUsd === 0 ? null : (named ?? onlyOne(situations, "a deposit"));
  const closed = closings.map((closing) => ({ closing, of: holderOf(closing.symbol, situations, named) }));
  const changed = situations.map((situation) => {
    const marks = marksAfter(situation, prices);
    const changes = priceTexts(situation, marks);
    let { risk } = situation;
    for (const { closing, of } of closed) {
      if (of !== situation) continue;
      const reduction = reductionOf(closing, situation, marks, feeOf(closing.symbol));
      risk = withReduction(risk, situation.markets, reduction) ?? risk;
      changes.push(closingText(reduction, situation));
    }
    if (deposited === situation) {
      risk = withDeposit(risk, BigInt(quoteLotsFromUsd(depositUsd)));
      changes.push(`${depositUsd > 0 ? "deposit" : "withdraw"} ${formatUsd(Math.abs(depositUsd))}`);
    }
    return { situation, supposed: { risk, marks }, changes };
  });
  const risks = new Map(changed.map(({ situation, supposed }) => [situation.name, supposed.risk]));
  const riskOf = (situation: Situation) => risks.get(situation.name) ?? situation.risk;
  return changed.map(({ situation, supposed, changes }) => {
    const before = new Outlook(situation, { risk: situation.risk, marks: situation.marks });
    const after = new Outlook(situation, supposed);
    if (deposited === situation && depositUsd < 0 && isBelowWithdrawals(after))
      changes.push("the exchange refuses such a withdrawal: it leaves less than the initial margin");
    return {
      name: situation.name,
      seenMs: seenMs(situation.name),
      changes,
      before: shown(before),
      after: shown(after),
      rules: rulesOf(before, after),
      clear: clearOf(situation, supposed, { ...optionsOf(situation.name), riskOf }),
      ladder: ladderOf(situation, supposed, after),
    };
  });
}

function refuseTwice(what: readonly string[]): void {
  const twice = what.find((one, index) => what.indexOf(one) !== index);
  if (twice !== undefined) throw new BadQuestion(`${twice} is given twice`);
}

function accountNamed(name: string, situations: readonly Situation[]): Situation {
  const found = situations.find((one) => one.name === name || one.name.endsWith(`/${name}`));
  if (found !== undefined) return found;
  throw new BadQuestion(`there is no account ${name}; there are ${namesOf(situations)}`);
}

function onlyOne(situations: readonly Situation[], what: string): Situation {
  const [first, ...more] = situations;
  if (first !== undefined && more.length === 0) return first;
  throw new BadQuestion(`say which account ${what} is for: ${namesOf(situations)}`);
}

function holderOf(symbol: string, situations: readonly Situation[], named: Situation | null): Situation {
  const holders = situations.filter(({ positions }) => positions.has(symbol));
  if (holders.length === 0) throw new BadQuestion(`no account holds ${symbol}`);
  if (named === null) return onlyOne(holders, `closing ${symbol}`);
  if (holders.includes(named)) return named;
  throw new BadQuestion(`${named.name} holds no ${symbol}`);
}

function namesOf(situations: readonly Situation[]): string {
  return situations.map(({ name }) => name).join(", ");
}

function marksAfter({ markets, marks }: Situation, prices: readonly PriceChange[]): MarkTicks {
  const after = new Map(marks);
  for (const price of prices) {
    const { symbol } = price;
    const market = markets.get(symbol);
    const mark = marks.get(symbol);
    if (market === undefined || mark === undefined) continue;
    const ticks =
      price.kind === "to" ? ticksFromUsd(price.usd, market) : Math.round(mark * (1 + price.share));
    after.set(symbol, Math.max(1, ticks));
  }
  return after;
}

/** The prices that the account depends on. */
function priceTexts({ risk, markets, marks }: Situation, after: MarkTicks): string[] {
  const own = new Set([
    ...risk.positions.map(({ symbol }) => symbol),
    ...risk.orders.map(({ symbol }) => symbol),
    ...(risk.spot ?? []).flatMap(({ repricing }) => repricing?.symbol ?? []),
  ]);
  return [...own].flatMap((symbol) => {
    const [from, to, market] = [marks.get(symbol), after.get(symbol), markets.get(symbol)];
    if (from === undefined || to === undefined || market === undefined || from === to) return [];
    const tick = usdFromTicks(1, market);
    const change = formatPercent(to / from - 1);
    const at = (ticks: number) => formatPrice(usdFromTicks(ticks, market), tick);
    return `${symbol} at ${at(to)} instead of ${at(from)} (${to > from ? "+" : ""}${change})`;
  });
}

function reductionOf(
  closing: SupposedClosing,
  { risk, markets }: Situation,
  marks: MarkTicks,
  fee: number,
): Reduction {
  const { symbol } = closing;
  const market = markets.get(symbol);
  const priceTicks = marks.get(symbol);
  const position = risk.positions.find((one) => one.symbol === symbol);
  if (market === undefined || priceTicks === undefined || position === undefined)
    throw new BadQuestion(`${symbol} cannot be closed: its price or its terms were not read yet`);
  const size = BigInt(position.baseLots);
  const held = size < 0n ? -size : size;
  const lots =
    closing.kind === "share"
      ? BigInt(Math.round(Number(held) * closing.share))
      : BigInt(baseLotsFromUnits(closing.units, market));
  if (lots === 0n) throw new BadQuestion(`${symbol}: less than the smallest size that can be traded`);
  if (lots > held && closing.kind === "units")
    throw new BadQuestion(
      `${symbol}: the position is ${formatAmount(unitsFromBaseLots(held, market))}, less than ${formatAmount(closing.units)}`,
    );
  return { symbol, lots: closing.kind === "share" && closing.share === 1 ? held : lots, priceTicks, fee };
}

function closingText({ symbol, lots, priceTicks, fee }: Reduction, { risk, markets }: Situation): string {
  const market = markets.get(symbol)!;
  const isLong = risk.positions.find((one) => one.symbol === symbol)!.baseLots > 0;
  const units = unitsFromBaseLots(lots, market);
  const price = usdFromTicks(priceTicks, market);
  const paid = formatUsd(units * price * fee);
  return `${isLong ? "sell" : "buy"} ${formatAmount(units)} ${symbol} at ${formatPrice(price, usdFromTicks(1, market))} (fee ${paid})`;
}

function shown({ trader, positions }: Outlook): AccountOutlook {
  return {
    riskTier: tierOf(trader),
    figures: numbers(trader),
    positions: [...positions].map(([symbol, facts]) => ({
      symbol,
      side: String(facts.values.side ?? ""),
      figures: priced(numbers(facts)),
    })),
  };
}

function tierOf({ values }: Facts): string | null {
  return typeof values.riskTier === "string" ? values.riskTier : null;
}

/** Rules with a level that holds before or after. Both have the same order and subjects. */
function rulesOf(before: Outlook, after: Outlook): readonly WhatIfRule[] {
  const now = [...before.conclusions()];
  return [...after.conclusions()].flatMap(
    ({ rule, subject, after: then, standing: firing, heldMs }, index) => {
      const first = now[index]!.after;
      const isHeld = isSeverity(first);
      if (!isHeld && !isSeverity(then)) return [];
      const firesInMs = (level: string | null): number | null => {
        if (!isSeverity(level)) return null;
        if (firing !== null && severityRank[firing] >= severityRank[level]) return 0;
        // A level that begins to hold has held for no time before.
        const isHolding = isHeld && severityRank[first] >= severityRank[level];
        return Math.max(0, rule.forMs - (isHolding ? heldMs(level) : 0));
      };
      const [inMs, thenInMs] = [firesInMs(first), firesInMs(then)];
      return {
        ...{ rule: rule.name, subject, firing, before: isHeld ? first : null, after: then },
        firesInMs: { before: inMs, after: thenInMs },
      };
    },
  );
}

/** The account at further adverse moves, up to liquidation. */
function ladderOf(situation: Situation, { risk, marks }: Supposed, after: Outlook): readonly Rung[] {
  if (risk.positions.length === 0 || after.assessment.totals === undefined) return [];
  const far = after.trader.values.adverseMoveToLiquidation;
  if (typeof far !== "number" || !(far > 0)) return [];
  const moves = Number.isFinite(far)
    ? Array.from({ length: rungs }, (_, index) => (far * (index + 1)) / rungs)
    : movesWithoutEnd;
  return moves.map((move) => {
    const moved = adverseMarks(risk, marks, () => move);
    const there = new Outlook(situation, { risk, marks: moved });
    let worst: Severity | null = null;
    for (const { after: level } of there.conclusions())
      if (isSeverity(level)) worst = worst === null ? level : worseOf(worst, level);
    return {
      move,
      marks: Object.fromEntries(
        risk.positions.map(({ symbol }) => [
          symbol,
          usdFromTicks(moved.get(symbol)!, situation.markets.get(symbol)!),
        ]),
      ),
      riskTier: tierOf(there.trader),
      figures: numbers(there.trader),
      worst,
    };
  });
}

function isSeverity(level: string | null): level is Severity {
  return severities.some((one) => one === level);
}
