/**
 * The least deposit, and the least reduction of each position, with which no rule about an account's margin fires: found by judging
 * the rules again on the account as it would be, at its marks and after a further adverse move.
 */
import { adverseMarks, withDeposit, withReduction } from "../risk/hypothetical.ts";
import { leastAmount } from "../risk/least-amount.ts";
import type { AccountRisk, Markets, MarkTicks, PositionRisk } from "../risk/model.ts";
import type { ConditionRule } from "../rules/index.ts";
import { type Conclusion, Outlook, type Situation, type Supposed } from "./situation.ts";

export interface AmountsOptions {
  /** The adverse move of a market that has to be survived, a fraction of its mark. */
  readonly headroomOf: (symbol: string) => number;
  /** Taker fee of a market, a fraction. */
  readonly feeOf: (symbol: string) => number;
}

export interface Amounts {
  /** Quote lots; null: no amount is enough. */
  readonly deposit: bigint | null;
  /** By symbol, base lots, of the largest positions; null: closing all of it is not enough. */
  readonly reductions: ReadonlyMap<string, bigint | null>;
  /** The marks up to which the account stays clear, in ticks by symbol. */
  readonly marks: MarkTicks;
}

/** A billion USD, quote lots. */
const maxDeposit = 10n ** 15n;
const firstDeposit = 1_000_000n;
/** Positions for which a reduction is looked for, the largest by notional: each costs some fifty judgements of the account. */
const maxReductions = 10;
/** Parts of a position that are tried first. */
const firstParts = 64n;

/** Figures of an account and of a position that money or trades change. */
const marginFields: Readonly<Record<string, ReadonlySet<string>>> = {
  trader: new Set([
    ...["collateral", "equity", "effectiveCollateral", "freeCollateral", "riskState", "riskTier"],
    ...["initialMargin", "maintenanceMargin", "cancelMargin", "marginRatio", "leverage", "grossNotional"],
    ...["netNotional", "moveToLiquidation", "adverseMoveToLiquidation", "positions"],
  ]),
  position: new Set([
    ...["size", "notional", "liquidationPrice", "liquidationDistance", "initialMargin"],
    ...["maintenanceMargin", "leverage"],
  ]),
};

const known = new WeakMap<ConditionRule, boolean>();

/** Returns true if a rule reads a figure that a deposit or a reduction changes. */
export function readsMargin(rule: ConditionRule): boolean {
  let reads = known.get(rule);
  if (reads === undefined) {
    reads = rule.reads.some(({ scope, field }) => marginFields[scope]?.has(field) ?? false);
    known.set(rule, reads);
  }
  return reads;
}

/** @returns null where no rule about its margin fires, or one that does cannot be judged */
export function leastAmounts(
  situation: Situation,
  { risk, marks }: Supposed,
  { headroomOf, feeOf }: AmountsOptions,
): Amounts | null {
  const { markets } = situation;
  const firing = new Set<string>();
  for (const one of new Outlook(situation, { risk, marks }).conclusions(readsMargin)) {
    if (one.after === "unknown") {
      if (one.standing !== null) return null;
    } else if (!isClear(one)) firing.add(keyOf(one));
  }
  if (firing.size === 0) return null;
  const wanted = (rule: ConditionRule, subject: string) => firing.has(keyOf({ rule, subject }));
  const further = adverseMarks(risk, marks, headroomOf);
  const isEnough = (supposed: AccountRisk): boolean => {
    for (const one of new Outlook(situation, { risk: supposed, marks }).conclusions(wanted))
      if (!isClear(one)) return false;
    const there = new Outlook(situation, { risk: supposed, marks: further });
    for (const one of there.conclusions(wanted, "none")) if (!isClear(one)) return false;
    return true;
  };
  const deposit = leastAmount((amount) => isEnough(withDeposit(risk, amount)), firstDeposit, maxDeposit);
  const reductions = new Map<string, bigint | null>();
  for (const { symbol, baseLots } of largest(risk, marks, markets)) {
    const priceTicks = marks.get(symbol);
    if (priceTicks === undefined) continue;
    const size = BigInt(baseLots);
    const held = size < 0n ? -size : size;
    const fee = feeOf(symbol);
    const reduced = (lots: bigint) => withReduction(risk, markets, { symbol, lots, priceTicks, fee }) ?? risk;
    const first = held / firstParts;
    const least = leastAmount(
      (lots) => isEnough(lots === 0n ? risk : reduced(lots)),
      first > 0n ? first : 1n,
      held,
    );
    reductions.set(symbol, least);
  }
  return { deposit, reductions, marks: further };
}

function largest({ positions }: AccountRisk, marks: MarkTicks, markets: Markets): readonly PositionRisk[] {
  if (positions.length <= maxReductions) return positions;
  const notional = ({ symbol, baseLots }: PositionRisk) =>
    Math.abs(Number(baseLots)) * (marks.get(symbol) ?? 0) * (markets.get(symbol)?.tickSize ?? 0);
  return positions.toSorted((a, b) => notional(b) - notional(a)).slice(0, maxReductions);
}

function isClear({ after }: Conclusion): boolean {
  return after === null || after === "gone";
}

function keyOf({ rule, subject }: { readonly rule: ConditionRule; readonly subject: string }): string {
  return `${rule.name}\n${subject}`;
}
