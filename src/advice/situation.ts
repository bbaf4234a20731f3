/**
 * One account with the rules that judge it and its positions; and hypothetical versions of it, whose facts are computed and judged
 * without changing any state.
 *
 * Windows look back at the past, so they give the same results for a hypothetical account. So do facts of the wallet, of books and
 * of pairs.
 */
import type { PositionState } from "../domain/account.ts";
import type { Severity } from "../domain/alerts/alert.ts";
import { assessAccount } from "../margin/assess.ts";
import { fundingUntilMaintenanceMs } from "../margin/funding.ts";
import { atMarks } from "../margin/hypothetical.ts";
import type { AccountRisk, Assessment, Markets, MarkTicks, PositionRisk } from "../margin/model.ts";
import { movesToLiquidation } from "../margin/moves.ts";
import { usdFromQuoteLots, usdFromTicks } from "../margin/units.ts";
import { type ConditionRule, type Env, type Facts, judge, type Window } from "../rules/index.ts";
import {
  fundingFacts,
  markedOf,
  positionMarkFacts,
  positionStateFacts,
  traderFacts,
} from "../state/accounts/account-facts.ts";

export interface JudgedRule {
  readonly rule: ConditionRule;
  readonly windows: readonly Window[];
  /** The level at which it fires; null: it does not. */
  readonly severity: Severity | null;
  /** The time for which a level has held until now, ms. */
  readonly heldMs: (level: Severity) => number;
}

export interface JudgedSubject {
  readonly name: string;
  readonly env: Env;
  readonly rules: readonly JudgedRule[];
}

export interface JudgedPosition extends JudgedSubject {
  readonly state: PositionState;
}

/** Actions that the exchange accepts for an account now: null if it does, else the reason, for display. */
export interface Permits {
  readonly deposit: string | null;
  /** Moving collateral to another account of the wallet. */
  readonly give: string | null;
  readonly reduce: (symbol: string) => string | null;
}

export interface Situation {
  /** `main/0.0`. */
  readonly name: string;
  readonly permits: Permits;
  readonly nowMs: number;
  readonly risk: AccountRisk;
  readonly markets: Markets;
  readonly marks: MarkTicks;
  /** Hourly funding rates by symbol, fractions. */
  readonly rates: ReadonlyMap<string, number>;
  readonly trader: JudgedSubject;
  /** By symbol. */
  readonly positions: ReadonlyMap<string, JudgedPosition>;
}

/** A hypothetical account, with spot collateral valued at the marks of its situation. */
export interface Supposed {
  readonly risk: AccountRisk;
  readonly marks: MarkTicks;
}

export interface Conclusion {
  readonly rule: ConditionRule;
  readonly subject: string;
  /** The level at which it fires; null: it does not. */
  readonly standing: Severity | null;
  /** Null: no level holds. */
  readonly after: Severity | null | "unknown" | "gone";
  /** True if the target of the rule holds, or the rule has none. */
  readonly isOnTarget: boolean;
  readonly heldMs: JudgedRule["heldMs"];
}

export type StandingLevel = (rule: ConditionRule, subject: string) => Severity | null;

export class Outlook {
  readonly trader: Facts;
  /** By symbol, the positions that still exist. */
  readonly positions: ReadonlyMap<string, Facts>;
  readonly assessment: Assessment;
  readonly nowMs: number;
  readonly #situation: Situation;
  readonly #markets: ReadonlyMap<string, Facts>;

  constructor(situation: Situation, supposed: Supposed) {
    this.#situation = situation;
    const { markets, marks: before, rates, trader, nowMs } = situation;
    const { marks } = supposed;
    const risk = atMarks(supposed.risk, markets, before, marks);
    this.#markets = movedMarkets(situation, marks);
    this.assessment = assessAccount(risk, markets, marks);
    const { totals } = this.assessment;
    const facts = copyOf(trader.env.trader);
    const held = risk.positions.length > 0;
    const never = Number.POSITIVE_INFINITY;
    const moves = held
      ? movesToLiquidation(risk, markets, marks, this.assessment)
      : { together: never, adverse: never };
    facts.values.collateral = usdFromQuoteLots(risk.collateralQuoteLots);
    traderFacts(facts, totals, moves);
    fundingFacts(facts, fundingUntilMaintenanceMs(this.assessment, rates));
    const effectiveUsd = totals && usdFromQuoteLots(totals.effectiveCollateralQuoteLots);
    const positions = new Map<string, Facts>();
    for (const position of risk.positions) {
      const { symbol } = position;
      const known = situation.positions.get(symbol);
      if (known === undefined) continue;
      const own = copyOf(known.env.position);
      const state = stateOf(known.state, position);
      const market = markets.get(symbol);
      positionStateFacts(own, state, market);
      const marked = markedOf(this.assessment.markets.find((one) => one.symbol === symbol));
      positionMarkFacts(own, state, marked, market, effectiveUsd);
      positions.set(symbol, own);
    }
    facts.values.positions = [...positions.values()].map(({ values }) => values as never);
    const { orders } = facts.values;
    if (Array.isArray(orders))
      facts.values.orders = orders.filter(({ symbol, reduceOnly }) => !reduceOnly || positions.has(symbol));
    this.trader = facts;
    this.positions = positions;
    this.nowMs = nowMs;
  }

