/** Takes the list of the markets with their configuration, and that of the assets that may be collateral. */

import type { AlertBook } from "../../alerts/alert-book.ts";
import type { NoData } from "../../alerts/own/no-data.ts";
import type { MarketConfig } from "../../domain/account.ts";
import type { ChangesBuilder } from "../../domain/changes-builder.ts";
import type { Event } from "../../domain/event.ts";
import type { Observation } from "../../domain/observation.ts";
import type { Source } from "../../domain/sources.ts";
import type { Conditions } from "../../evaluate/conditions.ts";
import type { NoDataWatches } from "../../evaluate/no-data-watches.ts";
import type { AccountEntry } from "../../state/account-entry.ts";
import { factName } from "../../state/fact-name.ts";
import { comparable, marketChanges } from "../../state/markets/market-changes.ts";
import { hasSpot } from "../../state/markets/spot-collateral.ts";
import type { World } from "../../state/world.ts";
import type { Aggregates } from "../aggregates/aggregates.ts";
import type { Restoring } from "../restore.ts";
import type { MarketReaders } from "./market-readers.ts";
import type { MarketSessions } from "./market-sessions.ts";
import type { MarketWarnings } from "./market-warnings.ts";

type Seen<K extends Observation["kind"]> = Observation & { readonly kind: K };

/** The parts that the lists change. */
export interface MarketListParts {
  readonly world: World;
  readonly alerts: AlertBook;
  readonly conditions: Conditions;
  readonly noData: NoData;
  readonly noDataWatches: NoDataWatches;
  readonly restoring: Restoring;
  readonly aggregates: Aggregates;
  /** Facts as history had them at the start. */
  readonly facts: ReadonlyMap<string, string>;
  /** A change is an event of our own making. */
  readonly happened: (event: Event, builder: ChangesBuilder) => void;
  readonly judgeAccount: (account: AccountEntry, source: Source, builder: ChangesBuilder) => void;
}

export interface MarketListHelpers {
  readonly readers: MarketReaders;
  readonly sessions: MarketSessions;
  readonly warnings: MarketWarnings;
}

export class MarketList {
  readonly #parts: MarketListParts & MarketListHelpers;
  readonly #world: World;
  /** Markets that the newest list left out. */
  #leftOut = new Set<string>();
  /** Assets that were asked for because no list named them. */
  readonly #wantedAssets: Set<number>;

  /** @param before that of the watch which is replaced at a reload */
  constructor(parts: MarketListParts & MarketListHelpers, before: MarketList | undefined) {
    this.#parts = parts;
    this.#world = parts.world;
    this.#wantedAssets = before ? before.#wantedAssets : new Set();
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
        builder.changes.facts.push({
          atMs: builder.atMs,
          owner: node.name,
          name: "config",
          value: exactJson(config),
        });
      }
      for (const event of events) this.#parts.happened(event, builder);
      this.#parts.conditions.judgeNode(node, "marketConfig", builder);
      if (before !== null && before.commodityStatus !== config.commodityStatus)
        this.#sessionListed(config, builder);
    }
    this.#parts.warnings.noteUnlisted(seen.markets.map((one) => one.symbol));
    this.#dropMarkets(new Set(seen.markets.map((one) => one.symbol.toUpperCase())), builder);
    this.#parts.noData.seen("marketConfig", null, builder);
    this.#parts.noDataWatches.seen("marketConfig", null, builder.atMs, builder);
    if (changed) this.#world.markets.linkAssets();
    for (const account of this.#world.accounts.all()) {
      if (changed || !account.assessed) this.#parts.readers.configured(account, builder);
      else {
        this.#world.accounts.refreshAges(account);
        this.#parts.judgeAccount(account, "marketConfig", builder);
      }
    }
    this.#parts.readers.walletsChanged(this.#world.wallets.keys(), "marketConfig", builder);
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
    this.#parts.warnings.compare(market);
    this.#parts.sessions.changed(market, known, sessionState, builder);
    this.#parts.readers.judge(market, "calendars", builder);
  }

  /** The assets that may be collateral beside the quote token. */
  collateralAssets({ assets }: Seen<"collateralAssets">, builder: ChangesBuilder): void {
    this.#world.markets.takeAssets(assets, builder.atMs);
    const touched = new Set<string>();
    for (const account of this.#world.accounts.all()) {
      if (!hasSpot(account.state)) continue;
      this.#parts.readers.configured(account, builder);
      touched.add(account.ref.wallet);
    }
    this.#parts.readers.walletsChanged(touched, "marketConfig", builder);
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
        this.#parts.conditions.released(row, builder);
      });
    }
    this.#parts.restoring.endUnlisted(listed, builder);
  }

  /** The configuration of a market at the time when the daemon stopped, for comparison only: risk is computed from answers. */
  #rememberedConfig(node: string): Readonly<Record<string, string>> | null {
    const text = this.#parts.facts.get(factName(node, "config"));
    return text === undefined ? null : comparable(JSON.parse(text) as MarketConfig);
  }
}

/** Compared by value: a replay reads configurations back as other objects than the ones that were recorded. */
function sameConfig(a: MarketConfig, b: MarketConfig): boolean {
  return a === b || exactJson(a) === exactJson(b);
}

function exactJson(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => (typeof part === "bigint" ? part.toString() : part));
}
