/** Takes the list of markets with their configuration. */

import type { NoData } from "../../alerts/own/no-data.ts";
import type { MarketConfig } from "../../domain/account.ts";
import type { Event } from "../../domain/event.ts";
import type { Observation } from "../../domain/observation.ts";
import type { ChangesBuilder } from "../../domain/stored/changes-builder.ts";
import type { Facts } from "../../domain/stored/facts.ts";
import type { Conditions } from "../../evaluate/conditions/conditions.ts";
import type { NoDataWatches } from "../../evaluate/no-data-watches.ts";
import { comparable, configFact, marketChanges } from "../../state/markets/market-changes.ts";
import type { World } from "../../state/world.ts";
import type { Aggregates } from "../aggregates/aggregates.ts";
import type { MarketReaders } from "./market-readers.ts";
import type { MarketSessions } from "./market-sessions.ts";
import type { MarketWarnings } from "./market-warnings.ts";
import type { UnlistedMarkets } from "./unlisted-markets.ts";

type Seen<K extends Observation["kind"]> = Observation & { readonly kind: K };

export interface MarketListParts {
  readonly world: World;
  readonly conditions: Conditions;
  readonly noData: NoData;
  readonly noDataWatches: NoDataWatches;
  readonly aggregates: Aggregates;
  /** The stored facts at the start. */
  readonly facts: Facts;
  /** Takes an event that is derived here from a change. */
  readonly happened: (event: Event, builder: ChangesBuilder) => void;
  readonly readers: MarketReaders;
  readonly sessions: MarketSessions;
  readonly warnings: MarketWarnings;
}

export class MarketList {
  readonly #parts: MarketListParts;
  readonly #world: World;
  readonly #unlisted: UnlistedMarkets;

  constructor(parts: MarketListParts, unlisted: UnlistedMarkets) {
    this.#parts = parts;
    this.#world = parts.world;
    this.#unlisted = unlisted;
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
    this.#parts.warnings.noteUnlisted(seen.markets.map((one) => one.symbol));
    this.#unlisted.drop(new Set(seen.markets.map((one) => one.symbol.toUpperCase())), builder);
    this.#parts.noData.seen("marketConfig", null, builder);
    this.#parts.noDataWatches.seen("marketConfig", null, builder.atMs, builder);
    if (changed) this.#world.markets.linkAssets();
    for (const account of this.#world.accounts.all()) {
      if (changed || !account.assessed) this.#parts.readers.configured(account, builder);
      else {
        this.#world.assessment.refreshAges(account);
        this.#parts.readers.judgeAccount(account, "marketConfig", builder);
      }
    }
    this.#parts.readers.walletsChanged(this.#world.wallets.keys(), "marketConfig", builder);
    this.#parts.aggregates.manyChanged(null, "marketConfig", false, builder);
  }

  /**
   * Takes a session change from the market list, which shows it before the rarely read calendar: it counts at once, and
   * the calendar is requested for the next transition. The calendar's reading time does not change.
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

  /**
   * Returns the configuration of a market when the daemon stopped, for comparison only: risk is computed from answers.
   */
  #rememberedConfig(node: string): Readonly<Record<string, string>> | null {
    const config = configFact.get(this.#parts.facts, node);
    return config === null ? null : comparable(config);
  }
}

/** Compared by value: a replay reads configurations back as other objects than the ones that were recorded. */
function sameConfig(a: MarketConfig, b: MarketConfig): boolean {
  return a === b || exactJson(a) === exactJson(b);
}

function exactJson(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => (typeof part === "bigint" ? part.toString() : part));
}