  /**
   * The conclusions of the rules that `wanted` selects, for the account and its positions.
   * @param standing the active level, which stays until it resolves; absent: that of its alert
   */
  *conclusions(
    wanted: (rule: ConditionRule, subject: string) => boolean = () => true,
    standing: StandingLevel | null = null,
  ): Iterable<Conclusion> {
    const { trader, positions } = this.#situation;
    yield* this.#conclusionsOf(trader, { trader: this.trader }, wanted, standing);
    for (const [symbol, position] of positions) {
      const facts = this.positions.get(symbol);
      if (facts === undefined) {
        for (const { rule, severity, heldMs } of position.rules)
          if (wanted(rule, position.name))
            yield {
              rule,
              subject: position.name,
              standing: severity,
              after: "gone",
              isOnTarget: true,
              heldMs,
            };
        continue;
      }
      const market = this.#markets.get(symbol) ?? position.env.market;
      yield* this.#conclusionsOf(
        position,
        { trader: this.trader, position: facts, market },
        wanted,
        standing,
      );
    }
  }

  *#conclusionsOf(
    { name, env, rules }: JudgedSubject,
    own: Partial<Env>,
    wanted: (rule: ConditionRule, subject: string) => boolean,
    standing: StandingLevel | null,
  ): Iterable<Conclusion> {
    const { nowMs } = this;
    for (const { rule, windows, severity, heldMs } of rules) {
      if (!wanted(rule, name)) continue;
      const supposed: Env = {
        ...env,
        ...own,
        nowMs,
        // This may run during a judgement of the same subject.
        ...{ value: undefined, allFresh: false, oldAccounts: false, suppose: undefined },
        markets: (symbol) => this.#markets.get(symbol.toUpperCase()) ?? env.markets(symbol),
        window: (index) => windows[index]?.read(nowMs) ?? Number.NaN,
      };
      const judgement = judge(rule, supposed, standing === null ? severity : standing(rule, name));
      const after = judgement.kind === "known" ? judgement.severity : "unknown";
      const isOnTarget = rule.target === null || rule.target.run(supposed) === true;
      yield { rule, subject: name, standing: severity, after, isOnTarget, heldMs };
    }
  }
}

/** Returns true if the exchange allows no withdrawal from an account in this state. */
export function isBelowWithdrawals({ assessment: { totals } }: Outlook): boolean {
  if (totals === undefined) return false;
  return totals.effectiveCollateralForWithdrawalsQuoteLots < totals.initialMarginForWithdrawalsQuoteLots;
}

function copyOf(facts: Facts | undefined): Facts {
  return { values: { ...facts?.values }, seenMs: { ...facts?.seenMs } };
}

function stateOf(known: PositionState, position: PositionRisk): PositionState {
  return {
    ...known,
    baseLots: BigInt(position.baseLots),
    virtualQuoteLots: BigInt(position.virtualQuoteLots),
    unsettledFundingQuoteLots: BigInt(position.unsettledFundingQuoteLots),
  };
}

/** Facts of the markets with another mark. Index prices are assumed to move as marks do. */
function movedMarkets({ markets, marks, trader }: Situation, after: MarkTicks): Map<string, Facts> {
  const moved = new Map<string, Facts>();
  for (const [symbol, ticks] of after) {
    const before = marks.get(symbol);
    const market = markets.get(symbol);
    if (before === ticks || before === undefined || market === undefined) continue;
    const facts = copyOf(trader.env.markets(symbol));
    facts.values.markPrice = usdFromTicks(ticks, market);
    const { oraclePrice } = facts.values;
    if (typeof oraclePrice === "number") facts.values.oraclePrice = (oraclePrice * ticks) / before;
    moved.set(symbol, facts);
  }
  return moved;
}
