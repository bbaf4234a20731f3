/**
 * Trading hours of the needed markets. A market without a calendar trades around the clock; the exchange refuses the
 * request then, which is repeated only a day later. A transition is read when it is due, not an hour later.
 */
import type { Clock } from "../../domain/clock.ts";
import { ExchangeError } from "../../exchange/index.ts";
import type { BadRecords } from "../anomalies/bad-records.ts";
import type { ExchangeCollector } from "../collector.ts";
import { alwaysOpen, type SessionNow, sessionOf } from "../translate/calendars.ts";
import { eachMarket, isWanted, type MarketReadParts, marketsToRead } from "./by-market.ts";

const dayMs = 24 * 3_600_000;
/** Time for the exchange to process a transition, and the delay before another try, ms. */
const processedAfterMs = 2_000;
const retryAfterMs = 30_000;
/** Maximum wait for a transition that the exchange has not processed, ms. */
const maxLateMs = 10 * 60_000;

export interface CalendarParts extends MarketReadParts {
  readonly badRecords: BadRecords;
  readonly clock: Clock;
  /** Requests a run of this collector soon. */
  readonly ask: () => void;
}

/** @returns the collector, and a function that stops its wait for a transition */
export function calendarsCollector(parts: CalendarParts): {
  readonly collector: ExchangeCollector;
  readonly stop: () => void;
} {
  const { badRecords, clock, ask } = parts;
  const onUnknown = (field: string, word: string) =>
    badRecords.unknownWord("nextMarketCalendarTransition", field, word);
  /** The markets known to have no calendar, with the time of that answer, monotonic ms. */
  const without = new Map<string, number>();
  let cancel: () => void = () => {};
  let stopped = false;

  /** @param nextMs the reported transitions, ms */
  function waitFor(nextMs: readonly number[]): void {
    cancel();
    if (stopped) return;
    const now = clock.nowMs();
    const waits = nextMs.flatMap((ms) => {
      if (ms > now) return [ms - now + processedAfterMs];
      return now - ms <= maxLateMs ? [retryAfterMs] : [];
    });
    // Transitions later than a day are reported again before they are due.
    const waitMs = Math.min(dayMs, ...waits);
    if (waits.length > 0) cancel = clock.after(waitMs, ask);
  }

  function knownWithout(symbol: string): boolean {
    const sinceMs = without.get(symbol);
    return sinceMs !== undefined && clock.elapsedMs() - sinceMs < dayMs;
  }

  /** Returns true if a refusal means that there is no calendar. A commodity has one: its refusal is a failed read. */
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
      const observeSession = (symbol: string, session: SessionNow) =>
        observe({ kind: "calendar", atMs: nowMs(), symbol, ...session });
      // Markets without a request do not show that the exchange answers.
      const unknown = symbols.filter((symbol) => !knownWithout(symbol));
      for (const symbol of symbols) if (knownWithout(symbol)) await observeSession(symbol, alwaysOpen);
      await eachMarket(run, "calendars", unknown, async (symbol) => {
        try {
          const record = await client.nextMarketCalendarTransition({ symbol }, call());
          without.delete(symbol);
          if (record.utcNextTransition !== null) transitions.push(record.utcNextTransition);
          return observeSession(symbol, sessionOf(record, nowMs(), onUnknown));
        } catch (error) {
          if (!(error instanceof ExchangeError) || !hasNone(symbol, error)) throw error;
          without.set(symbol, clock.elapsedMs());
          return observeSession(symbol, alwaysOpen);
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
