/**
 * The data of the world. Amounts are bigints in the exchange's own units: quote lots (micro-dollars), base lots. Prices
 * are whole ticks. The house account mirrors the sizes and quote sides of all others, so that over all accounts
 *
 *   Σ base lots = 0 per market        Σ (collateral + virtual quote + unsettled funding) = external flows
 *
 * hold exactly after every step, without rounding.
 */
import type { Random } from "../domain/clock.ts";
import type { MarketRisk } from "../margin/model.ts";
import type { AccountVersion, MarketTotals, Place, Position, Side } from "./accounts/position.ts";
import type { Right } from "./accounts/right.ts";
import type { Journal } from "./journal.ts";
import type { Ledger } from "./ledger/state.ts";
import type { MarketSpec } from "./markets/markets.ts";

export interface Account {
  readonly wallet: Wallet;
  readonly pdaIndex: number;
  readonly subaccount: number;
  /** The trader account's address, derived. */
  readonly address: string;
  /** The exchange's database number. */
  readonly traderId: number;
  /** Increases by one with every change. */
  sequence: number;
  /** It has its capabilities; without them it can do nothing. */
  onboarded: boolean;
  /** Rights that the exchange took away. */
  lostRights: ReadonlySet<Right>;
  /** Maximum positions, fixed at registration. */
  maxPositions: number;
  collateral: bigint;
  /** Native SOL as collateral, native units; null: it never had any. Subaccount 0 only. */
  spot: bigint | null;
  readonly positions: Map<string, Position>;
  /** Resting, oldest first. */
  readonly orders: Set<Order>;
  lastDepositSlot: number;
  readonly totals: Map<string, MarketTotals>;
  /** Deposits less withdrawals and transfers. */
  netDeposits: bigint;
  /** Its states after each transaction that changed its money or positions, oldest first. */
  readonly versions: AccountVersion[];
}

export interface Wallet {
  readonly name: string;
  readonly authority: string;
  readonly userId: number;
  /** It acts at random. Traders that tests use by name act only by control calls. */
  readonly acts: boolean;
  /** By `pdaIndex.subaccount`. */
  readonly accounts: Map<string, Account>;
  readonly fills: Journal<Fill>;
  readonly collateral: Journal<CollateralMove>;
  readonly orders: Journal<Order>;
  /** Its messages to the book: orders that rested, and trades that took resting orders. */
  readonly sent: Journal<Order | Fill>;
  readonly funding: Journal<FundingRow>;
  readonly liquidations: Journal<Liquidation>;
  readonly notifications: Journal<Notification>;
}

export interface Fill extends Place {
  readonly account: Account;
  readonly symbol: string;
  readonly instructionType: string;
  readonly baseLotsBefore: bigint;
  readonly baseLotsAfter: bigint;
  readonly virtualQuoteLotsBefore: bigint;
  readonly virtualQuoteLotsAfter: bigint;
  /** Signed. */
  readonly baseLots: bigint;
  /** Opposite in sign to `baseLots`. */
  readonly quoteLots: bigint;
  readonly realizedPnl: bigint;
  readonly fee: bigint;
  readonly liquidity: "maker" | "taker";
  readonly orderSequence: string | null;
  readonly tradeType: "limit" | "market" | "liquidation" | "adl";
  /** The order over time that it is part of, `trader:number`. */
  readonly parentTwapId: string | null;
}

/** A market order traded in equal parts at equal intervals. */
export interface Twap {
  /** `trader:number`, by the address of the account. */
  readonly id: string;
  readonly account: Account;
  readonly symbol: string;
  readonly side: Side;
  readonly everyMs: number;
  readonly reduceOnly: boolean;
  remainingLots: bigint;
  remainingParts: number;
  nextMs: number;
}

export interface CollateralMove extends Place {
  readonly account: Account;
  readonly type: "deposit" | "withdrawal" | "transfer";
  /** Never negative. */
  readonly amount: bigint;
  readonly collateralAfter: bigint;
}

