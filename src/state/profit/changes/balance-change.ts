/**
 * The change of an account's cash between two of its states: its collateral and the quote sides of its positions, less the
 * funding that was settled. Trades move it by what was paid or received for the traded size, and by fees. What trades do not
 * explain flowed in or out, or comes of something that the states do not show: a position that was opened and closed in
 * between, a takeover by the liquidator. Amounts are USD.
 */
import type { PositionState, SpotCollateralState } from "../../../domain/account.ts";
import { symbolKey } from "../../../domain/symbol.ts";
import { usdFromQuoteLots } from "../../../margin/units.ts";

/** The part of an account's state that its cash depends on. */
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
  /** Share of its value by which the estimate may be wrong. */
  readonly slack: number;
  /** Only fills tell of it: no state shows its position. Absent: a state does. */
  readonly unshown?: boolean;
}

export interface BalanceChange {
  readonly cashUsd: number;
  readonly traded: Readonly<Record<string, Traded>>;
  /** Markets in which it traded, and of which nothing is known: the list of markets left them out. Absent: none. */
  readonly unpriced?: readonly string[];
  /** Funding that was settled with a position that is gone is known only roughly. */
  readonly slackUsd: number;
  /** Markets with such a position. Absent: none. */
  readonly gone?: readonly string[];
}

export interface Pricing {
  /** Base units of one base lot. */
  readonly unitsPerLot: number;
  /** Undefined: not known. */
  readonly markUsd: number | undefined;
  /** The funding rate, a fraction an hour; undefined: not known. */
  readonly ratePerHour: number | undefined;
}

/** Taker fees and makers' rebates, as a share of the traded value. */
const feeSlack = 0.002;
/** A closing trade is estimated at the mark. */
const markSlack = 0.005;
/** Without a mark it is estimated at the entry price. */
const entrySlack = 0.05;
/** Funding of a position that is gone, accrued since the state before: a share of its value, or of so many hours at its rate. */
const fundingSlack = 0.0005;
const fundingHours = 2;

const noPosition = {
  baseLots: 0n,
  virtualQuoteLots: 0n,
  unsettledFundingQuoteLots: 0n,
  accumulatedFundingQuoteLots: 0n,
} as const;

export const emptyBalance: Balance = { collateralQuoteLots: 0n, spotCollaterals: [], positions: [] };

/** @param pricingOf of the market of this symbol; undefined: it is not known */
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
    // The funding of a position that is gone was settled with it.
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
    // Funding is of the value at its time: the mark may have fallen since.
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

/** Collateral in other assets that an account has no longer, by asset: in the asset's smallest units, and its value; positive. */
export type TakenSpots = Readonly<Record<number, { readonly units: number; readonly usd: number }>>;

export interface SpotChange {
  /** Value of what was added, USD. */
  readonly addedUsd: number;
  /** Null: nothing. */
  readonly taken: TakenSpots | null;
}

export const noSpotChange: SpotChange = { addedUsd: 0, taken: null };

/**
 * Returns what was added to and taken from the collateral in other assets; null where an asset cannot be valued. Nothing but
 * deposits, withdrawals and liquidations changes these balances, and no history tells of the first two.
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

/** Size that was added says at what price; size that was taken off does not. */
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
