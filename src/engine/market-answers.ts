/**
 * Takes what the exchange reports about its markets and itself: prices, configuration, funding rates, status. Each is taken
 * into the facts and windows that rest on it, and everything that reads it is judged.
 */

import type { AlertBook } from "../alerts/alert-book.ts";
import type { NoData } from "../alerts/own/no-data.ts";
import type { MarketConfig, MarketPrices } from "../domain/account.ts";
import type { ChangesBuilder } from "../domain/changes-builder.ts";
import type { Event } from "../domain/event.ts";
import type { Facts } from "../domain/facts.ts";
import type { Observation } from "../domain/observation.ts";
import type { MarketRead, Source } from "../domain/sources.ts";
import type { Conditions } from "../evaluate/conditions/conditions.ts";
import type { NoDataWatches } from "../evaluate/no-data-watches.ts";
import { type FactValue, unlistedSymbols } from "../rules/index.ts";
import type { AccountEntry } from "../state/accounts/account-entry.ts";
import { noteReading } from "../state/accounts/account-readings.ts";
import { fundingUnitFact, TakenUnit } from "../state/markets/funding-unit.ts";
import {
  comparable,
  configFact,
  marketChanges,
  sessionChange,
  sessionFact,
} from "../state/markets/market-changes.ts";
import {
  bookFields,
  candleFields,
  isPrice,
  type MarketEntry,
  priceMismatches,
  rateFacts,
  rateMismatch,
  sessionMismatch,
} from "../state/markets/markets.ts";
import { statusChange, statusFact } from "../state/markets/own-events.ts";
import { hasSpot } from "../state/markets/spot-collateral.ts";
import type { SubjectNode } from "../state/subjects.ts";
import { sumAccounts } from "../state/wallets/wallets.ts";
import type { NamedValues } from "../state/windows/named-values.ts";
import { readApart, type Series } from "../state/windows/series.ts";
import type { World } from "../state/world.ts";
import type { Aggregates } from "./aggregates/aggregates.ts";
import type { Restoring } from "./restore.ts";
import type { WatchSettings } from "./settings.ts";

/**
 * Prices that come by themselves are judged each time and kept this often at most, or as often as they are asked for: a
 * moving market would fill the disk, and windows hold what history stores.
 */
const maxLiveSampleMs = 2_000;

type Seen<K extends Observation["kind"]> = Observation & { readonly kind: K };

export interface MarketAnswersParts {
  readonly settings: WatchSettings;
  readonly world: World;
  readonly alerts: AlertBook;
  readonly conditions: Conditions;
  readonly noData: NoData;
  readonly noDataWatches: NoDataWatches;
  readonly series: Series;
  readonly named: NamedValues;
  readonly restoring: Restoring;
  readonly aggregates: Aggregates;
  /** Facts as history had them at the start. */
  readonly facts: Facts;
  /** A change is an event of our own making. */
  readonly happened: (event: Event, builder: ChangesBuilder) => void;
  readonly judgeAccount: (account: AccountEntry, source: Source, builder: ChangesBuilder) => void;
  /** For the log. */
  readonly warn: (text: string) => void;
  /** The predecessor at a reload, whose readings are taken over. */
  readonly before: MarketAnswers | undefined;
}

export class MarketAnswers {
  readonly #parts: Omit<MarketAnswersParts, "before">;
  readonly #world: World;
  readonly #rememberedStatus: Parameters<typeof statusChange>[0];
  /** Markets that the newest list left out. */
  #leftOut = new Set<string>();
  #toldUnlisted: boolean;
  readonly #reportedMismatches: Set<string>;
  /** The time at which each market last entered windows and history, ms. */
  readonly #sampledMs: Map<string, number>;
  readonly #liveSampleMs: number;
  /** Age at which prices are too old, ms. */
  readonly #pricesStaleMs: number;
  /** The defect of each market's prices in the newest answer. */
  readonly #badPrices = new Map<string, string>();
  /** Assets that were asked for because no list named them. */
  readonly #wantedAssets: Set<number>;
  readonly #takenUnit: TakenUnit;
  /** The sources that rules read of markets which they name. */
  readonly #namedBy: ReadonlySet<Source>;

