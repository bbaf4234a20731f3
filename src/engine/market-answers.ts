/**
 * Takes what the exchange reports about its markets and itself: prices, configuration, funding rates, status. Each is taken
 * into the facts and windows that rest on it, and everything that reads it is judged.
 */

import type { AlertBook } from "../alerts/alert-book.ts";
import type { NoData } from "../alerts/own/no-data.ts";
import type { MarketConfig, MarketPrices } from "../domain/account.ts";
import type { Draft } from "../domain/draft.ts";
import type { Event } from "../domain/event.ts";
import type { Observation, Source } from "../domain/observation.ts";
import type { Conditions } from "../evaluate/conditions.ts";
import type { Vigils } from "../evaluate/vigils.ts";
import { type FactValue, unlistedSymbols } from "../rules/index.ts";
import { type AccountEntry, noteReading } from "../state/accounts.ts";
import { factName } from "../state/fact-name.ts";
import { TakenUnit } from "../state/markets/funding-unit.ts";
import { comparable, marketChanges, sessionChange } from "../state/markets/market-changes.ts";
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
import { statusChange } from "../state/markets/own-events.ts";
import { hasSpot } from "../state/markets/spot-collateral.ts";
import type { SubjectNode } from "../state/subjects.ts";
import { sumAccounts } from "../state/wallets.ts";
import type { NamedValues } from "../state/windows/named-values.ts";
import { readApart, type Series } from "../state/windows/series.ts";
import type { World } from "../state/world.ts";
import type { Together } from "./aggregates/together.ts";
import type { Restoring } from "./restore.ts";
import type { WatchSettings } from "./settings.ts";

/**
 * Prices that come by themselves are judged each time and kept this often at most, or as often as they are asked for: a
 * moving market would fill the disk, and windows hold what history stores.
 */
const longestLiveSampleMs = 2_000;

/** Name of the fact that keeps the unit of funding rates over restarts. */
const fundingUnitFact = "fundingUnit";

type MarketRead = "orderbook" | "calendars" | "candles";
type Seen<K extends Observation["kind"]> = Observation & { readonly kind: K };

