/** The risk of an account at the newest marks, as facts of the account and its positions. */
import { assessAccount } from "../../margin/assess.ts";
import { fundingUntilMaintenanceMs } from "../../margin/funding.ts";
import { movesToLiquidation } from "../../margin/moves.ts";
import { Sheet } from "../../margin/sheet.ts";
import { usdFromQuoteLots } from "../../margin/units.ts";
import type { FactRecord } from "../../rules/index.ts";
import type { Markets } from "../markets/markets.ts";
import { hasSpot, priceBalances } from "../markets/spot-collateral.ts";
import { refreshAges } from "./account-ages.ts";
import { listsAll } from "./account-comparison.ts";
import type { AccountEntry, PositionEntry } from "./account-entry.ts";
import { fundingFacts, markedOf, positionMarkFacts, traderFacts } from "./account-facts.ts";
import type { MarketIndex } from "./market-index.ts";

const nothingToMove = { together: Number.POSITIVE_INFINITY, adverse: Number.POSITIVE_INFINITY };

export class AccountAssessment {
  readonly #markets: Markets;
  readonly #index: MarketIndex<AccountEntry>;
  readonly #sheet = new Sheet();
  readonly #moves = { together: Number.NaN, adverse: Number.NaN };

  constructor(markets: Markets, index: MarketIndex<AccountEntry>) {
    this.#markets = markets;
    this.#index = index;
  }

  /** Computes an account's risk from the present data, and refreshes the facts of the account and its positions. */
  assess(account: AccountEntry): void {
    if (account.injected) return;
    const { risk, markTicks } = this.#markets;
    const unpricedSpot = !this.#priceSpot(account);
    if (!unpricedSpot && this.#sheet.assess(account.risk, risk, markTicks)) this.#fromSheet(account);
    else this.#atLength(account, unpricedSpot);
    this.#index.noteAssessed(account);
    const { values } = account.node.facts;
    if (!listsAll(values.positions, account.positions))
      values.positions = [...account.positions.values()].map(({ node }) => node.facts.values as FactRecord);
    this.refreshAges(account);
  }

  /** Updates the ages of an account's inputs after prices were read, also if they did not change. */
  refreshAges(account: AccountEntry): void {
    if (!account.injected) refreshAges(account, this.#markets);
  }

  /** Values the collateral in other assets. @returns false if its value is not known */
  #priceSpot({ state, risk }: AccountEntry): boolean {
    risk.spot = undefined;
    if (!hasSpot(state)) return true;
    const priced = priceBalances(state, this.#markets);
    risk.spot = priced ?? undefined;
    return priced !== null;
  }

  /** Takes the results that were computed in doubles. */
  #fromSheet(account: AccountEntry): void {
    const sheet = this.#sheet;
    const { risk, rates } = this.#markets;
    const { node, positions } = account;
    account.assessed = true;
    const held = positions.size > 0;
    this.#moves.together = held ? sheet.together() : Number.POSITIVE_INFINITY;
    this.#moves.adverse = held ? sheet.adverse() : Number.POSITIVE_INFINITY;
    traderFacts(node.facts, sheet, this.#moves);
    const effectiveUsd = usdFromQuoteLots(sheet.effectiveCollateralQuoteLots);
    let index = 0;
    for (const [symbol, position] of positions) {
      // Positions come first and in the same order; the search is for a row that was left out.
      const leg = sheet.legOf(symbol, index++);
      const market = leg?.market ?? risk.get(symbol);
      positionMarkFacts(position.node.facts, position.state, leg, market, effectiveUsd);
      noteDistance(position);
    }
    fundingFacts(node.facts, sheet.fundingUntilMs(rates));
  }

  /** Computes in exact integers, for any size of numbers and for unknown inputs. */
  #atLength(account: AccountEntry, unpricedSpot: boolean): void {
    const { risk, markTicks, rates } = this.#markets;
    const { node, positions } = account;
    // Without the value of its spot collateral no figure that depends on collateral is known.
    const computed = assessAccount(account.risk, risk, markTicks, { liquidation: !unpricedSpot });
    const assessment = unpricedSpot ? { ...computed, totals: undefined } : computed;
    const { totals, markets } = assessment;
    account.assessed = totals !== undefined;
    const moves =
      positions.size === 0 ? nothingToMove : movesToLiquidation(account.risk, risk, markTicks, assessment);
    traderFacts(node.facts, totals, moves);
    const effectiveUsd = totals && usdFromQuoteLots(totals.effectiveCollateralQuoteLots);
    for (const [symbol, position] of positions) {
      const of = markedOf(markets.find((one) => one.symbol === symbol));
      positionMarkFacts(position.node.facts, position.state, of, risk.get(symbol), effectiveUsd);
      noteDistance(position);
    }
    fundingFacts(node.facts, fundingUntilMaintenanceMs(assessment, rates));
  }

  /** Computes the effects of funding on the account, by the newest rates. */
  refreshFunding(account: AccountEntry): void {
    if (account.injected || !account.assessed) return;
    const { risk, markTicks, rates } = this.#markets;
    const untilMs = this.#sheet.assess(account.risk, risk, markTicks)
      ? this.#sheet.fundingUntilMs(rates)
      : fundingUntilMaintenanceMs(
          assessAccount(account.risk, risk, markTicks, { liquidation: false }),
          rates,
        );
    fundingFacts(account.node.facts, untilMs);
  }
}

function noteDistance(position: PositionEntry): void {
  const { liquidationDistance } = position.node.facts.values;
  if (typeof liquidationDistance === "number" && liquidationDistance < position.leastDistance)
    position.leastDistance = liquidationDistance;
}
