/** Positions and orders of an account, and its recorded states. */

export type Side = "bid" | "ask";

export interface Trigger {
  readonly id: string;
  readonly kind: "stopLoss" | "takeProfit";
  readonly triggerTicks: number;
  /** Worst price of the closing order. */
  readonly executionTicks: number;
  /** The side of the closing order. */
  readonly side: Side;
}

export interface Position {
  /** Changes when a position is opened again. */
  readonly sequence: number;
  /** Signed: negative is short; never 0. */
  baseLots: bigint;
  /** Opposite in sign to `baseLots` for traders. */
  virtualQuoteLots: bigint;
  /** The market's funding index up to which funding is settled. */
  fundingIndex: bigint;
  /** Settled since the position was opened. */
  accumulatedFunding: bigint;
  triggers: readonly Trigger[];
}

/** Sums of one market since the account was opened. */
export interface MarketTotals {
  realizedPnl: bigint;
  fundingSettled: bigint;
  takerFees: bigint;
  makerFees: bigint;
}

/** The state of an account between two transactions. */
export interface AccountVersion {
  readonly atMs: number;
  readonly collateral: bigint;
  readonly spot: bigint | null;
  readonly netDeposits: bigint;
  readonly positions: readonly (Readonly<Pick<Position, "baseLots" | "virtualQuoteLots" | "fundingIndex">> & {
    readonly symbol: string;
  })[];
  readonly totals: ReadonlyMap<string, Readonly<MarketTotals>>;
}

/** An account at one time, for series. */
export interface AccountSample {
  readonly atMs: number;
  readonly collateral: bigint;
  readonly netDeposits: bigint;
  readonly portfolioValue: bigint;
  readonly unrealizedPnl: bigint;
  readonly unsettledFunding: bigint;
  readonly positions: readonly {
    readonly symbol: string;
    readonly baseLots: bigint;
    readonly virtualQuoteLots: bigint;
    readonly unsettledFunding: bigint;
    readonly markTicks: number;
  }[];
  readonly totals: ReadonlyMap<string, Readonly<MarketTotals>>;
}

/** The place of an event on the ledger. */
export interface Place {
  readonly slot: number;
  readonly slotIndex: number;
  readonly eventIndex: number;
  readonly instructionIndex: number;
  readonly atMs: number;
}
