/** Figures that a program hands in, as the judge sees them: all of them read just now. */
import { type Source, sources } from "../domain/sources.ts";
import { symbolKey } from "../domain/symbol.ts";
import { type Env, type Facts, type FactValue, Unknown } from "../rules/value.ts";

type Fields = Readonly<Record<string, FactValue>>;

/**
 * Figures by scope, then by field, as rules name them (`vocabulary`). Durations are ms, times ms since the epoch, ratios fractions,
 * money USD. A field that is left out is missing; a scope that is left out does not exist.
 */
export interface Figures {
  readonly position?: Fields;
  readonly trader?: Fields;
  readonly wallet?: Fields;
  readonly market?: Fields;
  readonly exchange?: Fields;
  readonly daemon?: Fields;
  readonly book?: Fields;
  readonly pair?: Fields;
  readonly event?: Fields;
  /** Other markets by their symbols, for `market("BTC")`. */
  readonly markets?: Readonly<Record<string, Fields>>;
  /** The time of judging, ms since the epoch. Default: now. */
  readonly nowMs?: number;
}

const uncovered = new Unknown("uncovered", null, "figures of one moment have no history");

export function factsFrom(figures: Figures): Env {
  const nowMs = figures.nowMs ?? Date.now();
  const seenMs = Object.fromEntries(sources.map((source) => [source, nowMs])) as Record<Source, number>;
  const facts = (values: Fields): Facts => ({ values: { ...values }, seenMs });
  const optional = (values: Fields | undefined) => (values === undefined ? undefined : facts(values));
  const markets = new Map(
    Object.entries(figures.markets ?? {}).map(([symbol, values]) => [symbolKey(symbol), facts(values)]),
  );
  return {
    nowMs,
    position: optional(figures.position),
    trader: optional(figures.trader),
    wallet: optional(figures.wallet),
    market: optional(figures.market),
    exchange: facts(figures.exchange ?? {}),
    daemon: facts(figures.daemon ?? {}),
    book: optional(figures.book),
    pair: optional(figures.pair),
    event: optional(figures.event),
    markets: (symbol) => markets.get(symbolKey(symbol)),
    window: () => uncovered,
  };
}
