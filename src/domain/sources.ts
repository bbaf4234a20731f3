/** The data sources of the exchange: one row for everything that is requested on a schedule. The names are those of `schedules:`. */

interface SourceRow {
  /** For people who do not know the names. Fits after "no": `no prices`. */
  readonly words: string;
  /** The subject of one answer: a wallet, the exchange, or a single market; each has an age of its own. */
  readonly of: "wallet" | "exchange" | "market";
  /** The default schedule. `atRisk`: for wallets at risk; `whenStreaming`: while the stream carries the same data. */
  readonly every: string;
  readonly atRisk?: string;
  readonly whenStreaming?: string;
  /** Requests of one run: one; one for each wallet, PDA index, account, account of a wallet that signs in, market; none in the long run. */
  readonly cost: "one" | "wallets" | "indices" | "accounts" | "inboxes" | "markets" | "equityCheck" | "none";
  /** The lane of its requests (`exchange/requests/budget.ts`). */
  readonly lane: "prices" | "state" | "inbox" | "rest";
  /** Its rank when requests are scheduled. */
  readonly turn: number;
  /** True if it is read only for markets for which a rule or a template needs it. */
  readonly whenNeeded?: true;
  /** True if it is requested at once when new rules may read it. Histories are not. */
  readonly atReload?: true;
  /** True if its answers change what is at stake. */
  readonly atStake?: true;
}

const row = <const Row extends SourceRow>(one: Row): Row => one;

export const sourceTable = {
  traderState: row({
    ...{ words: "positions and balances", of: "wallet", every: "5s", atRisk: "1s", cost: "indices" },
    ...{ lane: "state", turn: 3, atReload: true, atStake: true },
  }),
  markets: row({
    ...{ words: "prices", of: "exchange", every: "2s", cost: "one", lane: "prices", turn: 2 },
    ...{ atReload: true, atStake: true },
  }),
  traderView: row({
    ...{ words: "risk figures of the exchange's own", of: "wallet", every: "1m", cost: "accounts" },
    ...{ lane: "rest", turn: 8 },
  }),
  notifications: row({
    ...{ words: "notifications", of: "wallet", every: "10s", whenStreaming: "1m", cost: "inboxes" },
    ...{ lane: "inbox", turn: 5 },
  }),
  liquidations: row({
    ...{ words: "liquidation history", of: "wallet", every: "2m", cost: "indices", lane: "rest", turn: 6 },
  }),
  funding: row({
    ...{ words: "funding payments", of: "wallet", every: "5m", cost: "indices", lane: "rest", turn: 9 },
  }),
  fundingRates: row({
    ...{ words: "funding rates", of: "market", every: "5m", cost: "markets", lane: "rest", turn: 14 },
    atReload: true,
  }),
  collateral: row({
    ...{
      words: "deposits and withdrawals",
      of: "wallet",
      every: "1m",
      cost: "wallets",
      lane: "rest",
      turn: 7,
    },
    atReload: true,
  }),
  orders: row({
    ...{ words: "order history", of: "wallet", every: "30s", cost: "wallets", lane: "rest", turn: 10 },
  }),
  fills: row({ words: "fills", of: "wallet", every: "30s", cost: "wallets", lane: "rest", turn: 11 }),
  pnl: row({ words: "profit history", of: "wallet", every: "5m", cost: "none", lane: "rest", turn: 17 }),
  portfolio: row({
    ...{ words: "portfolio values", of: "wallet", every: "5m", cost: "equityCheck", lane: "rest", turn: 16 },
  }),
  marketConfig: row({
    ...{ words: "market rules", of: "exchange", every: "8s", cost: "one", lane: "prices", turn: 1 },
    atReload: true,
  }),
  exchangeStatus: row({
    ...{ words: "status of the exchange", of: "exchange", every: "10s", cost: "one", lane: "state", turn: 4 },
    atReload: true,
  }),
  orderbook: row({
    ...{ words: "order books", of: "market", every: "15s", cost: "markets", lane: "rest", turn: 12 },
    ...{ whenNeeded: true, atReload: true, atStake: true },
  }),
  calendars: row({
    ...{ words: "trading hours", of: "market", every: "1h", cost: "markets", lane: "rest", turn: 13 },
    ...{ whenNeeded: true, atReload: true },
  }),
  candles: row({
    ...{ words: "candles", of: "market", every: "5m", cost: "markets", lane: "rest", turn: 15 },
    ...{ whenNeeded: true, atReload: true, atStake: true },
  }),
};

export type Source = keyof typeof sourceTable;

/** The sources that are read for each market separately, and only for needed markets. */
export type MarketRead = {
  [S in Source]: (typeof sourceTable)[S] extends { readonly whenNeeded: true } ? S : never;
}[Source];

export const sources = Object.keys(sourceTable) as readonly Source[];

/** The row of a source; fields that it leaves out are undefined. */
export const sourceRow = (source: Source): SourceRow => sourceTable[source];

const where = (holds: (one: SourceRow) => boolean): readonly Source[] =>
  sources.filter((source) => holds(sourceRow(source)));

/** Sources of the exchange and its markets: they belong to no wallet. */
export const exchangeSources: ReadonlySet<Source> = new Set(where((one) => one.of !== "wallet"));
/** Sources that are read for each market separately: each market has an age of its own. */
export const marketSources: ReadonlySet<Source> = new Set(where((one) => one.of === "market"));
export const marketReads = where((one) => one.whenNeeded === true) as readonly MarketRead[];
/** Sources whose answers change what is at stake. */
export const stakeSources: ReadonlySet<Source> = new Set(where((one) => one.atStake === true));
/** The sources in the order in which their requests are scheduled. */
export const sourceOrder: readonly Source[] = sources.toSorted(
  (a, b) => sourceRow(a).turn - sourceRow(b).turn,
);
/** The sources that are requested at once when new rules may read them, those of risk figures first. */
export const reloadSources: readonly Source[] = sourceOrder.filter(
  (source) => sourceRow(source).atReload === true,
);

export function isMarketRead(source: Source): source is MarketRead {
  return sourceRow(source).whenNeeded === true;
}
