/**
 * Trading hours of the markets that somebody needs. A market without a calendar trades around the clock; the exchange says
 * so with a refusal, which is asked for again only the day after. A transition is looked at when it is due, not an hour
 * later.
 */
import type { Clock } from "../../domain/clock.ts";
import { ExchangeError } from "../../exchange/index.ts";
import type { BadRecords } from "../bad-records.ts";
import type { ExchangeCollector } from "../collector.ts";
import { alwaysOpen, type SessionNow, sessionOf } from "../translate/calendars.ts";
import { eachMarket, isWanted, type MarketReadParts, marketsToRead } from "./by-market.ts";

const DAY_MS = 24 * 3_600_000;
/** The exchange gets this long to notice a transition itself, and this long again where it has not. */
const NOTICED_MS = 2_000;
const NOTICED_LATE_MS = 30_000;
/** A transition that the exchange has not noticed by then is not waited for. */
const LONGEST_LATE_MS = 10 * 60_000;

export interface CalendarParts extends MarketReadParts {
  readonly badRecords: BadRecords;
  readonly clock: Clock;
  /** Runs this collector soon. */
  readonly ask: () => void;
}

/** @returns the collector, and what stops its waiting for a transition */
export function calendarsCollector(parts: CalendarParts): {
  readonly collector: ExchangeCollector;
  readonly stop: () => void;
} {
  const { badRecords, clock, ask } = parts;
  const onUnknown = (field: string, word: string) =>
    badRecords.unknownWord("nextMarketCalendarTransition", field, word);
  /** Since when markets are known to have none, monotonic ms. */
  const without = new Map<string, number>();
  let cancel: () => void = () => {};
  let stopped = false;

  /** @param nextMs transitions that were told of, ms */
  function waitFor(nextMs: readonly number[]): void {
    cancel();
    if (stopped) return;
    const now = clock.nowMs();
    const waits = nextMs.flatMap((ms) => {
      if (ms > now) return [ms - now + NOTICED_MS];
      return now - ms <= LONGEST_LATE_MS ? [NOTICED_LATE_MS] : [];
    });
    // What is further away than a day is told of again before it comes.
    const waitMs = Math.min(DAY_MS, ...waits);
    if (waits.length > 0) cancel = clock.after(waitMs, ask);
  }

  function knownWithout(symbol: string): boolean {
    const sinceMs = without.get(symbol);
    return sinceMs !== undefined && clock.elapsedMs() - sinceMs < DAY_MS;
  }

  /** True if a refusal says that there is no calendar. A commodity has one: of it, it is a read that failed. */
  function hasNone(symbol: string, { status }: ExchangeError): boolean {
    return (status === 404 || status === 400) && (parts.book.of(symbol)?.commodityStatus ?? null) === null;
  }

  const collector: ExchangeCollector = {
    source: "calendars",
    scope: "exchange",
    isNeeded: () => isWanted(parts, "calendars"),
    async run(run) {
      const symbols = marketsToRead(parts, "calendars");
      if (symbols === null) return "later";
      const { client, call, nowMs, observe } = run;
      const transitions: number[] = [];
      const told = (symbol: string, session: SessionNow) =>
        observe({ kind: "calendar", atMs: nowMs(), symbol, ...session });
      // What is known without asking is no sign that the exchange answers.
      const unknown = symbols.filter((symbol) => !knownWithout(symbol));
      for (const symbol of symbols) if (knownWithout(symbol)) await told(symbol, alwaysOpen);
      await eachMarket(run, "calendars", unknown, async (symbol) => {
        try {
          const record = await client.nextMarketCalendarTransition({ symbol }, call());
          without.delete(symbol);
          if (record.utcNextTransition !== null) transitions.push(record.utcNextTransition);
          return told(symbol, sessionOf(record, nowMs(), onUnknown));
        } catch (error) {
          if (!(error instanceof ExchangeError) || !hasNone(symbol, error)) throw error;
          without.set(symbol, clock.elapsedMs());
          return told(symbol, alwaysOpen);
        }
      });
      waitFor(transitions);
      return "done";
    },
  };
  return {
    collector,
    stop() {
      stopped = true;
      cancel();
    },
  };
}