export interface MarketAnswersParts {
  readonly settings: WatchSettings;
  readonly world: World;
  readonly alerts: AlertBook;
  readonly conditions: Conditions;
  readonly noData: NoData;
  readonly vigils: Vigils;
  readonly series: Series;
  readonly named: NamedValues;
  readonly restoring: Restoring;
  readonly together: Together;
  /** Facts as history had them at the start. */
  readonly facts: ReadonlyMap<string, string>;
  /** A change is an event of our own making. */
  readonly happened: (event: Event, draft: Draft) => void;
  readonly judgeAccount: (account: AccountEntry, source: Source, draft: Draft) => void;
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
    this.#liveSampleMs = Math.min(parts.settings.scheduleMs.markets, longestLiveSampleMs);
    const keptUnit = parts.facts.get(factName("exchange", fundingUnitFact));
    this.#takenUnit = before ? before.#takenUnit : new TakenUnit(keptUnit);
    parts.world.markets.fundingUnit = this.#takenUnit.unit;
    this.#rememberedStatus = JSON.parse(parts.facts.get(factName("exchange", "status")) ?? "{}");
  }

  /** Prices of all markets, or (`live`) of those that moved. */
  prices(seen: Seen<"prices">, draft: Draft): void {
    const live = seen.live === true;
    // A stream that is connected brings nothing while no price moves.
    const quiet = live && this.#world.daemon.facts.values.streamConnected === true;
    this.#world.markets.notePrices(draft.atMs, quiet ? Number.POSITIVE_INFINITY : this.#pricesStaleMs);
    const moved = new Set<string>();
    const entries: MarketEntry[] = [];
    /** The markets for which the answer states no price. */
    const unpriced: MarketEntry[] = [];
    for (const prices of seen.markets) {
      const node = this.#world.marketNode(prices.symbol);
      if (this.#world.markets.takePrices(prices, draft.atMs, live)) moved.add(prices.symbol.toUpperCase());
      const market = this.#world.markets.entry(prices.symbol);
      if (market.prices === null) {
        unpriced.push(market);
        continue;
      }
      entries.push(market);
      if (live && draft.atMs - (this.#sampledMs.get(market.symbol) ?? 0) < this.#liveSampleMs) continue;
      this.#sampledMs.set(market.symbol, draft.atMs);
      this.#parts.named.update(node, draft.atMs);
      node.windows?.feed(draft.atMs, node.facts.values, readApart);
      if (live) draft.changes.ticks.push(this.#parts.series.markets([market], draft.atMs));
    }
    if (!live) {
      if (entries.length > 0) draft.changes.ticks.push(this.#parts.series.markets(entries, draft.atMs));
      this.#parts.noData.seen("markets", null, draft);
    }
    for (const prices of seen.markets) this.#noteBadPrices(prices, draft);
    const answered = unpriced.length === 0 ? entries : [...entries, ...unpriced];
    for (const market of answered)
      this.#parts.conditions.judgeNode(this.#world.marketNode(market.symbol), "markets", draft);
    const told = live ? new Set(answered.map((market) => market.symbol)) : null;
    const touched = new Set<string>();
    const { accounts } = this.#world;
    for (const account of told === null ? accounts.all() : accounts.inMarkets(told)) {
      if (accounts.dependsOn(account, moved)) {
        accounts.assess(account);
        noteReading(account, true);
      } else accounts.refreshAges(account);
      if (live) touched.add(account.ref.wallet);
      this.#parts.judgeAccount(account, "markets", draft);
    }
    for (const entry of live ? this.#world.inOrder(touched) : this.#world.wallets.values()) {
      sumAccounts(entry, this.#world.accounts.ofWallet(entry.wallet.name));
      this.#parts.conditions.judgeNode(entry.node, "markets", draft);
    }
    if (this.#namedBy.has("markets"))
      this.#parts.conditions.judgeNode(this.#world.exchange, "markets", draft);
    this.#parts.together.manyChanged(live ? touched : null, "markets", !live, draft);
  }

  /** Reports a mark or index price that cannot be one, once while it lasts. */
  #noteBadPrices({ symbol, markPriceUsd, oraclePriceUsd }: MarketPrices, draft: Draft): void {
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
    const { atMs } = draft;
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
    draft.changes.failedReads.push(failure);
    this.#parts.warn(detail);
  }

  /** Takes the configuration and the list of the markets. */
  config(seen: Seen<"marketConfig">, draft: Draft): void {
    let changed = false;
    for (const config of seen.markets) {
      const node = this.#world.marketNode(config.symbol);
      const before = this.#world.markets.entry(config.symbol).config;
      changed ||= before === null || !sameConfig(before, config);
      const known = before ? comparable(before) : this.#rememberedConfig(node.name);
      const events = known ? marketChanges(known, config, draft.atMs) : [];
      this.#world.markets.takeConfig(config, draft.atMs);
      if (!known || events.length > 0) {
        draft.changes.facts.push({
          atMs: draft.atMs,
          owner: node.name,
          name: "config",
          value: exactJson(config),
        });
      }
      for (const event of events) this.#parts.happened(event, draft);
      this.#parts.conditions.judgeNode(node, "marketConfig", draft);
      if (before !== null && before.commodityStatus !== config.commodityStatus)
        this.#sessionListed(config, draft);
    }
    this.#noteUnlisted(seen.markets.map((one) => one.symbol));
    this.#dropMarkets(new Set(seen.markets.map((one) => one.symbol.toUpperCase())), draft);
    this.#parts.noData.seen("marketConfig", null, draft);
    this.#parts.vigils.seen("marketConfig", null, draft.atMs, draft);
    if (changed) this.#world.markets.linkAssets();
    for (const account of this.#world.accounts.all()) {
      if (changed || !account.assessed) this.#configured(account, draft);
      else {
        this.#world.accounts.refreshAges(account);
        this.#parts.judgeAccount(account, "marketConfig", draft);
      }
    }
    this.#walletsChanged(this.#world.wallets.keys(), "marketConfig", draft);
    this.#parts.together.manyChanged(null, "marketConfig", false, draft);
  }

  /**
   * The market list tells of a session that began or ended before the calendar does, which is read seldom: it counts at
   * once, and the calendar is asked for the next transition. It was not read by that.
   */
  #sessionListed({ symbol, commodityStatus }: MarketConfig, draft: Draft): void {
    const market = this.#world.markets.entry(symbol);
    const known = market.facts.values.sessionState;
    const sessionState =
      commodityStatus === "afterHours" ? "afterHours" : commodityStatus === "active" ? "open" : null;
    if (known === undefined) return;
    draft.ask("calendars", null);
    if (sessionState === null || known === sessionState) return;
    this.#world.markets.takeSession(market, sessionState, draft.atMs);
    this.#compare(market);
    this.#sessionChanged(market, known, sessionState, draft);
    this.#judgeReaders(market, "calendars", draft);
  }

  /** The assets that may be collateral beside the quote token. */
  collateralAssets({ assets }: Seen<"collateralAssets">, draft: Draft): void {
    this.#world.markets.takeAssets(assets, draft.atMs);
    const touched = new Set<string>();
    for (const account of this.#world.accounts.all()) {
      if (!hasSpot(account.state)) continue;
      this.#configured(account, draft);
      touched.add(account.ref.wallet);
    }
    this.#walletsChanged(touched, "marketConfig", draft);
    if (touched.size > 0) this.#parts.together.manyChanged(touched, "marketConfig", false, draft);
  }

  /** Asks once for the list of assets where it does not name one that an account holds. */
  wantAssets({ state }: AccountEntry, draft: Draft): void {
    for (const { assetIndex, balance } of state.spotCollaterals) {
      if (balance <= 0n || this.#world.markets.assets?.has(assetIndex) || this.#wantedAssets.has(assetIndex))
        continue;
      this.#wantedAssets.add(assetIndex);
      draft.ask("marketConfig", null);
    }
  }

  #configured(account: AccountEntry, draft: Draft): void {
    this.#world.accounts.configured(account);
    this.#world.accounts.assess(account);
    noteReading(account, true);
    this.#parts.judgeAccount(account, "marketConfig", draft);
  }

  #walletsChanged(names: Iterable<string>, source: Source, draft: Draft): void {
    const { accounts, wallets } = this.#world;
    for (const name of names) {
      const entry = wallets.get(name);
      if (!entry) continue;
      sumAccounts(entry, accounts.ofWallet(name));
      this.#parts.conditions.judgeNode(entry.node, source, draft);
    }
  }

  /** Decides the unit of the rates in the statistics, once enough markets can be compared, and reports it. */
  #decideFundingUnit(draft: Draft): void {
    const { markets } = this.#world;
    const found = markets.decideFundingUnit();
    if (!this.#takenUnit.compared(found, draft.atMs)) return;
    const value = this.#takenUnit.toKeep();
    draft.changes.facts.push({ atMs: draft.atMs, owner: "exchange", name: fundingUnitFact, value });
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
  rate(seen: Seen<"fundingRate">, draft: Draft): void {
    const { symbol, ratePerHour } = seen;
    const { noData, series } = this.#parts;
    const node = this.#world.marketNode(symbol);
    this.#world.markets.takeRate(seen);
    this.#decideFundingUnit(draft);
    this.#compare(this.#world.markets.entry(symbol));
    const settled = rateFacts(ratePerHour);
    node.windows?.feed(draft.atMs, settled);
    draft.changes.ticks.push(series.fundingRate(node.facts.values.symbol as string, settled, draft.atMs));
    noData.seen("fundingRates", null, draft);
    const { accounts, wallets } = this.#world;
    const touched = new Set<string>();
    for (const account of accounts.inMarkets([symbol.toUpperCase()])) {
      if (!account.positions.has(symbol.toUpperCase())) continue;
      accounts.refreshFunding(account);
      accounts.refreshAges(account);
      touched.add(account.ref.wallet);
    }
    for (const name of touched) {
      const entry = wallets.get(name);
      if (entry) sumAccounts(entry, accounts.ofWallet(name));
    }
    const market = this.#world.markets.entry(symbol);
    this.#judgeReaders(market, "fundingRates", draft, touched);
  }

  /** The order book of one market. */
  depth(seen: Seen<"depth">, draft: Draft): void {
    const { market, node } = this.#read(seen.symbol, "orderbook", draft, (markets) =>
      markets.takeDepth(seen, draft.atMs),
    );
    node.windows?.feed(draft.atMs, only(market, bookFields));
    draft.changes.ticks.push(this.#parts.series.book(market, draft.atMs));
    this.#judgeReaders(market, "orderbook", draft);
  }

  /** The price of one market elsewhere, and how much it moves. */
  external(seen: Seen<"external">, draft: Draft): void {
    const { market, node } = this.#read(seen.symbol, "candles", draft, (markets) =>
      markets.takeExternal(seen, draft.atMs),
    );
    node.windows?.feed(draft.atMs, only(market, candleFields));
    draft.changes.ticks.push(this.#parts.series.candles(market, draft.atMs));
    this.#judgeReaders(market, "candles", draft);
  }

  /** Takes whether a market is in session. A change is an event of the market. */
  session(seen: Seen<"calendar">, draft: Draft): void {
    const known = this.#world.markets.entry(seen.symbol).facts.values.sessionState;
    const { market } = this.#read(seen.symbol, "calendars", draft, (markets) =>
      markets.takeCalendar(seen, draft.atMs),
    );
    this.#sessionChanged(market, known, seen.sessionState, draft);
    this.#judgeReaders(market, "calendars", draft);
  }

  /** Records a session that differs from the one before. @param known the one before; undefined: not read since the start */
  #sessionChanged(
    { symbol }: MarketEntry,
    known: FactValue | undefined,
    sessionState: string,
    draft: Draft,
  ): void {
    const owner = this.#world.marketNode(symbol).name;
    const before = typeof known === "string" ? known : this.#parts.facts.get(factName(owner, "session"));
    if (before === sessionState) return;
    const { atMs } = draft;
    draft.changes.facts.push({ atMs, owner, name: "session", value: sessionState });
    if (before !== undefined) this.#parts.happened(sessionChange(symbol, before, sessionState, atMs), draft);
  }

  #read(
    symbol: string,
    source: MarketRead,
    draft: Draft,
    take: (markets: World["markets"]) => MarketEntry,
  ): { readonly market: MarketEntry; readonly node: SubjectNode } {
    const node = this.#world.marketNode(symbol);
    const market = take(this.#world.markets);
    this.#parts.noData.seen(source, null, draft);
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
    draft: Draft,
    touched: ReadonlySet<string> = new Set(),
  ): void {
    const { conditions } = this.#parts;
    const { nodes, wallets } = this.#world;
    const named = this.#namedBy.has(source);
    const { accounts } = this.#world;
    for (const account of named ? accounts.all() : accounts.inMarkets([symbol]))
      if (named || account.positions.has(symbol)) this.#parts.judgeAccount(account, source, draft);
    if (!named) {
      conditions.judgeNode(this.#world.marketNode(symbol), source, draft);
      for (const name of touched) {
        const node = wallets.get(name)?.node;
        if (node) conditions.judgeNode(node, source, draft);
      }
      this.#parts.together.judge(source, draft);
      return;
    }
    for (const node of nodes.values()) {
      const { scope } = node.subject;
      if (scope !== "trader" && scope !== "position") conditions.judgeNode(node, source, draft);
    }
  }

  /** Takes whether the exchange is open, and for what. */
  status(seen: Seen<"exchangeStatus">, draft: Draft): void {
    const values = this.#world.exchange.facts.values;
    const before = values.active === undefined ? this.#rememberedStatus : values;
    const event = statusChange(before, seen, draft.atMs);
    values.active = seen.active;
    values.gated = seen.gated;
    values.withdrawalsAvailable = seen.withdrawalsAvailable;
    this.#world.exchange.seen("exchangeStatus", draft.atMs);
    this.#parts.noData.seen("exchangeStatus", null, draft);
    this.#parts.vigils.seen("exchangeStatus", null, draft.atMs, draft);
    if (event) {
      const { active, gated, withdrawalsAvailable } = seen;
      const value = JSON.stringify({ active, gated, withdrawalsAvailable });
      draft.changes.facts.push({ atMs: draft.atMs, owner: "exchange", name: "status", value });
      if (event !== "first") this.#parts.happened(event, draft);
    }
    this.#parts.conditions.judgeNode(this.#world.exchange, "exchangeStatus", draft);
    for (const account of this.#world.accounts.all())
      this.#parts.judgeAccount(account, "exchangeStatus", draft);
    this.#parts.together.judge("exchangeStatus", draft);
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
  #dropMarkets(listed: ReadonlySet<string>, draft: Draft): void {
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
      this.#parts.conditions.detach(node, draft, (_, live, row) => {
        this.#parts.alerts.end(draft, live, "noLongerWatched", null);
        this.#parts.conditions.released(row, draft);
      });
    }
    this.#parts.restoring.endUnlisted(listed, draft);
  }

  /** The configuration of a market at the time when the daemon stopped, for comparison only: risk is computed from answers. */
  #rememberedConfig(node: string): Readonly<Record<string, string>> | null {
    const text = this.#parts.facts.get(factName(node, "config"));
    return text === undefined ? null : comparable(JSON.parse(text) as MarketConfig);
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
