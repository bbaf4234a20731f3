/**
 * Asking the exchange on schedules, and turning its answers into observations.
 *
 *   collectors.ts     all of it, put together
 *   scheduler.ts      when each collector runs, for which wallet; job.ts, run.ts, wheel.ts, calendar.ts, backoff.ts: its parts
 *   demand.ts         requests a second against the ceiling, and the intervals that follow
 *   collectors/       one file a resource; collector.ts: what one is
 *   translate/        records into the house's words; pure
 *   paging.ts         histories without holes and repeats; event-publisher.ts: what is new of them
 *   stream-feed.ts    what the stream tells, beside the polls; live-prices.ts, coalesce.ts, spread-asks.ts: its parts
 *   reporter.ts, bad-records.ts   what goes wrong, said once
 *   settings.ts       the `schedules:` section
 */
export type { BadRecord } from "./bad-records.ts";
export { BadCron, CronSchedule, cronProblem } from "./calendar.ts";
export type { CollectedWallet } from "./collector.ts";
export type { WantedMarkets } from "./collectors/by-market.ts";
export * from "./collectors.ts";
export { type Demand, type DemandInput, demandOf, type SourceDemand } from "./demand.ts";
export type { CollectLog } from "./log.ts";
export * from "./settings.ts";
