/**
 * Computes the results of `assessAccount`, `movesToLiquidation` and `fundingUntilMaintenanceMs` for one account after the other, in
 * doubles and in reused objects: each change of marks assesses thousands of accounts, and the cost of that is memory.
 *
 * It gives a result if doubles are certain to be exact and every input is known, which is nearly always the case; otherwise it
 * returns that it has none, and the caller uses those functions. A property test checks that the results are equal.
 */

import { maxTicks } from "./exact.ts";
import {
  fastExcess,
  fastLimit,
  fillFastMarket,
  fillFigures,
  isActive,
  ReusableFastMarket,
  ReusableFigures,
} from "./fast.ts";
import type { AccountRisk, MarketRisk, Markets, MarkTicks, RiskState, RiskTier } from "./model.ts";
import { farthest, firstHit, resolution } from "./moves.ts";
import { ratioOf, riskStateOf, riskTierOf } from "./risk-state.ts";
import { isSound } from "./sound-inputs.ts";

const msPerHour = 3_600_000;
/** Rounding changes the excess by less than 4 quote lots; four times that is certainly not rounding. */
const beyondRounding = 16;
/** Maximum number of slope steps for a liquidation price before bisection: mostly one per bend of the curve. */
const maxGuesses = 4;

/** One market of the account. */
export class SheetLeg {
  symbol = "";
  market: MarketRisk | null = null;
  markTicks = Number.NaN;
  /** NaN: no mark of this market liquidates the account, or there is no position in it. */
  liquidationTicks = Number.NaN;
  /** The direction of an adverse move: 1 up, -1 down, 0 no position. */
  against = Number.NaN;
  readonly fast = new ReusableFastMarket();
  readonly figures = new ReusableFigures();
}

export class Sheet {
  /** Reused objects; the first `count` belong to this account, its positions first and in their own order. */
  readonly legs: SheetLeg[] = [];
  count = 0;
  collateral = Number.NaN;
  funding = Number.NaN;
  effectiveCollateralQuoteLots = Number.NaN;
  portfolioValueQuoteLots = Number.NaN;
  unrealizedQuoteLots = Number.NaN;
  freeCollateralQuoteLots = Number.NaN;
  grossNotionalQuoteLots = Number.NaN;
  netNotionalQuoteLots = Number.NaN;
  initialMarginQuoteLots = Number.NaN;
  cancelMarginQuoteLots = Number.NaN;
  maintenanceMarginQuoteLots = Number.NaN;
  backstopMarginQuoteLots = Number.NaN;
  highRiskMarginQuoteLots = Number.NaN;
  marginRatio = Number.NaN;
  leverage = Number.NaN;
  riskState: RiskState = "healthy";
  riskTier: RiskTier = "safe";
  #discounted = Number.NaN;
  #spotNotional = Number.NaN;
  #spotDiscounted = Number.NaN;
  /** All positions are long: then a fall of all marks is adverse for each of them. */
  #allLong = false;
  /** The fall of all marks up to liquidation; NaN: not computed yet. */
  #fall = Number.NaN;
  /** Upper bound of all partial sums. */
  #bound = Number.NaN;
  /** A search reached numbers for which doubles may be inexact. */
  #doubtful = false;
  /** The leg whose liquidation price is searched, see `#hit`. */
  #leg = new SheetLeg();
  #rest = Number.NaN;
  #restBound = Number.NaN;
  #exactUpTo = Number.NaN;
  readonly #up = (move: number): number => this.#left(move, 1);
  readonly #down = (move: number): number => this.#left(move, -1);
  readonly #adverse = (move: number): number => this.#left(move, 0);

