/** The state of the markets (configuration, live figures, funding rates) and the facts that rules see of them. */
import type {
  CollateralAsset,
  MarketConfig,
  MarketPrices,
  SpotCollateralState,
} from "../../domain/account.ts";
import type { Observation } from "../../domain/observation.ts";
import type { Source } from "../../domain/sources.ts";
import type { MarketRisk } from "../../margin/model.ts";
import { shrink, ticksFromUsd, unitsFromBaseLots, usdFromTicks } from "../../margin/units.ts";
import type { Facts } from "../../rules/index.ts";
import { type Comparison, decideFundingUnit, type FundingUnit, inFraction } from "./funding-unit.ts";

const hoursPerYear = 8_760;

export interface MarketEntry {
  readonly symbol: string;
  config: MarketConfig | null;
  prices: MarketPrices | null;
  /** Funding rate of the last settled hour, a fraction; null: not read. */
  settledPerHour: number | null;
  /** The exchange's time of that rate, ms. */
  settledMs: number;
  readonly facts: Facts;
}

export class Markets {
  readonly entries = new Map<string, MarketEntry>();
  /** For the margin arithmetic; updated together with `entries`. */
  readonly risk = new Map<string, MarketRisk>();
  readonly markTicks = new Map<string, number>();
  /** Present funding rates, fractions per hour; positive: longs pay. */
  readonly rates = new Map<string, number>();
  /** Assets that may be collateral besides the quote token, by index; null: not read since the start. */
  assets: ReadonlyMap<number, CollateralAsset> | null = null;
  assetsAtMs: number | null = null;
  /** Assets that counted as collateral in the list before the newest one, and no longer do in the newest. */
  #doubted: ReadonlySet<number> = new Set();
  /** Symbol of the market that values each asset, by asset index. */
  readonly #symbolOfAsset = new Map<number, string>();
  /** Unit of the rates in the statistics; null: not determined. */
  #fundingUnit: FundingUnit | null = null;
  configAtMs: number | null = null;
  pricesAtMs: number | null = null;
  /** Time since which prices of any market were read without a gap, ms. */
  pricesSinceMs = Number.NEGATIVE_INFINITY;
  /** The process was suspended since the newest prices. */
  #wasSuspended = false;
  #newestPricesMs = Number.NEGATIVE_INFINITY;
  /** The time at which a source that is read per market last answered, ms. */
  readonly readMs = new Map<Source, number>();

  /** Returns the entry of a market, ignoring case; the symbol is written as in the exchange's market list. */
  entry(symbol: string): MarketEntry {
    const key = symbol.toUpperCase();
    let entry = this.entries.get(key);
    if (!entry) {
      entry = {
        symbol: key,
        config: null,
        prices: null,
        settledPerHour: null,
        settledMs: Number.NEGATIVE_INFINITY,
        facts: { values: {}, seenMs: {} },
      };
      this.entries.set(key, entry);
    }
    return entry;
  }

  get fundingUnit(): FundingUnit | null {
    return this.#fundingUnit;
  }

  set fundingUnit(unit: FundingUnit | null) {
    this.#fundingUnit = unit;
    for (const entry of this.entries.values()) this.#takeFacts(entry);
  }