export interface FundingRow {
  readonly account: Account;
  readonly symbol: string;
  /** End of the interval. */
  readonly atMs: number;
  /** Positive: received. */
  readonly payment: bigint;
  /** Percent of notional, text. */
  readonly ratePercentage: string;
  readonly baseLots: bigint;
}

export type LiquidationRole =
  | "liquidatee"
  | "backstop_liquidatee"
  | "adl_closed_short"
  | "adl_closed_long"
  | "adl_in_profit"
  | "adl_caller";

export interface Liquidation extends Place {
  readonly account: Account | null;
  readonly symbol: string;
  readonly role: LiquidationRole;
  readonly detail:
    | {
        readonly kind: "market_order";
        readonly liquidatee: string;
        readonly liquidator: string;
        readonly side: "LONG" | "SHORT";
        readonly lots: bigint;
        readonly quoteLots: bigint;
        readonly positionClosed: boolean;
      }
    | {
        readonly kind: "backstop";
        readonly liquidatee: string;
        readonly liquidator: string;
        readonly lots: bigint;
        readonly quoteLots: bigint;
        readonly haircutRateBps: number;
        readonly liquidateeChange: bigint;
        readonly liquidatorChange: bigint;
      }
    | {
        readonly kind: "adl";
        readonly caller: string;
        readonly closedShort: string;
        readonly closedLong: string;
        readonly inProfit: string;
        readonly lots: bigint;
        readonly closeValue: bigint;
        readonly atLossChange: bigint;
        readonly inProfitChange: bigint;
      };
}

export interface Notification {
  readonly source: "event" | "admin" | "general";
  readonly id: number;
  readonly notificationType: string;
  readonly createdMs: number;
  /** The account concerned; null: the wallet itself (admin, general). */
  readonly account: Account | null;
  /** Events only. */
  readonly place: (Place & { readonly recipientIndex: number }) | null;
  readonly title: string | null;
  readonly body: string | null;
  /** In the form of the wire. */
  readonly data: unknown;
  readonly details: Readonly<Record<string, unknown>> | null;
  acked: boolean;
  ackedMs: number | null;
}

/** A minute, or a second, of a market. Prices in ticks, volumes in lots. */
export interface Bar {
  readonly startMs: number;
  readonly open: number;
  high: number;
  low: number;
  close: number;
  oracle: number;
  volumeLots: bigint;
  volumeQuoteLots: bigint;
  trades: number;
  openInterestLots: bigint;
  /** Quote lots since the market was opened. */
  makerFees: bigint;
  takerFees: bigint;
}

/** A public trade, with the taker's side. */
export interface PublicFill extends Place {
  /** Signed. */
  readonly baseLots: bigint;
  /** Opposite in sign. */
  readonly quoteLots: bigint;
  readonly instructionType: string;
}

export interface FundingRate {
  /** End of the interval. */
  readonly atMs: number;
  /** Quote lots that one base lot pays; positive: longs pay. */
  readonly perLot: bigint;
  /** Quote lots per base lot at the mark then. */
  readonly markPerLot: bigint;
}

/** The state of a market between two records. */
export interface MarketMoment {
  readonly atMs: number;
  readonly markTicks: number;
  readonly fundingIndex: bigint;
}

