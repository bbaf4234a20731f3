/**
 * Reads the exchange on schedules, and translates its answers into observations.
 *
 *   collectors.ts     the composition of all parts
 *   scheduler.ts      when each collector runs, for which wallet; job.ts, run.ts, wheel.ts, calendar.ts, backoff.ts: its parts
 *   demand.ts         requests a second against the ceiling, and the resulting intervals
 *   collectors/       one file a resource; collector.ts: their interface
 *   translate/        records into domain types; pure
 *   paging.ts         histories without gaps and repeats; event-publisher.ts: their new events
 *   stream-feed.ts    stream data, in addition to polls; live-prices.ts, coalesce.ts, spread-asks.ts: its parts
 *   reporter.ts, bad-records.ts   failures, each logged once
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