  /** Compares the funding rates of the statistics with the settled ones. */
  decideFundingUnit(): Comparison {
    const priced = [...this.entries.values()].filter(({ prices }) => prices !== null);
    const markets = priced.map((entry) => ({
      stated: entry.prices?.statedFundingRate ?? null,
      settled: comparableRate(entry),
      cap: capPerHour(entry.config),
    }));
    return decideFundingUnit(markets, this.#fundingUnit);
  }

  remove(symbol: string): void {
    this.entries.delete(symbol);
    this.risk.delete(symbol);
    this.markTicks.delete(symbol);
    this.rates.delete(symbol);
  }

  takeConfig(config: MarketConfig, atMs: number): MarketEntry {
    const entry = this.entry(config.symbol);
    entry.config = config;
    entry.facts.seenMs.marketConfig = atMs;
    this.configAtMs = atMs;
    // Sizes as numbers: they are compared with each account's at each new mark.
    const leverageTiers = config.leverageTiers.map((tier) => ({
      ...tier,
      maxSizeBaseLots: shrink(tier.maxSizeBaseLots),
    }));
    this.risk.set(entry.symbol, { ...config, symbol: entry.symbol, leverageTiers });
    if (entry.prices) this.#takeMark(entry, entry.prices);
    this.#takeFacts(entry);
    return entry;
  }

  /** Takes a list of collateral assets. An asset that lost its market has an unknown value; after two such lists in a row it has none. */
  takeAssets(assets: readonly CollateralAsset[], atMs: number): void {
    const counted = ({ assetIndex }: CollateralAsset): boolean =>
      (this.assets?.get(assetIndex)?.perpAssetId ?? null) !== null;
    const doubted = assets.filter((asset) => asset.perpAssetId === null && counted(asset));
    this.#doubted = new Set(doubted.map(({ assetIndex }) => assetIndex));
    this.assets = new Map(assets.map((asset) => [asset.assetIndex, asset]));
    this.assetsAtMs = atMs;
    this.linkAssets();
  }

  /** Finds the market of each collateral asset. Called after the configuration of markets was read. */
  linkAssets(): void {
    this.#symbolOfAsset.clear();
    for (const { assetIndex, perpAssetId } of this.assets?.values() ?? []) {
      for (const { symbol, config } of this.entries.values())
        if (perpAssetId !== null && config?.assetId === perpAssetId)
          this.#symbolOfAsset.set(assetIndex, symbol);
    }
  }

  /** The reason why the lists of assets and markets give collateral no value; null: there is none, or they were not read. */
  unlisted({ assetIndex, symbol }: SpotCollateralState): string | null {
    if (this.assets === null) return null;
    const asset = this.assets.get(assetIndex);
    if (asset === undefined) return `the list of collateral assets does not name ${symbol}`;
    if (this.#doubted.has(assetIndex)) return `the list of collateral assets no longer values ${symbol}`;
    if (asset.perpAssetId === null || this.#symbolOfAsset.has(assetIndex)) return null;
    return `the market list has no market of ${symbol} as collateral`;
  }

  /** Returns true if the list names an asset that does not count as collateral. */
  countsForNothing({ assetIndex, perpAssetId }: CollateralAsset): boolean {
    return perpAssetId === null && !this.#doubted.has(assetIndex);
  }

  /** Symbol of the market whose index price values an asset; undefined: none, or not known. */
  symbolOfAsset(assetIndex: number): string | undefined {
    return this.#symbolOfAsset.get(assetIndex);
  }

  #valuesAssets(symbol: string): boolean {
    for (const one of this.#symbolOfAsset.values()) if (one === symbol) return true;
    return false;
  }

  /** Notes an answer or a frame with prices. @param gapMs a longer time without prices is a gap; infinite: no time is */
  notePrices(atMs: number, gapMs: number): void {
    if (this.#wasSuspended || atMs - this.#newestPricesMs > gapMs) this.pricesSinceMs = atMs;
    this.#newestPricesMs = atMs;
    this.#wasSuspended = false;
  }

  /** Notes that the process was suspended until now: prices of that time may be missing, even with a stream. */
  noteStandstill(atMs: number): void {
    this.pricesSinceMs = atMs;
    this.#wasSuspended = true;
  }

  /**
   * @param live true for prices between two readings of all markets
   * @returns true if accounts have to be assessed again: the mark moved by a tick or more, the funding rate changed, or the
   * index price of a market that values collateral moved
   */
  takePrices(prices: MarketPrices, atMs: number, live = false): boolean {
    const entry = this.entry(prices.symbol);
    if (!isPrice(prices.markPriceUsd)) return this.#dropPrices(entry);
    const indexMoved =
      this.#symbolOfAsset.size > 0 &&
      entry.prices?.oraclePriceUsd !== prices.oraclePriceUsd &&
      this.#valuesAssets(entry.symbol);
    entry.prices = prices;
    entry.facts.seenMs.markets = atMs;
    if (!live) this.pricesAtMs = atMs;
    const before = this.markTicks.get(entry.symbol);
    const rateBefore = this.rates.get(entry.symbol);
    this.#takeMark(entry, prices);
    this.#takeFacts(entry);
    const moved = before !== this.markTicks.get(entry.symbol) || rateBefore !== this.rates.get(entry.symbol);
    return indexMoved || moved;
  }

  /** Removes the prices of a market whose newest answer states no valid price. @returns true if there were any */
  #dropPrices(entry: MarketEntry): boolean {
    const had = entry.prices !== null;
    entry.prices = null;
    delete entry.facts.seenMs.markets;
    for (const field of priceFields) delete entry.facts.values[field];
    this.markTicks.delete(entry.symbol);
    this.rates.delete(entry.symbol);
    this.#takeFacts(entry);
    return had;
  }

  takeRate(seen: Observation & { readonly kind: "fundingRate" }): MarketEntry {
    const { symbol, ratePerHour, exchangeMs, atMs } = seen;
    const entry = this.entry(symbol);
    entry.settledPerHour = ratePerHour;
    entry.settledMs = exchangeMs;
    this.#seen(entry, "fundingRates", atMs);
    this.#takeFacts(entry);
    return entry;
  }

  #takeFacts(entry: MarketEntry): void {
    const { prices, settledPerHour, facts } = entry;
    const unit = this.#fundingUnit;
    const rate =
      prices !== null && unit !== null ? inFraction(prices.statedFundingRate, unit) : settledPerHour;
    if (rate !== null) {
      this.rates.set(entry.symbol, rate);
      facts.values.fundingRate = rate;
      facts.values.annualizedFundingRate = rate * hoursPerYear;
    }
    if (settledPerHour !== null) facts.values.settledFundingRate = settledPerHour;
    marketFacts(entry);
  }

  takeDepth(depth: Observation & { readonly kind: "depth" }, atMs: number): MarketEntry {
    const entry = this.entry(depth.symbol);
    this.#seen(entry, "orderbook", atMs);
    Object.assign(entry.facts.values, bookFacts(depth));
    return entry;
  }

  takeCalendar(seen: Observation & { readonly kind: "calendar" }, atMs: number): MarketEntry {
    const entry = this.entry(seen.symbol);
    this.#seen(entry, "calendars", atMs);
    entry.facts.values.sessionState = seen.sessionState;
    entry.facts.values.nextTransition = seen.nextTransitionMs ?? Number.POSITIVE_INFINITY;
    return entry;
  }

  /** Takes a session from another source. A pending transition is removed, and the next one is unknown. */
  takeSession({ facts }: MarketEntry, sessionState: string, atMs: number): void {
    facts.values.sessionState = sessionState;
    const { nextTransition } = facts.values;
    if (typeof nextTransition === "number" && !(nextTransition > atMs)) delete facts.values.nextTransition;
  }

  takeExternal(seen: Observation & { readonly kind: "external" }, atMs: number): MarketEntry {
    const entry = this.entry(seen.symbol);
    this.#seen(entry, "candles", atMs);
    // An answer that states no external price is data, so the source counts as seen.
    const { externalPriceUsd: usd } = seen;
    entry.facts.values.externalPrice = usd !== null && isPrice(usd) ? usd : Number.NaN;
    entry.facts.values.dailyVolatility = seen.dailyVolatility ?? Number.NaN;
    return entry;
  }

  #seen(entry: MarketEntry, source: Source, atMs: number): void {
    entry.facts.seenMs[source] = atMs;
    this.readMs.set(source, atMs);
  }

  #takeMark(entry: MarketEntry, prices: MarketPrices): void {
    const risk = this.risk.get(entry.symbol);
    if (risk) this.markTicks.set(entry.symbol, ticksFromUsd(prices.markPriceUsd, risk));
    else this.markTicks.delete(entry.symbol);
  }
}