export interface Market {
  readonly spec: MarketSpec;
  readonly risk: MarketRisk;
  readonly marketId: number;
  /** Quote lots per base lot per tick. */
  readonly tickSize: bigint;
  status: string;
  /** For a commodity: `open` or `afterHours`, and the time of the next change; null: none. */
  session: { readonly state: "open" | "afterHours"; readonly nextMs: number | null };
  markTicks: number;
  oracleTicks: number;
  /** The random walk of the oracle price, in ticks, not rounded. */
  oracle: number;
  /** The distances of the book and other exchanges from the oracle, as fractions. */
  bookBasis: number;
  perpBasis: number;
  /** Mark and oracle keep their values until released. */
  held: boolean;
  /** The fraction paid each interval instead of the premium's rate. */
  pinnedRate: number | null;
  /** Quote lots paid by one base lot since the beginning; positive: by longs. */
  fundingIndex: bigint;
  premiumSum: number;
  premiumCount: number;
  readonly rates: FundingRate[];
  /** By the minute. */
  readonly bars: Bar[];
  /** Bars of seconds of the last hours; for longer steps, of each step's second. */
  readonly fineBars: Bar[];
  readonly moments: MarketMoment[];
  readonly fills: Journal<PublicFill>;
  makerFees: bigint;
  takerFees: bigint;
  orderSequence: number;
  /** Increases with every order placed on or removed from the book. */
  bookSequence: number;
  tradeSequence: number;
  positionSequence: number;
  openInterestLots: bigint;
  /** Accounts with a position or a resting order here, and those whose spot collateral it values. */
  readonly holders: Set<Account>;
  readonly orders: Set<Order>;
}

export interface World {
  readonly seed: number;
  /** Answers use the forms observed at the live exchange if they differ from its contract. */
  readonly observed: boolean;
  readonly random: Random;
  readonly startMs: number;
  /** Time up to which the world was advanced. */
  nowMs: number;
  /** The time of the last step of the grid. */
  steppedMs: number;
  readonly stepMs: number;
  /** Prices move by themselves. */
  walk: boolean;
  /** Traders act by themselves. */
  activity: boolean;
  readonly markets: Map<string, Market>;
  readonly risks: Map<string, MarketRisk>;
  readonly marks: Map<string, number>;
  /** By authority; the house is not among them. */
  readonly wallets: Map<string, Wallet>;
  /** By address, the house included. */
  readonly accounts: Map<string, Account>;
  readonly house: Account;
  readonly exchange: { active: boolean; gated: boolean; withdrawalsAvailable: boolean };
  /** Increases with every change of the exchange's status or markets. */
  exchangeSequence: number;
  /** All deposits minus all withdrawals. */
  externalFlows: bigint;
  /** The ledger's state besides the exchange's accounts. */
  readonly ledger: Ledger;
  /** Orders over time that are not complete. */
  readonly twaps: Set<Twap>;
  /** Accounts whose risk has to be checked. */
  readonly unchecked: Set<Account>;
  lastSlot: number;
  lastSlotIndex: number;
  nextNotificationId: number;
  nextUserId: number;
  nextTraderId: number;
  nextTwap: number;
  /** Called after every transaction, in order: streams. */
  readonly listeners: Set<(change: Change) => void>;
  readonly deriveAddress: (authority: string, pdaIndex: number, subaccount: number) => string;
}

export interface AccountChange {
  readonly positions: Set<string>;
  /** Symbols whose triggers were set or removed. */
  readonly triggers: Set<string>;
  /** Orders placed, filled or cancelled, with their place. */
  readonly orders: Map<Order, Place>;
  readonly fills: Fill[];
  /** Its rights changed. */
  rights: boolean;
}

/** The changes of one transaction. */
export interface Change {
  readonly slot: number;
  readonly slotIndex: number;
  readonly atMs: number;
  readonly accounts: ReadonlyMap<Account, AccountChange>;
  readonly notifications: readonly { readonly wallet: string; readonly notification: Notification }[];
}

export interface Order {
  readonly account: Account;
  readonly symbol: string;
  /** Up to 2^64: bids count down from it, as on the live ledger. */
  readonly sequence: string;
  readonly side: Side;
  readonly priceTicks: number;
  readonly initialLots: bigint;
  remainingLots: bigint;
  filledLots: bigint;
  readonly reduceOnly: boolean;
  status: "active" | "filled" | "cancelled";
  readonly place: Place;
  completedMs: number | null;
}
