/**
 * The change of an account's cash between two of its states: its collateral and the quote sides of its positions, less the
 * funding that was settled. Trades change it by what was paid or received for the traded size, and by fees. The rest was paid
 * in or out, or is due to something that the states do not show: a position that was opened and closed in between, or a takeover
 * by the liquidator. Amounts are USD.
 */
import type { PositionState, SpotCollateralState } from "../../../domain/account.ts";
import { symbolKey } from "../../../domain/symbol.ts";
import { usdFromQuoteLots } from "../../../margin/units.ts";

/** The part of an account's state that determines its cash. */
export interface Balance {
  readonly collateralQuoteLots: bigint;
  readonly spotCollaterals: readonly SpotCollateralState[];
  readonly positions: readonly Pick<
    PositionState,
    | "symbol"
    | "baseLots"
    | "virtualQuoteLots"
    | "unsettledFundingQuoteLots"
    | "accumulatedFundingQuoteLots"
    | "sequence"
  >[];
}

/** The change of the size in one market, in base units, at an estimated price. */
export interface Traded {
  readonly units: number;
  readonly price: number;
  /** Possible error of the estimate, a share of its value. */
  readonly slack: number;
  /** Only fills show it: no state has its position. Absent: a state does. */
  readonly unshown?: boolean;
}

export interface BalanceChange {
  readonly cashUsd: number;
  readonly traded: Readonly<Record<string, Traded>>;
  /** Traded markets without any data: the list of markets lacks them. Absent: none. */
  readonly unpriced?: readonly string[];
  /** Possible error of the funding that was settled with closed positions, USD. */
  readonly slackUsd: number;
  /** Markets with such a position. Absent: none. */
  readonly gone?: readonly string[];
}

export interface Pricing {
  /** Base units of one base lot. */
  readonly unitsPerLot: number;
  /** Undefined: not known. */
  readonly markUsd: number | undefined;
  /** The funding rate, a fraction per hour; undefined: not known. */
  readonly ratePerHour: number | undefined;
}

/** Taker fees and makers' rebates, as a share of the traded value. */
const feeSlack = 0.002;
/** Possible error of a closing trade, which is estimated at the mark. */
const markSlack = 0.005;
/** Possible error of a closing trade that is estimated at the entry price, as there is no mark. */
const entrySlack = 0.05;
/** Possible error of the funding of a closed position since the state before: a share of its value, or so many hours at its rate. */
const fundingSlack = 0.0005;
const fundingHours = 2;

const noPosition = {
  baseLots: 0n,
  virtualQuoteLots: 0n,
  unsettledFundingQuoteLots: 0n,
  accumulatedFundingQuoteLots: 0n,
} as const;

export const emptyBalance: Balance = { collateralQuoteLots: 0n, spotCollaterals: [], positions: [] };

/** @param pricingOf returns the pricing of a market by symbol; undefined: not known */
export function balanceChange(
  before: Balance,
  after: Balance,
  pricingOf: (symbol: string) => Pricing | undefined,
): BalanceChange {
  let cashLots = after.collateralQuoteLots - before.collateralQuoteLots;
  let slackUsd = 0;
  const traded: Record<string, Traded> = {};
  const unpriced: string[] = [];
  const gone: string[] = [];
  for (const symbol of symbolsOf(before, after)) {
    const old = positionOf(before, symbol) ?? noPosition;
    const now = positionOf(after, symbol) ?? noPosition;
    const same = "sequence" in old && "sequence" in now && old.sequence === now.sequence;
    cashLots += now.virtualQuoteLots - old.virtualQuoteLots - now.accumulatedFundingQuoteLots;
    // The funding of a closed position was settled with it.
    cashLots -= same ? -old.accumulatedFundingQuoteLots : old.unsettledFundingQuoteLots;
    const isGone = !same && old.baseLots !== 0n;
    if (isGone) gone.push(symbol);
    const lots = now.baseLots - old.baseLots;
    const pricing = pricingOf(symbol);
    if (lots !== 0n && pricing === undefined) unpriced.push(symbol);
    if (lots === 0n || pricing === undefined) continue;
    const units = Number(lots) * pricing.unitsPerLot;
    const one = estimate(old, now, units, pricing);
    traded[symbol] = one;
    if (!isGone) continue;
    // Funding depends on the value at its time: the mark may have fallen since.
    const valueUsd = Math.abs(Number(old.baseLots)) * pricing.unitsPerLot * one.price;
    const entryUsd = Math.abs(usdFromQuoteLots(old.virtualQuoteLots));
    slackUsd += Math.max(valueUsd, entryUsd) * fundingShare(pricing);
  }
  return {
    ...{ cashUsd: usdFromQuoteLots(cashLots), traded, slackUsd },
    ...(unpriced.length === 0 ? {} : { unpriced }),
    ...(gone.length === 0 ? {} : { gone }),
  };
}