  constructor(parts: MarketAnswersParts) {
    const { before, ...rest } = parts;
    this.#parts = rest;
    this.#toldUnlisted = before ? before.#toldUnlisted : false;
    this.#reportedMismatches = before ? before.#reportedMismatches : new Set();
    this.#sampledMs = before ? before.#sampledMs : new Map();
    this.#wantedAssets = before ? before.#wantedAssets : new Set();
    this.#namedBy = new Set(
      parts.settings.ruleSet.conditions.flatMap(({ reads }) =>
        reads.flatMap(({ symbol, sources }) => (symbol === null ? [] : sources)),
      ),
    );
    this.#world = parts.world;
    this.#pricesStaleMs = 3 * parts.settings.scheduleMs.markets;
    this.#liveSampleMs = Math.min(parts.settings.scheduleMs.markets, maxLiveSampleMs);
    this.#takenUnit = before
      ? before.#takenUnit
      : new TakenUnit(fundingUnitFact.get(parts.facts, "exchange"));
    parts.world.markets.fundingUnit = this.#takenUnit.unit;
    this.#rememberedStatus = statusFact.get(parts.facts, "exchange") ?? {};
  }

  /** Prices of all markets, or (`live`) of those that moved. */
  prices(seen: Seen<"prices">, builder: ChangesBuilder): void {
    const live = seen.live === true;
    // A stream that is connected brings nothing while no price moves.
    const quiet = live && this.#world.daemon.facts.values.streamConnected === true;
    this.#world.markets.notePrices(builder.atMs, quiet ? Number.POSITIVE_INFINITY : this.#pricesStaleMs);
    const moved = new Set<string>();
    const entries: MarketEntry[] = [];
    /** The markets for which the answer states no price. */
    const unpriced: MarketEntry[] = [];
    for (const prices of seen.markets) {
      const node = this.#world.marketNode(prices.symbol);
      if (this.#world.markets.takePrices(prices, builder.atMs, live)) moved.add(prices.symbol.toUpperCase());
      const market = this.#world.markets.entry(prices.symbol);
      if (market.prices === null) {
        unpriced.push(market);
        continue;
      }
      entries.push(market);
      if (live && builder.atMs - (this.#sampledMs.get(market.symbol) ?? 0) < this.#liveSampleMs) continue;
      this.#sampledMs.set(market.symbol, builder.atMs);
      this.#parts.named.update(node, builder.atMs);
      node.windows?.feed(builder.atMs, node.facts.values, readApart);
      if (live) builder.changes.ticks.push(this.#parts.series.markets([market], builder.atMs));
    }
    if (!live) {
      if (entries.length > 0) builder.changes.ticks.push(this.#parts.series.markets(entries, builder.atMs));
      this.#parts.noData.seen("markets", null, builder);
    }
    for (const prices of seen.markets) this.#noteBadPrices(prices, builder);
    const answered = unpriced.length === 0 ? entries : [...entries, ...unpriced];
    for (const market of answered)
      this.#parts.conditions.judgeNode(this.#world.marketNode(market.symbol), "markets", builder);
    const told = live ? new Set(answered.map((market) => market.symbol)) : null;
    const touched = new Set<string>();
    const { accounts, assessment } = this.#world;
    for (const account of told === null ? accounts.all() : accounts.inMarkets(told)) {
      if (accounts.dependsOn(account, moved)) {
        assessment.assess(account);
        noteReading(account, true);
      } else assessment.refreshAges(account);
      if (live) touched.add(account.ref.wallet);
      this.#parts.judgeAccount(account, "markets", builder);
    }
    for (const entry of live ? this.#world.inOrder(touched) : this.#world.wallets.values()) {
      sumAccounts(entry, this.#world.accounts.ofWallet(entry.wallet.name));
      this.#parts.conditions.judgeNode(entry.node, "markets", builder);
    }
    if (this.#namedBy.has("markets"))
      this.#parts.conditions.judgeNode(this.#world.exchange, "markets", builder);
    this.#parts.aggregates.manyChanged(live ? touched : null, "markets", !live, builder);
  }

  /** Reports a mark or index price that cannot be one, once while it lasts. */
  #noteBadPrices({ symbol, markPriceUsd, oraclePriceUsd }: MarketPrices, builder: ChangesBuilder): void {
    const name = symbol.toUpperCase();
    const bad = isPrice(markPriceUsd)
      ? isPrice(oraclePriceUsd)
        ? null
        : `an index price of ${oraclePriceUsd}`
      : `a mark price of ${markPriceUsd}`;
    if (bad === null) {
      if (this.#badPrices.size > 0) this.#badPrices.delete(name);
      return;
    }
    const detail = `the statistics of ${name} state ${bad}, which is no price: it counts as not read`;
    const { atMs } = builder;
    const failure = {
      source: "markets",
      wallet: null,
      symbol: name,
      atMs,
      reason: "bad-record",
      detail,
    } as const;
    this.#parts.noData.failed(failure);
    if (this.#badPrices.get(name) === bad) return;
    this.#badPrices.set(name, bad);
    builder.changes.failedReads.push(failure);
    this.#parts.warn(detail);
  }

  /** Takes the configuration and the list of the markets. */
  config(seen: Seen<"marketConfig">, builder: ChangesBuilder): void {
    let changed = false;
    for (const config of seen.markets) {
      const node = this.#world.marketNode(config.symbol);
      const before = this.#world.markets.entry(config.symbol).config;
      changed ||= before === null || !sameConfig(before, config);
      const known = before ? comparable(before) : this.#rememberedConfig(node.name);
      const events = known ? marketChanges(known, config, builder.atMs) : [];
      this.#world.markets.takeConfig(config, builder.atMs);
      if (!known || events.length > 0) {
        configFact.put(node.name, config, builder);
      }
      for (const event of events) this.#parts.happened(event, builder);
      this.#parts.conditions.judgeNode(node, "marketConfig", builder);
      if (before !== null && before.commodityStatus !== config.commodityStatus)
        this.#sessionListed(config, builder);
    }
    this.#noteUnlisted(seen.markets.map((one) => one.symbol));
    this.#dropMarkets(new Set(seen.markets.map((one) => one.symbol.toUpperCase())), builder);
    this.#parts.noData.seen("marketConfig", null, builder);
    this.#parts.noDataWatches.seen("marketConfig", null, builder.atMs, builder);
    if (changed) this.#world.markets.linkAssets();
    for (const account of this.#world.accounts.all()) {
      if (changed || !account.assessed) this.#configured(account, builder);
      else {
        this.#world.assessment.refreshAges(account);
        this.#parts.judgeAccount(account, "marketConfig", builder);
      }
    }
    this.#walletsChanged(this.#world.wallets.keys(), "marketConfig", builder);
    this.#parts.aggregates.manyChanged(null, "marketConfig", false, builder);
  }

  /**
   * The market list tells of a session that began or ended before the calendar does, which is read seldom: it counts at
   * once, and the calendar is asked for the next transition. It was not read by that.
   */
  #sessionListed({ symbol, commodityStatus }: MarketConfig, builder: ChangesBuilder): void {
    const market = this.#world.markets.entry(symbol);
    const known = market.facts.values.sessionState;
    const sessionState =
      commodityStatus === "afterHours" ? "afterHours" : commodityStatus === "active" ? "open" : null;
    if (known === undefined) return;
    builder.ask("calendars", null);
    if (sessionState === null || known === sessionState) return;
    this.#world.markets.takeSession(market, sessionState, builder.atMs);
    this.#compare(market);
    this.#sessionChanged(market, known, sessionState, builder);
    this.#judgeReaders(market, "calendars", builder);
  }

  /** The assets that may be collateral beside the quote token. */
  collateralAssets({ assets }: Seen<"collateralAssets">, builder: ChangesBuilder): void {
    this.#world.markets.takeAssets(assets, builder.atMs);
    const touched = new Set<string>();
    for (const account of this.#world.accounts.all()) {
      if (!hasSpot(account.state)) continue;
      this.#configured(account, builder);
      touched.add(account.ref.wallet);
    }
    this.#walletsChanged(touched, "marketConfig", builder);
    if (touched.size > 0) this.#parts.aggregates.manyChanged(touched, "marketConfig", false, builder);
  }

  /** Asks once for the list of assets where it does not name one that an account holds. */
  wantAssets({ state }: AccountEntry, builder: ChangesBuilder): void {
    for (const { assetIndex, balance } of state.spotCollaterals) {
      if (balance <= 0n || this.#world.markets.assets?.has(assetIndex) || this.#wantedAssets.has(assetIndex))
        continue;
      this.#wantedAssets.add(assetIndex);
      builder.ask("marketConfig", null);
    }
  }

  #configured(account: AccountEntry, builder: ChangesBuilder): void {
    this.#world.accountStates.configured(account);
    this.#world.assessment.assess(account);
    noteReading(account, true);
    this.#parts.judgeAccount(account, "marketConfig", builder);
  }

  #walletsChanged(names: Iterable<string>, source: Source, builder: ChangesBuilder): void {
    const { accounts, wallets } = this.#world;
    for (const name of names) {
      const entry = wallets.get(name);
      if (!entry) continue;
      sumAccounts(entry, accounts.ofWallet(name));
      this.#parts.conditions.judgeNode(entry.node, source, builder);
    }
  }

  /** Decides the unit of the rates in the statistics, once enough markets can be compared, and reports it. */
  #decideFundingUnit(builder: ChangesBuilder): void {
    const { markets } = this.#world;
    const found = markets.decideFundingUnit();
    if (!this.#takenUnit.compared(found, builder.atMs)) return;
    fundingUnitFact.put("exchange", this.#takenUnit.toKeep(), builder);
    const { unit } = this.#takenUnit;
    if (unit === markets.fundingUnit) return;
    markets.fundingUnit = unit;
    const { compared } = found;
    const word = unit === "percent" ? "percentage" : "fraction";
    this.#parts.warn(
      `funding rates in the market statistics are taken as a ${word} an hour: ${compared} ` +
        `${compared === 1 ? "market was" : "markets were"} compared with the funding history`,
    );
  }

  /** The funding rate that one market settled last. */
  rate(seen: Seen<"fundingRate">, builder: ChangesBuilder): void {
    const { symbol, ratePerHour } = seen;
    const { noData, series } = this.#parts;
    const node = this.#world.marketNode(symbol);
    this.#world.markets.takeRate(seen);
    this.#decideFundingUnit(builder);
    this.#compare(this.#world.markets.entry(symbol));
    const settled = rateFacts(ratePerHour);
    node.windows?.feed(builder.atMs, settled);
    builder.changes.ticks.push(series.fundingRate(node.facts.values.symbol as string, settled, builder.atMs));
    noData.seen("fundingRates", null, builder);
    const { accounts, assessment, wallets } = this.#world;
    const touched = new Set<string>();
    for (const account of accounts.inMarkets([symbol.toUpperCase()])) {
      if (!account.positions.has(symbol.toUpperCase())) continue;
      assessment.refreshFunding(account);
      assessment.refreshAges(account);
      touched.add(account.ref.wallet);
    }
    for (const name of touched) {
      const entry = wallets.get(name);
      if (entry) sumAccounts(entry, accounts.ofWallet(name));
    }
    const market = this.#world.markets.entry(symbol);
    this.#judgeReaders(market, "fundingRates", builder, touched);
  }

  /** The order book of one market. */
  depth(seen: Seen<"depth">, builder: ChangesBuilder): void {
    const { market, node } = this.#read(seen.symbol, "orderbook", builder, (markets) =>
      markets.takeDepth(seen, builder.atMs),
    );
    node.windows?.feed(builder.atMs, only(market, bookFields));
    builder.changes.ticks.push(this.#parts.series.book(market, builder.atMs));
    this.#judgeReaders(market, "orderbook", builder);
  }

  /** The price of one market elsewhere, and how much it moves. */
  external(seen: Seen<"external">, builder: ChangesBuilder): void {
    const { market, node } = this.#read(seen.symbol, "candles", builder, (markets) =>
      markets.takeExternal(seen, builder.atMs),
    );
    node.windows?.feed(builder.atMs, only(market, candleFields));
    builder.changes.ticks.push(this.#parts.series.candles(market, builder.atMs));
    this.#judgeReaders(market, "candles", builder);
  }

  /** Takes whether a market is in session. A change is an event of the market. */
  session(seen: Seen<"calendar">, builder: ChangesBuilder): void {
    const known = this.#world.markets.entry(seen.symbol).facts.values.sessionState;
    const { market } = this.#read(seen.symbol, "calendars", builder, (markets) =>
      markets.takeCalendar(seen, builder.atMs),
    );
    this.#sessionChanged(market, known, seen.sessionState, builder);
    this.#judgeReaders(market, "calendars", builder);
  }

  /** Records a session that differs from the one before. @param known the one before; undefined: not read since the start */
  #sessionChanged(
    { symbol }: MarketEntry,
    known: FactValue | undefined,
    sessionState: string,
    builder: ChangesBuilder,
  ): void {
    const owner = this.#world.marketNode(symbol).name;
    const before = typeof known === "string" ? known : sessionFact.get(this.#parts.facts, owner);
    if (before === sessionState) return;
    const { atMs } = builder;
    sessionFact.put(owner, sessionState, builder);
    if (before !== null) this.#parts.happened(sessionChange(symbol, before, sessionState, atMs), builder);
  }

  #read(
    symbol: string,
    source: MarketRead,
    builder: ChangesBuilder,
    take: (markets: World["markets"]) => MarketEntry,
  ): { readonly market: MarketEntry; readonly node: SubjectNode } {
    const node = this.#world.marketNode(symbol);
    const market = take(this.#world.markets);
    this.#parts.noData.seen(source, null, builder);
    this.#compare(market);
    return { market, node };
  }

  /**
   * Judges what reads this of the market: as its own, or by its name.
   * @param touched wallets whose own figures moved with it
   */
  #judgeReaders(
    { symbol }: MarketEntry,
    source: MarketRead | "fundingRates",
    builder: ChangesBuilder,
    touched: ReadonlySet<string> = new Set(),
  ): void {
    const { conditions } = this.#parts;
    const { nodes, wallets } = this.#world;
    const named = this.#namedBy.has(source);
    const { accounts } = this.#world;
    for (const account of named ? accounts.all() : accounts.inMarkets([symbol]))
      if (named || account.positions.has(symbol)) this.#parts.judgeAccount(account, source, builder);
    if (!named) {
      conditions.judgeNode(this.#world.marketNode(symbol), source, builder);
      for (const name of touched) {
        const node = wallets.get(name)?.node;
        if (node) conditions.judgeNode(node, source, builder);
      }
      this.#parts.aggregates.judge(source, builder);
      return;
    }
    for (const node of nodes.values()) {
      const { scope } = node.subject;
      if (scope !== "trader" && scope !== "position") conditions.judgeNode(node, source, builder);
    }
  }

  /** Takes whether the exchange is open, and for what. */
  status(seen: Seen<"exchangeStatus">, builder: ChangesBuilder): void {
    const values = this.#world.exchange.facts.values;
    const before = values.active === undefined ? this.#rememberedStatus : values;
    const event = statusChange(before, seen, builder.atMs);
    values.active = seen.active;
    values.gated = seen.gated;
    values.withdrawalsAvailable = seen.withdrawalsAvailable;
    this.#world.exchange.seen("exchangeStatus", builder.atMs);
    this.#parts.noData.seen("exchangeStatus", null, builder);
    this.#parts.noDataWatches.seen("exchangeStatus", null, builder.atMs, builder);
    if (event) {
      const { active, gated, withdrawalsAvailable } = seen;
      statusFact.put("exchange", { active, gated, withdrawalsAvailable }, builder);
      if (event !== "first") this.#parts.happened(event, builder);
    }
    this.#parts.conditions.judgeNode(this.#world.exchange, "exchangeStatus", builder);
    for (const account of this.#world.accounts.all())
      this.#parts.judgeAccount(account, "exchangeStatus", builder);
    this.#parts.aggregates.judge("exchangeStatus", builder);
  }

  /** Says once which symbols of the rules the exchange does not list: a rule that waits for one waits for ever. */
  #noteUnlisted(listed: readonly string[]): void {
    if (this.#toldUnlisted || listed.length === 0) return;
    this.#toldUnlisted = true;
    for (const { rule, symbol, nearest } of unlistedSymbols(this.#parts.settings.ruleSet, listed)) {
      const meant = nearest === null ? "" : `; did you mean ${nearest}?`;
      this.#parts.warn(`${rule}: the exchange lists no market ${symbol}${meant}`);
    }
  }

  /**
   * Markets that two lists in a row do not name, that have no price in the newest answer and that nobody holds are gone.
   * A list without anything in it says nothing, and a market whose row did not fit still has its price, or is in the next list.
   */
  #dropMarkets(listed: ReadonlySet<string>, builder: ChangesBuilder): void {
    const { markets, nodes, accounts } = this.#world;
    if (listed.size === 0 || markets.pricesAtMs === null) return;
    const before = this.#leftOut;
    this.#leftOut = new Set();
    for (const { symbol, facts } of [...markets.entries.values()]) {
      if (listed.has(symbol) || (facts.seenMs.markets ?? 0) >= markets.pricesAtMs || accounts.anyIn(symbol))
        continue;
      if (!before.has(symbol)) {
        this.#leftOut.add(symbol);
        continue;
      }
      const node = nodes.get(`market/${symbol}`);
      nodes.delete(`market/${symbol}`);
      markets.remove(symbol);
      if (!node) continue;
      this.#parts.conditions.detach(node, builder, (_, live, row) => {
        this.#parts.alerts.end(builder, live, "noLongerWatched", null);
        this.#parts.conditions.rows.released(row, builder);
      });
    }
    this.#parts.restoring.endUnlisted(listed, builder);
  }

  /** The configuration of a market at the time when the daemon stopped, for comparison only: risk is computed from answers. */
  #rememberedConfig(node: string): Readonly<Record<string, string>> | null {
    const config = configFact.get(this.#parts.facts, node);
    return config === null ? null : comparable(config);
  }

  /** Compares an answer about a market with those of others; a difference is told once while it lasts. */
  #compare(entry: MarketEntry): void {
    const rate = rateMismatch(entry, this.#world.markets.fundingUnit);
    const session = sessionMismatch(entry);
    this.#mismatch(`rate ${entry.symbol}`, rate === null ? [] : [rate]);
    this.#mismatch(`session ${entry.symbol}`, session === null ? [] : [session]);
    this.#mismatch(`price ${entry.symbol}`, priceMismatches(entry));
  }

  #mismatch(name: string, texts: readonly string[]): void {
    if (texts.length === 0) this.#reportedMismatches.delete(name);
    else if (!this.#reportedMismatches.has(name)) {
      this.#reportedMismatches.add(name);
      for (const text of texts) this.#parts.warn(text);
    }
  }
}

/** Some of a market's figures, by name. */
function only({ facts }: MarketEntry, fields: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(fields.map((field) => [field, facts.values[field]]));
}

/** Compared by value: a replay reads configurations back as other objects than the ones that were recorded. */
function sameConfig(a: MarketConfig, b: MarketConfig): boolean {
  return a === b || exactJson(a) === exactJson(b);
}

function exactJson(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => (typeof part === "bigint" ? part.toString() : part));
}
