/**
 * Takes the exchange's data about its markets and itself: prices, configuration, funding rates, status. Each is written
 * to the facts and windows that depend on it, and everything that reads it is judged.
 */

import type { Observation } from "../../domain/observation.ts";
import type { MarketRead } from "../../domain/sources.ts";
import type { ChangesBuilder } from "../../domain/stored/changes-builder.ts";
import { noteReading } from "../../state/accounts/account-readings.ts";
import { bookFields, candleFields, type MarketEntry, rateFacts } from "../../state/markets/markets.ts";
import { statusChange, statusFact } from "../../state/markets/own-events.ts";
import type { SubjectNode } from "../../state/subjects.ts";
import { sumAccounts } from "../../state/wallets/wallets.ts";
import type { NamedValues } from "../../state/windows/named-values.ts";
import { readApart, type Series } from "../../state/windows/series.ts";
import type { World } from "../../state/world.ts";
import type { WatchSettings } from "../settings.ts";
import { CollateralAssets } from "./collateral-assets.ts";
import { FundingUnitChoice } from "./funding-unit-choice.ts";
import { MarketList, type MarketListParts } from "./market-list.ts";
import { MarketReaders, type MarketReadersParts } from "./market-readers.ts";
import { MarketSessions } from "./market-sessions.ts";
import { MarketWarnings } from "./market-warnings.ts";
import { UnlistedMarkets, type UnlistedMarketsParts } from "./unlisted-markets.ts";

/**
 * Minimum interval at which streamed prices are stored, unless they are requested more often. They are judged each
 * time: a moving market would fill the disk, and windows hold what history stores.
 */
const maxLiveSampleMs = 2_000;

type Seen<K extends Observation["kind"]> = Observation & { readonly kind: K };

export interface MarketAnswersParts
  extends Omit<MarketListParts, "readers" | "sessions" | "warnings">,
    UnlistedMarketsParts,
    MarketReadersParts {
  readonly settings: WatchSettings;
  readonly series: Series;
  readonly named: NamedValues;
  /** Writes a warning to the log. */
  readonly warn: (text: string) => void;
  /** The predecessor at a reload, whose readings are taken over. */
  readonly before: MarketAnswers | undefined;
}

export class MarketAnswers {
  readonly #parts: Omit<MarketAnswersParts, "before">;
  readonly #world: World;
  readonly #rememberedStatus: Parameters<typeof statusChange>[0];
  readonly #readers: MarketReaders;
  readonly #sessions: MarketSessions;
  readonly #warnings: MarketWarnings;
  readonly #fundingUnit: FundingUnitChoice;
  readonly list: MarketList;
  readonly assets: CollateralAssets;
  /** The time at which each market was last written to windows and history, ms. */
  readonly #sampledMs: Map<string, number>;
  readonly #liveSampleMs: number;
  /** Age from which prices are too old, ms. */
  readonly #pricesStaleMs: number;

  constructor(parts: MarketAnswersParts) {
    const { before, ...rest } = parts;
    this.#parts = rest;
    this.#sampledMs = before ? before.#sampledMs : new Map();
    this.#world = parts.world;
    const { world, facts, noData, warn } = parts;
    const { ruleSet } = parts.settings;
    this.#readers = new MarketReaders(parts, ruleSet);
    this.#sessions = new MarketSessions(world, facts, parts.happened);
    this.#warnings = new MarketWarnings(
      { world, noData, ruleSet, warn },
      before ? before.#warnings : undefined,
    );
    this.#fundingUnit = new FundingUnitChoice(world, facts, warn, before ? before.#fundingUnit : undefined);
    const helpers = { readers: this.#readers, sessions: this.#sessions, warnings: this.#warnings };
    this.list = new MarketList({ ...parts, ...helpers }, new UnlistedMarkets(parts));
    this.assets = new CollateralAssets(world, this.#readers, parts.aggregates, before?.assets);
    this.#pricesStaleMs = 3 * parts.settings.scheduleMs.markets;
    this.#liveSampleMs = Math.min(parts.settings.scheduleMs.markets, maxLiveSampleMs);
    this.#rememberedStatus = statusFact.get(parts.facts, "exchange") ?? {};
  }

  /** Takes prices of all markets, or (`live`) of those that moved. */
  prices(seen: Seen<"prices">, builder: ChangesBuilder): void {
    const live = seen.live === true;
    // A connected stream delivers nothing while no price moves.
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
    for (const prices of seen.markets) this.#warnings.noteBadPrices(prices, builder);
    const answered = unpriced.length === 0 ? entries : [...entries, ...unpriced];
    for (const market of answered)
      this.#parts.conditions.judgeNode(this.#world.marketNode(market.symbol), "markets", builder);
    const answeredSymbols = live ? new Set(answered.map((market) => market.symbol)) : null;
    const touched = new Set<string>();
    const { accounts, assessment } = this.#world;
    for (const account of answeredSymbols === null ? accounts.all() : accounts.inMarkets(answeredSymbols)) {
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
    if (this.#readers.isNamed("markets"))
      this.#parts.conditions.judgeNode(this.#world.exchange, "markets", builder);
    this.#parts.aggregates.manyChanged(live ? touched : null, "markets", !live, builder);
  }

  /** Takes the last settled funding rate of one market. */
  rate(seen: Seen<"fundingRate">, builder: ChangesBuilder): void {
    const { symbol, ratePerHour } = seen;
    const { noData, series } = this.#parts;
    const node = this.#world.marketNode(symbol);
    this.#world.markets.takeRate(seen);
    this.#fundingUnit.decide(builder);
    this.#warnings.compare(this.#world.markets.entry(symbol));
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
    this.#readers.judge(market, "fundingRates", builder, touched);
  }

  /** Takes the order book of one market. */
  depth(seen: Seen<"depth">, builder: ChangesBuilder): void {
    const { market, node } = this.#read(seen.symbol, "orderbook", builder, (markets) =>
      markets.takeDepth(seen, builder.atMs),
    );
    node.windows?.feed(builder.atMs, only(market, bookFields));
    builder.changes.ticks.push(this.#parts.series.book(market, builder.atMs));
    this.#readers.judge(market, "orderbook", builder);
  }

  /** Takes the external price of one market and its volatility. */
  external(seen: Seen<"external">, builder: ChangesBuilder): void {
    const { market, node } = this.#read(seen.symbol, "candles", builder, (markets) =>
      markets.takeExternal(seen, builder.atMs),
    );
    node.windows?.feed(builder.atMs, only(market, candleFields));
    builder.changes.ticks.push(this.#parts.series.candles(market, builder.atMs));
    this.#readers.judge(market, "candles", builder);
  }

  /** Takes the session state of a market. A change is an event of the market. */
  session(seen: Seen<"calendar">, builder: ChangesBuilder): void {
    const known = this.#world.markets.entry(seen.symbol).facts.values.sessionState;
    const { market } = this.#read(seen.symbol, "calendars", builder, (markets) =>
      markets.takeCalendar(seen, builder.atMs),
    );
    this.#sessions.changed(market, known, seen.sessionState, builder);
    this.#readers.judge(market, "calendars", builder);
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
    this.#warnings.compare(market);
    return { market, node };
  }

  /** Takes the status of the exchange, and the actions it permits. */
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
}

/** Returns some of a market's figures, by name. */
function only({ facts }: MarketEntry, fields: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(fields.map((field) => [field, facts.values[field]]));
}