  /** @returns false if it has no result: all fields are meaningless then */
  assess(account: AccountRisk, markets: Markets, marks: MarkTicks): boolean {
    const { collateralQuoteLots: collateral, positions, orders } = account;
    if (!isExact(collateral)) return false;
    this.count = 0;
    this.#allLong = true;
    this.#fall = Number.NaN;
    let funding = 0;
    let bound = Math.abs(collateral);
    for (let i = 0; i < positions.length; i++) {
      const { symbol, baseLots, virtualQuoteLots, unsettledFundingQuoteLots } = positions[i]!;
      if (!isExact(baseLots) || !isExact(virtualQuoteLots) || !isExact(unsettledFundingQuoteLots))
        return false;
      if (!this.#take(account, symbol, baseLots, virtualQuoteLots, markets, marks)) return false;
      funding += unsettledFundingQuoteLots;
      bound += Math.abs(unsettledFundingQuoteLots);
    }
    for (let i = 0; i < orders.length; i++) {
      const order = orders[i]!;
      if (!isActive(order)) continue;
      const { priceTicks, remainingLots } = order;
      if (!isExact(priceTicks) || !isExact(remainingLots) || priceTicks < 0 || remainingLots < 0)
        return false;
      if (!this.#has(order.symbol) && !this.#take(account, order.symbol, 0, 0, markets, marks)) return false;
    }
    this.collateral = collateral;
    this.funding = funding;
    return this.#spot(account) && this.#sum(bound) && this.#liquidations();
  }

  /** The common move of all marks up to liquidation; see `Moves.together`. */
  together(): number {
    if (this.effectiveCollateralQuoteLots < this.maintenanceMarginQuoteLots) return 0;
    const now = this.effectiveCollateralQuoteLots - this.maintenanceMarginQuoteLots;
    const downFirst = this.netNotionalQuoteLots > 0;
    const nearer = downFirst ? this.#downTo(now) : this.#upTo(now);
    if (nearer !== Number.POSITIVE_INFINITY && this.#isFarther(downFirst ? 1 : -1, nearer, now))
      return nearer;
    return Math.min(nearer, downFirst ? this.#upTo(now) : this.#downTo(now));
  }

  /** The move of each mark against its own position up to liquidation; see `Moves.adverse`. */
  adverse(): number {
    if (this.effectiveCollateralQuoteLots < this.maintenanceMarginQuoteLots) return 0;
    if (this.#allLong && !Number.isNaN(this.#fall)) return this.#fall;
    const atNothing = this.#left(1, 0);
    if (!(atNothing < 0)) return firstHit(1, farthest, this.#adverse, atNothing);
    const now = this.effectiveCollateralQuoteLots - this.maintenanceMarginQuoteLots;
    return firstHit(0, 1, this.#adverse, now, atNothing);
  }

  /** See `fundingUntilMaintenanceMs`. */
  fundingUntilMs(ratesPerHour: ReadonlyMap<string, number>): number {
    const left = this.effectiveCollateralQuoteLots - this.maintenanceMarginQuoteLots;
    if (left < 0) return 0;
    let paidPerHour = 0;
    for (let i = 0; i < this.count; i++) {
      const { symbol, fast, figures } = this.legs[i]!;
      if (fast.size === 0) continue;
      const rate = ratesPerHour.get(symbol);
      if (rate === undefined) return Number.NaN;
      paidPerHour += figures.positionValueQuoteLots * rate;
    }
    if (Number.isNaN(paidPerHour)) return Number.NaN;
    return paidPerHour > 0 ? (left / paidPerHour) * msPerHour : Number.POSITIVE_INFINITY;
  }

  /** @param at its most likely index */
  legOf(symbol: string, at: number): SheetLeg | undefined {
    const likely = this.legs[at];
    if (at < this.count && likely?.symbol === symbol) return likely;
    for (let i = 0; i < this.count; i++) if (this.legs[i]!.symbol === symbol) return this.legs[i];
    return undefined;
  }

  #has(symbol: string): boolean {
    for (let i = 0; i < this.count; i++) if (this.legs[i]!.symbol === symbol) return true;
    return false;
  }

  #take(
    account: AccountRisk,
    symbol: string,
    baseLots: number,
    virtualQuoteLots: number,
    markets: Markets,
    marks: MarkTicks,
  ): boolean {
    const market = markets.get(symbol);
    const mark = marks.get(symbol);
    if (market === undefined || mark === undefined) return false;
    if (!Number.isSafeInteger(mark) || mark <= 0) return false;
    while (this.legs.length <= this.count) this.legs.push(new SheetLeg());
    const leg = this.legs[this.count]!;
    // Consecutive accounts mostly hold the same markets.
    if (leg.market !== market) {
      if (!isSound(market)) return false;
      leg.market = market;
    }
    this.count++;
    leg.symbol = symbol;
    leg.markTicks = mark;
    leg.against = baseLots > 0 ? -1 : baseLots < 0 ? 1 : 0;
    if (!(baseLots > 0)) this.#allLong = false;
    fillFastMarket(leg.fast, market, baseLots, virtualQuoteLots, account.orders, symbol, mark);
    if (leg.fast.bound > fastLimit) return false;
    fillFigures(leg.figures, leg.fast, market, mark);
    return true;
  }

  #spot({ spot }: AccountRisk): boolean {
    this.#spotNotional = 0;
    this.#spotDiscounted = 0;
    if (spot === undefined || spot.length === 0) return true;
    const { notionalQuoteLots, discountedQuoteLots, repricing } = spot[0]!;
    // Several spot assets, or one that a mark moves, are rare and not handled here.
    if (spot.length > 1 || repricing !== undefined) return false;
    if (!isExact(notionalQuoteLots) || !isExact(discountedQuoteLots)) return false;
    this.#spotNotional = notionalQuoteLots;
    this.#spotDiscounted = discountedQuoteLots;
    return true;
  }

  /** @param own bound of the account's own amounts without spot collateral */
  #sum(own: number): boolean {
    let bound = own + Math.abs(this.#spotNotional) + Math.abs(this.#spotDiscounted);
    let unrealized = 0;
    let discounted = 0;
    let initial = 0;
    let cancel = 0;
    let maintenance = 0;
    let backstop = 0;
    let highRisk = 0;
    let gross = 0;
    let net = 0;
    for (let i = 0; i < this.count; i++) {
      const { fast, figures } = this.legs[i]!;
      bound += fast.bound;
      unrealized += figures.unrealizedQuoteLots;
      discounted += figures.discountedQuoteLots;
      initial += figures.initialMarginQuoteLots;
      cancel += figures.cancelMarginQuoteLots;
      maintenance += figures.maintenanceMarginQuoteLots;
      backstop += figures.backstopMarginQuoteLots;
      highRisk += figures.highRiskMarginQuoteLots;
      gross += Math.abs(figures.positionValueQuoteLots);
      net += figures.positionValueQuoteLots;
    }
    // No partial sum is larger than the sum of the bounds of its parts.
    if (!(bound <= fastLimit)) return false;
    this.#bound = bound;
    const settled = this.collateral + this.funding;
    const effective = settled + discounted + this.#spotDiscounted;
    this.#discounted = discounted;
    this.effectiveCollateralQuoteLots = effective;
    this.portfolioValueQuoteLots = settled + unrealized + this.#spotNotional;
    this.unrealizedQuoteLots = unrealized;
    this.freeCollateralQuoteLots = effective > initial ? effective - initial : 0;
    this.grossNotionalQuoteLots = gross;
    this.netNotionalQuoteLots = net;
    this.initialMarginQuoteLots = initial;
    this.cancelMarginQuoteLots = cancel;
    this.maintenanceMarginQuoteLots = maintenance;
    this.backstopMarginQuoteLots = backstop;
    this.highRiskMarginQuoteLots = highRisk;
    this.marginRatio = ratioOf(maintenance, effective);
    this.leverage = ratioOf(gross, effective);
    this.riskState = riskStateOf(effective, initial);
    this.riskTier = riskTierOf(this);
    return true;
  }

  /** As in `assess.ts`, which uses exact arithmetic wherever doubles may be inexact. */
  #liquidations(): boolean {
    this.#doubtful = false;
    for (let i = 0; i < this.count && !this.#doubtful; i++) {
      const leg = this.legs[i]!;
      const { fast, figures, markTicks } = leg;
      leg.liquidationTicks = Number.NaN;
      if (fast.size === 0) continue;
      const collateral =
        this.collateral +
        this.funding +
        (this.#discounted - figures.discountedQuoteLots) +
        this.#spotDiscounted;
      const rest = collateral - (this.maintenanceMarginQuoteLots - figures.maintenanceMarginQuoteLots);
      const restBound = Math.abs(rest);
      if (fast.bound + restBound > fastLimit) return false;
      this.#leg = leg;
      this.#rest = rest;
      this.#restBound = restBound;
      this.#exactUpTo =
        markTicks + Math.floor((fastLimit - fast.bound - restBound) / Math.max(fast.growth, 1));
      const excess = rest + figures.discountedQuoteLots - figures.maintenanceMarginQuoteLots;
      if (excess < 0) leg.liquidationTicks = markTicks;
      else leg.liquidationTicks = this.#guessed(leg, excess) ?? this.#halved(leg);
    }
    return !this.#doubtful;
  }

  /**
   * The boundary, found by following the slope of the excess; undefined if it is not certain that bisection would find the same.
   *
   * The excess is a sum of piecewise linear functions, concave in the mark, with a rounding error of less than 4 quote lots. If it
   * falls within one tick from `beyondRounding` or more to below 0, it keeps falling at least as steeply, so all further ticks are
   * hit. If it is also that far above 0 at the mark, it is above 0 at all ticks between, so none of those is hit. There is only one
   * boundary then, and every search finds it.
   */
  #guessed({ fast, markTicks }: SheetLeg, atMark: number): number | undefined {
    if (!(atMark >= beyondRounding)) return undefined;
    const { positionUnit, positionLeverage, maintenanceBps, size } = fast;
    const on = size > 0 ? -1 : 1;
    const last = size > 0 ? 0 : Math.min(maxTicks, this.#exactUpTo);
    const margin = (positionUnit * maintenanceBps) / (positionLeverage * 10_000);
    // Without partly counted profits and without orders the curve is a straight line, and the first step finds the boundary.
    let reach = atMark / (positionUnit + on * margin);
    let knownAt = 0;
    let known = atMark;
    for (let guess = 0; guess < maxGuesses; guess++) {
      // Rounded up in the direction of the loss: the first tick that is hit, if the step is right.
      const steps = Math.ceil(reach);
      const ticks = markTicks + on * steps;
      if (!(steps >= 1 && (size > 0 ? ticks >= last : ticks <= last))) return undefined;
      const hit = fastExcess(fast, this.#rest, ticks);
      const before = steps === 1 ? atMark : fastExcess(fast, this.#rest, ticks - on);
      if (hit < 0 && before >= 0) return before >= beyondRounding ? ticks : undefined;
      // The next step uses the slope from the previous point.
      const slope = (known - hit) / (steps - knownAt);
      knownAt = steps;
      known = hit;
      reach = steps + hit / slope;
    }
    return undefined;
  }

  #halved({ fast, markTicks }: SheetLeg): number {
    return fast.size > 0 ? this.#below(markTicks) : this.#above(markTicks);
  }

  /** The same steps as `highestBelow` of `exact.ts`. */
  #below(markTicks: number): number {
    if (!this.#hit(0)) return Number.NaN;
    let low = 0;
    let high = markTicks;
    while (low + 1 < high) {
      const middle = low + Math.floor((high - low) / 2);
      if (this.#hit(middle)) low = middle;
      else high = middle;
    }
    return low;
  }

  /** The same steps as `lowestAbove` of `exact.ts`. */
  #above(markTicks: number): number {
    if (markTicks >= maxTicks || !this.#hit(maxTicks)) return Number.NaN;
    let low = markTicks;
    let high = maxTicks;
    while (low + 1 < high) {
      const middle = low + Math.floor((high - low) / 2);
      if (this.#hit(middle)) high = middle;
      else low = middle;
    }
    return high;
  }

  /** True if the account would be liquidatable with this market's mark at these ticks. */
  #hit(ticks: number): boolean {
    const { fast } = this.#leg;
    const excess = fastExcess(fast, this.#rest, ticks);
    if (ticks > this.#exactUpTo) {
      const doubt = (fast.bound + this.#restBound + fast.growth * ticks) * 2 ** -44 + 16;
      if (Math.abs(excess) <= doubt) this.#doubtful = true;
    }
    return excess < 0;
  }

  /** @param now excess without a move, here and below */
  #upTo(now: number): number {
    return firstHit(0, farthest, this.#up, now);
  }

  #downTo(now: number): number {
    this.#fall = firstHit(0, 1, this.#down, now);
    return this.#fall;
  }

  /**
   * True if a search in this direction is certain to end farther away than `move`: the excess is concave in it, so if it is
   * certainly above 0 now and slightly beyond the move, it is above 0 between them.
   */
  #isFarther(direction: -1 | 1, move: number, now: number): boolean {
    const doubt = beyondRounding * (this.count + 1) + this.#bound * 2 ** -40;
    return now >= doubt && this.#left(move + 2 * resolution, direction) >= doubt;
  }

  /** The excess after a move of all marks in one direction, or (0) of each mark against its own position. */
  #left(move: number, direction: -1 | 0 | 1): number {
    let excess = this.collateral + this.funding;
    for (let i = 0; i < this.count; i++) {
      const { fast, markTicks, against } = this.legs[i]!;
      const signed = move * (direction === 0 ? against : direction);
      excess += fastExcess(fast, 0, markTicks * Math.max(0, 1 + signed));
    }
    return excess + this.#spotDiscounted;
  }
}

function isExact(amount: number | bigint): amount is number {
  return typeof amount === "number" && Number.isSafeInteger(amount);
}
