/** Warns of contradictory or impossible answers about markets, each once while it lasts. */

import type { NoData } from "../../alerts/own/no-data.ts";
import type { MarketPrices } from "../../domain/account.ts";
import type { ChangesBuilder } from "../../domain/stored/changes-builder.ts";
import { type RuleSet, unlistedSymbols } from "../../rules/index.ts";
import {
  isPrice,
  type MarketEntry,
  priceMismatches,
  rateMismatch,
  sessionMismatch,
} from "../../state/markets/markets.ts";
import type { World } from "../../state/world.ts";

export interface MarketWarningsParts {
  readonly world: World;
  readonly noData: NoData;
  readonly ruleSet: RuleSet;
  /** Writes a warning to the log. */
  readonly warn: (text: string) => void;
}

export class MarketWarnings {
  readonly #parts: MarketWarningsParts;
  #reportedUnlisted: boolean;
  readonly #reportedMismatches: Set<string>;
  /** The defect of each market's prices in the newest answer. */
  readonly #badPrices = new Map<string, string>();

  /** @param before the warnings of the watch that is replaced at a reload */
  constructor(parts: MarketWarningsParts, before: MarketWarnings | undefined) {
    this.#parts = parts;
    this.#reportedUnlisted = before ? before.#reportedUnlisted : false;
    this.#reportedMismatches = before ? before.#reportedMismatches : new Set();
  }

  /** Reports an impossible mark or index price, once while it lasts. */
  noteBadPrices({ symbol, markPriceUsd, oraclePriceUsd }: MarketPrices, builder: ChangesBuilder): void {
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

  /** Reports once the symbols of rules that the exchange does not list: a rule that waits for one never fires. */
  noteUnlisted(listed: readonly string[]): void {
    if (this.#reportedUnlisted || listed.length === 0) return;
    this.#reportedUnlisted = true;
    for (const { rule, symbol, nearest } of unlistedSymbols(this.#parts.ruleSet, listed)) {
      const meant = nearest === null ? "" : `; did you mean ${nearest}?`;
      this.#parts.warn(`${rule}: the exchange lists no market ${symbol}${meant}`);
    }
  }

  /** Compares an answer about a market with those of others; a difference is reported once while it lasts. */
  compare(entry: MarketEntry): void {
    const rate = rateMismatch(entry, this.#parts.world.markets.fundingUnit);
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
