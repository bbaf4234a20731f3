/**
 * Reads the exchange on schedules, and translates its answers into observations.
 *
 *   collectors.ts     the composition of all parts
 *   schedule/         when each collector runs, for which wallet (scheduler.ts); requests a second against the ceiling (demand.ts)
 *   collectors/       one file a resource; collector.ts: their interface
 *   translate/        records into domain types; pure
 *   paging/           histories without gaps and repeats; event-publisher.ts: their new events
 *   stream/           stream data, in addition to polls (feed.ts)
 *   anomalies/        records that do not match the contract, and answers that repeat
 *   reporter.ts       failures, each logged once
 *   settings.ts       the `schedules:` section
 */
export type { BadRecord } from "./anomalies/bad-records.ts";
export type { CollectedWallet } from "./collector.ts";
export type { WantedMarkets } from "./collectors/by-market.ts";
export * from "./collectors.ts";
export type { CollectLog } from "./log.ts";
export { BadCron, CronSchedule, cronProblem } from "./schedule/calendar.ts";
export { type Demand, type DemandInput, demandOf, type SourceDemand } from "./schedule/demand.ts";
export * from "./settings.ts";
