/** The desk's twelve wallets: what they hold at the start, and what they are for. All positions begin at the mark. */

export const startPrices: Readonly<Record<string, number>> = {
  SOL: 150,
  BTC: 60_000,
  ETH: 3_000,
  GOLD: 2_400,
};

export interface Holding {
  readonly symbol: string;
  readonly size: number;
  readonly stop?: number;
}

export interface AccountPlan {
  readonly pdaIndex: number;
  readonly subaccountIndex: number;
  readonly collateral: number;
  readonly holdings: readonly Holding[];
}

export interface WalletPlan {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly limits?: Readonly<Record<string, number>>;
  readonly pdaIndices?: readonly number[];
  /** SOL as spot collateral of the cross account. */
  readonly spot?: number;
  readonly accounts: readonly AccountPlan[];
}

const account = (
  collateral: number,
  holdings: readonly Holding[],
  pdaIndex = 0,
  subaccountIndex = 0,
): AccountPlan => ({ pdaIndex, subaccountIndex, collateral, holdings });
const hold = (symbol: string, size: number, stop?: number): Holding =>
  stop === undefined ? { symbol, size } : { symbol, size, stop };
const noStops = { stops: "none" };

export const wallets: readonly WalletPlan[] = [
  // Two markets in one account, far from danger.
  {
    name: "alpha",
    labels: { desk: "one", ...noStops },
    accounts: [account(20_000, [hold("BTC", 0.5), hold("ETH", 5)])],
  },
  // Larger than one tranche of a liquidation: what a crash leaves of it survives.
  { name: "bravo", labels: { desk: "one", ...noStops }, accounts: [account(361_600, [hold("SOL", 12_000)])] },
  // Smaller than one tranche: a crash takes all of it.
  { name: "charlie", labels: { desk: "one", ...noStops }, accounts: [account(25_000, [hold("ETH", 60)])] },
  // The two legs of a hedge; deleveraging closes the short one.
  { name: "delta", labels: { desk: "two", ...noStops }, accounts: [account(100_000, [hold("ETH", -100)])] },
  { name: "echo", labels: { desk: "two", ...noStops }, accounts: [account(200_000, [hold("ETH", 100)])] },
  // PDA indices 0 and 3.
  {
    name: "foxtrot",
    labels: { desk: "two", ...noStops },
    pdaIndices: [0, 3],
    accounts: [account(9_000, [hold("SOL", 100)]), account(4_000, [hold("BTC", 0.1)], 3)],
  },
  // Spot collateral whose price moves with the position's.
  {
    name: "golf",
    labels: { desk: "two", ...noStops },
    spot: 40,
    accounts: [account(3_000, [hold("SOL", 100)])],
  },
  // The same market in two accounts.
  {
    name: "hotel",
    labels: { desk: "three", ...noStops },
    accounts: [account(12_000, [hold("SOL", 100)]), account(5_000, [hold("SOL", 40)], 0, 1)],
  },
  // Works with stop losses.
  {
    name: "india",
    labels: { desk: "three" },
    limits: { stopLossAbove: 5_000 },
    accounts: [account(12_000, [hold("BTC", 0.3, 55_000)])],
  },
  // Deposits, withdrawals and transfers while prices move.
  {
    name: "juliet",
    labels: { desk: "three", ...noStops },
    accounts: [account(30_000, [hold("BTC", 0.4)]), account(4_000, [hold("SOL", 50)], 0, 1)],
  },
  // Deposits that history shows late.
  { name: "kilo", labels: { desk: "four", ...noStops }, accounts: [account(12_000, [hold("SOL", -100)])] },
  // Gold in an isolated account, and money beside it.
  {
    name: "lima",
    labels: { desk: "four", ...noStops },
    accounts: [account(6_000, []), account(6_000, [hold("GOLD", 5)], 0, 1)],
  },
];

export const pairs: ReadonlyMap<string, readonly string[]> = new Map([["basis", ["delta/ETH", "echo/ETH"]]]);