/** Returns true if a number can be a price. Exchanges state 0 for a missing price. */
export function isPrice(usd: number): boolean {
  return usd > 0 && Number.isFinite(usd);
}

/** Fields of a market that the statistics contain. */
const priceFields = ["markPrice", "oraclePrice", "openInterest", "dayVolume", "openInterestCapUsed"] as const;

/** Funding rate facts by field. @param ratePerHour a fraction per hour */
export function rateFacts(ratePerHour: number): Record<(typeof rateFields)[number], number> {
  return { fundingRate: ratePerHour, annualizedFundingRate: ratePerHour * hoursPerYear };
}

/** The highest funding rate that a market allows, a fraction per hour; null: not known. */
function capPerHour(config: MarketConfig | null): number | null {
  const percent = config?.maxFundingRatePercent;
  if (typeof percent !== "number" || !(config!.fundingIntervalSeconds > 0)) return null;
  return (percent / 100) * (3_600 / config!.fundingIntervalSeconds);
}

/** If running and settled rate differ by more than this factor, the running one is probably in another unit. */
const maxRateFactor = 50;
const leastComparedRate = 1e-6;

/**
 * The settled rate to compare the stated one with; null: there is none. A rate that was stated before the hour was settled, as
 * before an outage, may have another size.
 */
