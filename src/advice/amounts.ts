/**
 * The least deposit, and the least reduction of each position, with which no rule about an account's margin fires. They are found by
 * judging the rules for hypothetical accounts: at the marks, slightly against the account, and after a further adverse move. For a
 * critical account also the least amounts that end only what is critical.
 */
import type { Clearing } from "../domain/what-if.ts";
import { withDeposit, withReduction } from "../margin/hypothetical.ts";
import { leastAmount } from "../margin/least-amount.ts";
import type { AccountRisk, Markets, MarkTicks, PositionRisk } from "../margin/model.ts";
import { unitsFromBaseLots, usdFromTicks } from "../margin/units.ts";
import { AccountJudgement } from "./account-judgement.ts";
import type { Situation, Supposed } from "./situation.ts";
import { writtenQuoteLots } from "./texts.ts";

/** A leg of a declared pair in another account, which is reduced together with the position so that the hedge ratio stays. */
export interface Companion {
  readonly situation: Situation;
  /** `lots` are closed here for each `of` base lots of the position. */
  readonly lots: bigint;
  readonly of: bigint;
}

export interface AmountsOptions {
  /** The adverse move of a market that has to be withstood, a fraction of its mark. */
  readonly headroomOf: (symbol: string) => number;
  /** Taker fee of a market, a fraction. */
  readonly feeOf: (symbol: string) => number;
  /** Empty: the position is not a leg of a pair. A text: it is, and the reason why it cannot be reduced with the others. */
  readonly companionsOf: (symbol: string) => readonly Companion[] | string;
  /** The notional within the order book of a market near its middle, USD; null: not read lately. */
  readonly depthOf: (symbol: string, trade: "buy" | "sell") => number | null;
  /** The kinds of advice, in order of preference (least harm first). */
  readonly order: readonly Clearing[];
  /** The other accounts that collateral can be moved to and from. */
  readonly siblings: readonly Situation[];
  /** Another hypothetical account. Absent: the account as it is. */
  readonly riskOf?: (situation: Situation) => AccountRisk;
}

export interface Transfer {
  readonly from: Situation;
  /** Quote lots, rounded up to the precision of texts. */
  readonly quoteLots: bigint;
}

export interface LeastDeposit {
  /** Null: no amount is enough. */
  readonly quoteLots: bigint | null;
  /** The reason why none is offered, for display; null: none. */
  readonly obstacle: string | null;
}

/** A trade that makes a position smaller. */
export interface Closing {
  readonly lots: bigint;
  readonly trade: "buy" | "sell";
  /** The notional within the order book near its middle, USD, if less than the trade; null: it is not less, or not known. */
  readonly bookUsd: number | null;
}

export interface LeastReduction {
  /** Null: closing the position is not enough. */
  readonly least: Closing | null;
  /** The trades in other accounts that go with it; if it is not enough, those that go with closing the position. */
  readonly along: readonly (Closing & { readonly situation: Situation })[];
  /** The reason why none is offered, for display; null: none. */
  readonly obstacle: string | null;
}

export interface Enough {
  /** Null: no other account has enough to spare. */
  readonly transfer: Transfer | null;
  readonly deposit: LeastDeposit;
  /** By symbol, of the largest positions. */
  readonly reductions: ReadonlyMap<string, LeastReduction>;
}

export interface Amounts extends Enough {
  /** The least amounts with which nothing is critical; null: nothing is critical. */
  readonly critical: Enough | null;
  /** The marks up to which the account stays clear, in ticks by symbol. */
  readonly marks: MarkTicks;
}

/** Maximum deposit, quote lots: a billion USD. */
export const maxDeposit = 10n ** 15n;
export const firstDeposit = 1_000_000n;
/**
 * Maximum number of positions whose reduction is computed, the largest by notional first: each takes about fifty judgements of the
 * account, twice as many if the account is critical.
 */
const maxReductions = 10;
/** The first guess is a position divided by this. */
const parts = 64n;

export function firstPart(lots: bigint): bigint {
  return lots < parts ? 1n : lots / parts;
}

/** @returns null if no rule about its margin fires, or one that does cannot be judged */
export function leastAmounts(
  situation: Situation,
  supposed: Supposed,
  options: AmountsOptions,
): Amounts | null {
  const standing = new AccountJudgement(situation, supposed, options.headroomOf);
  if (standing.isUnknown || standing.firing.size === 0) return null;
  const enough = (ends: (changed: AccountRisk) => boolean) => enoughWith(ends, standing, situation, options);
  return {
    ...enough((changed) => standing.isClearOf(changed)),
    critical: standing.isCritical ? enough((changed) => standing.isLessThanCritical(changed)) : null,
    marks: standing.further,
  };
}

