/** The markets as the daemon knows them beside their prices: funding rates, books, other venues, sessions. */
import type { Observation } from "../../../src/domain/observation.ts";
import { depthsAt } from "./book.ts";
import { tickUsd } from "./margin.ts";
import { between, sessionsOf, type Truth } from "./truth.ts";

type Read = Extract<Observation["kind"], "fundingRate" | "depth" | "external" | "calendar">;
type Seen<K extends Observation["kind"]> = Observation & { readonly kind: K };

export interface Session {
  readonly state: string;
  /** The next change, ms; infinite: there is none; NaN: not known. */
  readonly nextMs: number;
}

export interface Depth {
  /** USD. */
  readonly bid: number;
  readonly ask: number;
  /** The best prices, USD. */
  readonly bestBid: number;
  readonly bestAsk: number;
}

const sides = ["bid", "ask", "bestBid", "bestAsk"] as const;
const textOf = (depth: Depth): string => sides.map((side) => `${side} ${depth[side]}`).join(", ");

/** Kinds of answers by the name of their schedule. */
const sourceOf: Readonly<Record<Read, string>> = {
  fundingRate: "fundingRates",
  depth: "orderbook",
  external: "candles",
  calendar: "calendars",
};

export const readByMarket: ReadonlySet<string> = new Set(Object.values(sourceOf));

/** The longest time that an answer may be under way, and that a candle takes to be of now, ms. */
const recentMs = 121_000;
/** Rates nearer to 0 have no size to compare. */
const leastRate = 1e-6;
const fewestCompared = 3;
const aroundMs = 2_000;

export class Markets {
  /** The state that a rule needs of all markets; empty before it was read. */
  readonly depths = new Map<string, Depth>();
  /** USD on other venues; null: traded nowhere else. */
  readonly elsewhere = new Map<string, number | null>();
  readonly sessions = new Map<string, Session>();
  /** Times of the newest answers, by schedule and symbol; the daemon's clock, ms. */
  readonly readMs = new Map<string, number>();
  readonly #stated = new Map<string, number>();
  readonly #settled = new Map<string, number>();
  readonly #listed = new Map<string, string | null>();
  /** The statistics leave open that their rates are in percent: before a comparison tells it, the settled rate counts. */
  #unitKnown = false;

  forget(): void {
    for (const known of [this.depths, this.elsewhere, this.sessions, this.readMs]) known.clear();
    for (const known of [this.#stated, this.#settled, this.#listed]) known.clear();
  }

  /** The present funding rate, a fraction an hour; undefined: not known. */
  rate(symbol: string): number | undefined {
    const percent = this.#unitKnown ? this.#stated.get(symbol) : undefined;
    return percent === undefined ? this.#settled.get(symbol) : percent / 100;
  }

  /** True if the end of a session came nearer than `leadMs` from one time to another, give or take. */
  turns(fromMs: number, toMs: number, leadMs: number): boolean {
    return [...this.sessions.values()].some(
      ({ nextMs }) => nextMs - leadMs > fromMs - aroundMs && nextMs - leadMs <= toMs + aroundMs,
    );
  }

  /** Takes the rate of the statistics. @returns true if it is another one */
  state(symbol: string, rate: number): boolean {
    const before = this.#stated.get(symbol);
    this.#stated.set(symbol, rate);
    return before !== rate;
  }

  /** Takes the sessions that the market list tells of. @returns true if one is another */
  list({ markets, atMs }: Seen<"marketConfig">): boolean {
    let changed = false;
    for (const { symbol, commodityStatus } of markets) {
      const before = this.#listed.get(symbol);
      this.#listed.set(symbol, commodityStatus);
      if (before === undefined || before === commodityStatus) continue;
      const state = commodityStatus === "active" ? "open" : commodityStatus;
      const known = this.sessions.get(symbol);
      if (!known || state === null || known.state === state) continue;
      this.sessions.set(symbol, { state, nextMs: known.nextMs > atMs ? known.nextMs : Number.NaN });
      changed = true;
    }
    return changed;
  }

  /**
   * @param stalledMs the longest time for which the process stood still
   * @param isGarbled some of what was answered lately cannot be understood
   * @returns what it says that was not true
   */
  take(
    observation: Seen<Read>,
    truth: Truth,
    atMs: number,
    stalledMs: number,
    isGarbled: boolean,
  ): readonly string[] {
    const fromMs = atMs - recentMs - stalledMs;
    const { kind, symbol } = observation;
    this.readMs.set(`${sourceOf[kind]} ${symbol}`, observation.atMs);
    const states = between(truth.markets.get(symbol) ?? [], fromMs, atMs);
    const wrong = (what: string, seen: unknown, truths: readonly unknown[]): readonly string[] => [
      `${what} of ${symbol}: ${seen}, true is ${[...new Set(truths)].join(", then ")}`,
    ];
    switch (kind) {
      case "fundingRate":
        this.#settled.set(symbol, observation.ratePerHour);
        this.#compare();
        return [];
      case "calendar": {
        const { sessionState, nextTransitionMs } = observation;
        this.sessions.set(symbol, {
          state: sessionState,
          nextMs: nextTransitionMs ?? Number.POSITIVE_INFINITY,
        });
        const truths = states.flatMap((one) => sessionsOf(one, atMs));
        return truths.includes(sessionState) ? [] : wrong("session", sessionState, truths);
      }
      case "external": {
        const usd = observation.externalPriceUsd;
        this.elsewhere.set(symbol, usd);
        const tick = tickUsd(truth.rules.get(symbol)!);
        const truths = states.map(({ oracleTicks }) => oracleTicks);
        // A candle that cannot be understood costs itself: one before it, maybe of before the beginning, counts as the newest.
        return usd === null || isGarbled || truths.includes(Math.round(usd / tick))
          ? []
          : wrong("price elsewhere", Math.round(usd / tick), truths);
      }
      case "depth": {
        const { bidDepth50BpsUsd: bid, askDepth50BpsUsd: ask, bid: bestBid, ask: bestAsk } = observation;
        const seen: Depth = { bid, ask, bestBid, bestAsk };
        this.depths.set(symbol, seen);
        const near = (one: number, other: number) => Math.abs(one - other) <= 1e-9 * Math.abs(other);
        const truths: string[] = [];
        for (const one of depthsAt(truth, symbol, fromMs, atMs)) {
          if (sides.every((side) => near(seen[side], one[side]))) return [];
          truths.push(textOf(one));
        }
        return wrong("depth", textOf(seen), truths);
      }
    }
  }

  #compare(): void {
    const powers = [...this.#settled].flatMap(([symbol, settled]) => {
      const stated = this.#stated.get(symbol) ?? 0;
      return stated === 0 || Math.abs(settled) < leastRate ? [] : [Math.log10(Math.abs(stated / settled))];
    });
    if (powers.length < fewestCompared) return;
    powers.sort((a, b) => a - b);
    const middle = (powers[(powers.length - 1) >> 1]! + powers[powers.length >> 1]!) / 2;
    // Nearer to a hundred times the settled rates than to their own size.
    if (middle >= 1.3) this.#unitKnown = true;
  }
}
