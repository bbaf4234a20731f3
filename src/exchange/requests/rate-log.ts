/** Log lines about the rate that the exchange grants: limits that last, their end, and the rate that was settled on. */
import { formatDurationMs } from "../../domain/text/duration.ts";
import type { RequestBudget } from "./budget.ts";

/** Shorter limits are those of a limiter that waits for its next token. */
const MIN_LOGGED_MS = 3_000;

export interface RateLogger {
  info(fields: object, message: string): void;
}

export function logRate(budget: RequestBudget, log: RateLogger): void {
  budget.onLimit((limited, lastedMs) => {
    if (limited || lastedMs < MIN_LOGGED_MS) return;
    const forMs = Math.round(lastedMs);
    log.info({ forMs }, `the exchange takes requests again after ${formatDurationMs(forMs)} of 429 answers`);
  });
  budget.onSettled((perSecond) => {
    const rate = rounded(perSecond);
    const ceiling = budget.ceilingPerSecond;
    const of = ceiling === null ? "" : ` of the ${ceiling} that the configuration allows`;
    log.info({ requestsPerSecond: rate }, `the exchange grants about ${rate} requests a second${of}`);
  });
}

function rounded(perSecond: number): number {
  return Number(perSecond.toPrecision(2));
}