function comparableRate({ prices, settledPerHour, settledMs }: MarketEntry): number | null {
  return prices !== null && prices.exchangeMs >= settledMs ? settledPerHour : null;
}

/** Compares a market's running funding rate with its last settled one. @returns a text for the difference, or null */
export function rateMismatch(entry: MarketEntry, unit: FundingUnit | null): string | null {
  const { symbol, prices } = entry;
  const settled = comparableRate(entry);
  if (unit === null || prices === null || settled === null) return null;
  const running = inFraction(prices.statedFundingRate, unit);
  const [small, large] = [Math.abs(running), Math.abs(settled)].sort((a, b) => a - b) as [number, number];
  if (small < leastComparedRate || large <= maxRateFactor * small) return null;
  return `${symbol}: the statistics state a funding rate of ${running} an hour, the funding history one of ${settled}; rules see the former`;
}

/** If mark and mid price, or prices of other venues, differ by more than this factor, they are not of the same asset. */
const maxPriceFactor = 1.25;

/** Compares the statistics with the book and with the candles of other venues. @returns texts for the differences */
export function priceMismatches({ symbol, prices, facts }: MarketEntry): readonly string[] {
  const mark = prices?.markPriceUsd ?? 0;
  if (mark <= 0) return [];
  const { midPrice, externalPrice } = facts.values;
  const apart = (other: unknown, what: string): string[] => {
    if (typeof other !== "number" || !(other > 0)) return [];
    if (Math.max(other / mark, mark / other) <= maxPriceFactor) return [];
    return [`${symbol}: the statistics state a mark of ${mark}, ${what} ${other}`];
  };
  return [
    ...apart(midPrice, "the order book has a middle of"),
    ...apart(externalPrice, "candles of other venues close at"),
  ];
}

/** Compares the session in the calendar with that in the market list. @returns a text for the difference, or null */
export function sessionMismatch({ symbol, config, facts }: MarketEntry): string | null {
  const { sessionState } = facts.values;
  const listed = config?.commodityStatus ?? null;
  if (listed === null || sessionState === undefined || listed === "reopen" || listed === "other") return null;
  if ((listed === "active") === (sessionState === "open")) return null;
  return `${symbol}: the calendar says ${sessionState}, the market list ${listed}; rules see the former`;
}

/** Figures of the order book. Windows take them only when the book is read. */
export const bookFields = ["bid", "ask", "midPrice", "spread", "bidDepth50Bps", "askDepth50Bps"] as const;
/** Funding rates. Their windows contain the settled hours. */
export const rateFields = ["fundingRate", "annualizedFundingRate"] as const;
/** Figures of candles. Windows take them only when candles are read. */
export const candleFields = ["externalPrice", "dailyVolatility"] as const;

function bookFacts(
  depth: Observation & { readonly kind: "depth" },
): Record<(typeof bookFields)[number], number> {
  const { bid, ask, bidDepth50BpsUsd: bidDepth50Bps, askDepth50BpsUsd: askDepth50Bps } = depth;
  const twoSided = bid > 0 && Number.isFinite(ask);
  const midPrice = twoSided ? (bid + ask) / 2 : Number.NaN;
  const spread = twoSided ? (ask - bid) / midPrice : Number.POSITIVE_INFINITY;
  return { bid, ask, midPrice, spread, bidDepth50Bps, askDepth50Bps };
}

function marketFacts(entry: MarketEntry): void {
  const values = entry.facts.values;
  values.symbol = entry.symbol;
  const { config, prices } = entry;
  if (config) {
    values.status = config.status;
    values.tickSize = usdFromTicks(1, config);
    values.takerFee = config.takerFee;
    values.maxLeverage = config.leverageTiers.reduce((max, tier) => Math.max(max, tier.maxLeverage), 0);
  }
  if (prices) {
    values.markPrice = prices.markPriceUsd;
    if (isPrice(prices.oraclePriceUsd)) values.oraclePrice = prices.oraclePriceUsd;
    else if (values.oraclePrice !== undefined) delete values.oraclePrice;
    values.openInterest = prices.openInterestUnits;
    values.dayVolume = prices.dayVolumeUsd;
  }
  if (config && prices) {
    const cap = unitsFromBaseLots(config.openInterestCapBaseLots, config);
    values.openInterestCapUsed = cap > 0 ? prices.openInterestUnits / cap : 0;
  }
}