/** Collateral in other assets that an account no longer has, by asset: in the asset's smallest units, and its value; positive. */
export type TakenSpots = Readonly<Record<number, { readonly units: number; readonly usd: number }>>;

export interface SpotChange {
  /** Value of what was added, USD. */
  readonly addedUsd: number;
  /** Null: nothing. */
  readonly taken: TakenSpots | null;
}

export const noSpotChange: SpotChange = { addedUsd: 0, taken: null };

/**
 * Returns the amounts added to and removed from the collateral in other assets; null if an asset cannot be valued. Only deposits,
 * withdrawals and liquidations change these balances, and no history contains the first two.
 *
 * @param unitUsdOf value of the smallest unit of an asset; undefined: not known
 */
export function spotChange(
  before: Balance,
  after: Balance,
  unitUsdOf: (spot: SpotCollateralState) => number | undefined,
): SpotChange | null {
  const [old, now] = [before.spotCollaterals, after.spotCollaterals];
  if (old === now || (old.length === 0 && now.length === 0)) return noSpotChange;
  let addedUsd = 0;
  const taken: Record<number, TakenSpots[number]> = {};
  const note = (spot: SpotCollateralState, was: bigint, is: bigint): void => {
    if (was === is) return;
    const units = Number(is - was);
    const usd = units * (unitUsdOf(spot) ?? Number.NaN);
    if (usd < 0) taken[spot.assetIndex] = { units: -units, usd: -usd };
    else addedUsd += usd;
  };
  for (const spot of now)
    note(spot, old.find(({ assetIndex }) => assetIndex === spot.assetIndex)?.balance ?? 0n, spot.balance);
  for (const spot of old)
    if (!now.some(({ assetIndex }) => assetIndex === spot.assetIndex)) note(spot, spot.balance, 0n);
  if (Number.isNaN(addedUsd)) return null;
  return { addedUsd, taken: Object.keys(taken).length === 0 ? null : taken };
}

function fundingShare({ ratePerHour = 0 }: Pricing): number {
  return Math.max(fundingSlack, Math.abs(ratePerHour) * fundingHours);
}

/** An entry price shows the price of added size, but not of removed size. */
function estimate(
  old: Pick<PositionState, "baseLots" | "virtualQuoteLots">,
  now: Pick<PositionState, "baseLots" | "virtualQuoteLots">,
  units: number,
  { unitsPerLot, markUsd }: Pricing,
): Traded {
  const quoteUsd = usdFromQuoteLots(now.virtualQuoteLots - old.virtualQuoteLots);
  const grew =
    old.baseLots === 0n || (old.baseLots > 0n ? now.baseLots > old.baseLots : now.baseLots < old.baseLots);
  if (grew) return { units, price: Math.abs(quoteUsd / units), slack: feeSlack };
  if (markUsd !== undefined && markUsd > 0) return { units, price: markUsd, slack: feeSlack + markSlack };
  const entryUsd = Math.abs(usdFromQuoteLots(old.virtualQuoteLots) / (Number(old.baseLots) * unitsPerLot));
  return { units, price: entryUsd, slack: feeSlack + entrySlack };
}

function symbolsOf(before: Balance, after: Balance): ReadonlySet<string> {
  const symbols = new Set<string>();
  for (const { symbol } of before.positions) symbols.add(symbolKey(symbol));
  for (const { symbol } of after.positions) symbols.add(symbolKey(symbol));
  return symbols;
}

function positionOf({ positions }: Balance, symbol: string): Balance["positions"][number] | undefined {
  return positions.find((one) => one.baseLots !== 0n && symbolKey(one.symbol) === symbol);
}