/** @param ends true if a changed account meets the goal */
function enoughWith(
  ends: (changed: AccountRisk) => boolean,
  standing: AccountJudgement,
  situation: Situation,
  options: AmountsOptions,
): Enough {
  const { risk, marks } = standing;
  const { order } = options;
  const obstacle = situation.permits.deposit;
  const isEnough = (amount: bigint) => ends(withDeposit(risk, amount));
  const needsMoney = obstacle === null && (order.includes("transfer") || order.includes("deposit"));
  const quoteLots = needsMoney ? leastAmount(isEnough, firstDeposit, maxDeposit) : null;
  const positions = order.includes("reduce") ? largest(risk, marks, situation.markets) : [];
  return {
    transfer:
      quoteLots === null || !order.includes("transfer")
        ? null
        : transferOf(writtenQuoteLots(quoteLots), marks, options),
    deposit: order.includes("deposit") ? { quoteLots, obstacle } : { quoteLots: null, obstacle: null },
    reductions: new Map(
      positions.map((position) => [
        position.symbol,
        leastReduction(ends, standing, situation, position, options),
      ]),
    ),
  };
}

/** A transfer from the account with the most collateral that stays clear without it. */
function transferOf(
  quoteLots: bigint,
  marks: MarkTicks,
  { siblings, headroomOf, riskOf }: AmountsOptions,
): Transfer | null {
  const givers = siblings
    .filter(({ permits }) => permits.give === null)
    .map((from) => ({ from, risk: riskOf?.(from) ?? from.risk }))
    .filter(({ risk }) => BigInt(risk.collateralQuoteLots) >= quoteLots)
    .sort((a, b) => Number(b.risk.collateralQuoteLots) - Number(a.risk.collateralQuoteLots));
  for (const { from, risk } of givers) {
    const standing = new AccountJudgement(from, { risk, marks }, headroomOf);
    if (standing.isSafe(withDeposit(risk, -quoteLots))) return { from, quoteLots };
  }
  return null;
}

function leastReduction(
  ends: (changed: AccountRisk) => boolean,
  standing: AccountJudgement,
  { markets, permits }: Situation,
  { symbol, baseLots }: PositionRisk,
  { headroomOf, feeOf, companionsOf, depthOf, riskOf }: AmountsOptions,
): LeastReduction {
  const { marks } = standing;
  const markTicks = marks.get(symbol);
  const market = markets.get(symbol);
  const companions = companionsOf(symbol);
  const refused = (obstacle: string): LeastReduction => ({ least: null, along: [], obstacle });
  if (markTicks === undefined || market === undefined) return refused(`the price of ${symbol} is not known`);
  if (typeof companions === "string") return refused(companions);
  const all = [permits, ...companions.map(({ situation }) => situation.permits)];
  const obstacle = all.map(({ reduce }) => reduce(symbol)).find((reason) => reason !== null);
  if (obstacle !== undefined) return refused(obstacle);
  const fee = feeOf(symbol);
  const reduced = ({ risk: account, near }: AccountJudgement, lots: bigint): AccountRisk => {
    const priceTicks = near.get(symbol)!;
    return lots === 0n
      ? account
      : (withReduction(account, markets, { symbol, lots, priceTicks, fee }) ?? account);
  };
  const others = companions.map(({ situation, lots, of }) => {
    const other = riskOf?.(situation) ?? situation.risk;
    const size = sizeIn(other, symbol);
    return {
      ...{ situation, size },
      lotsOf: (closed: bigint) => (2n * closed * lots + of) / (2n * of),
      /** The largest reduction of the position that this one can follow, base lots. */
      most: (absolute(size) * of) / lots,
      standing: new AccountJudgement(situation, { risk: other, marks }, headroomOf),
    };
  });
  const isEnough = (lots: bigint): boolean =>
    ends(reduced(standing, lots)) &&
    others.every((other) => other.standing.isUnharmedBy(reduced(other.standing, other.lotsOf(lots))));
  const size = BigInt(baseLots);
  const most = others.reduce((least, other) => (other.most < least ? other.most : least), absolute(size));
  const lots = leastAmount(isEnough, firstPart(most), most);
  const closing = (closed: bigint, of: bigint): Closing => {
    const trade = of > 0n ? "sell" : "buy";
    const depthUsd = depthOf(symbol, trade);
    const usd = unitsFromBaseLots(closed, market) * usdFromTicks(markTicks, market);
    return { lots: closed, trade, bookUsd: depthUsd !== null && depthUsd < usd ? depthUsd : null };
  };
  return {
    least: lots === null ? null : closing(lots, size),
    along: others.map((other) => ({
      situation: other.situation,
      ...closing(other.lotsOf(lots ?? most), other.size),
    })),
    obstacle: null,
  };
}

function largest({ positions }: AccountRisk, marks: MarkTicks, markets: Markets): readonly PositionRisk[] {
  if (positions.length <= maxReductions) return positions;
  const notional = ({ symbol, baseLots }: PositionRisk) =>
    Math.abs(Number(baseLots)) * (marks.get(symbol) ?? 0) * (markets.get(symbol)?.tickSize ?? 0);
  return positions.toSorted((a, b) => notional(b) - notional(a)).slice(0, maxReductions);
}

/** Signed, base lots. */
function sizeIn({ positions }: AccountRisk, symbol: string): bigint {
  return BigInt(positions.find((one) => one.symbol === symbol)?.baseLots ?? 0);
}

function absolute(lots: bigint): bigint {
  return lots < 0n ? -lots : lots;
}
