/** The `schedules:` section: the read interval of each resource. */
import { z } from "zod";
import { type Source, sourceRow, sources } from "../domain/sources.ts";
import { parseDurationMs } from "../domain/text/duration.ts";
import { CronSchedule, cronProblem } from "./schedule/calendar.ts";

/** Minimum interval, ms. */
const minIntervalMs = 100;

const duration = z.string().transform((text, context) => {
  const ms = parseDurationMs(text);
  if (ms === undefined || ms < minIntervalMs) {
    context.addIssue({
      code: "custom",
      message: ms === undefined ? "has to be a duration such as 5s, 10m or 1h30m" : "has to be 100ms or more",
      input: text,
    });
    return z.NEVER;
  }
  return ms;
});

const interval = z
  .strictObject({ every: duration })
  .transform(({ every }) => ({ kind: "interval" as const, everyMs: every, atRiskMs: null as number | null }));

const calendar = z.strictObject({ cron: z.string(), timezone: z.string().default("UTC") });

const cron = calendar
  .superRefine(({ cron, timezone }, context) => {
    const problem = cronProblem(cron, timezone);
    if (problem) context.addIssue({ code: "custom", message: problem, path: ["cron"], input: cron });
  })
  .transform(({ cron, timezone }) => ({ kind: "calendar" as const, cron, timezone }));

/** `atRisk` is the interval of wallets whose margin ratio is above 0.5. */
const riskInterval = z
  .strictObject({ every: duration, atRisk: duration.optional() })
  .refine(({ every, atRisk }) => atRisk === undefined || atRisk <= every, {
    path: ["atRisk"],
    message: "is for wallets at risk: at most as long as every",
  })
  .transform(({ every, atRisk }) => ({
    kind: "interval" as const,
    everyMs: every,
    atRiskMs: atRisk ?? null,
  }));

/** `whenStreaming` is the interval while the stream delivers the same data. */
const streamedInterval = z
  .strictObject({ every: duration, whenStreaming: duration.optional() })
  .refine(({ every, whenStreaming }) => whenStreaming === undefined || whenStreaming >= every, {
    path: ["whenStreaming"],
    message: "is for when polls are needed less: at least as long as every",
  })
  .transform(({ every, whenStreaming }) => ({
    kind: "interval" as const,
    everyMs: every,
    atRiskMs: null as number | null,
    ...(whenStreaming === undefined ? {} : { whenStreamingMs: whenStreaming }),
  }));

export type Schedule =
  | (z.output<typeof interval> & { readonly whenStreamingMs?: number })
  | z.output<typeof cron>;

/** States both allowed forms if a schedule is neither. */
function schedule<S extends z.ZodType<z.output<typeof interval>>>(every: S) {
  return z.unknown().transform((value, context): Schedule => {
    const form = typeof value === "object" && value !== null && "cron" in value ? cron : every;
    const parsed = form.safeParse(value);
    if (parsed.success) return parsed.data;
    for (const issue of parsed.error.issues) context.addIssue({ ...issue } as never);
    return z.NEVER;
  });
}

function usual(source: Source) {
  const { every, atRisk, whenStreaming } = sourceRow(source);
  if (atRisk !== undefined) return schedule(riskInterval).prefault({ every, atRisk });
  if (whenStreaming !== undefined) return schedule(streamedInterval).prefault({ every, whenStreaming });
  return schedule(interval).prefault({ every });
}

export const scheduleSettings = z.strictObject(
  Object.fromEntries(sources.map((source) => [source, usual(source)])) as Record<
    Source,
    ReturnType<typeof usual>
  >,
);

export type ScheduleSettings = z.output<typeof scheduleSettings>;

/** Returns the regular interval, ms; of a calendar the time between its next two runs. */
export function scheduleMs(schedule: Schedule, nowMs: number): number {
  if (schedule.kind === "interval") return schedule.everyMs;
  const times = new CronSchedule(schedule.cron, schedule.timezone);
  const first = times.next(nowMs);
  const second = first === null ? null : times.next(first);
  return first === null || second === null ? 365 * 86_400_000 : second - first;
}

/**
 * Returns the longest regular interval between two polls, ms: with streams polls are the fallback, and may be further
 * apart.
 */
export function maxIntervalMs(schedule: Schedule, nowMs: number, streams: boolean): number {
  const usualMs = scheduleMs(schedule, nowMs);
  if (!streams || schedule.kind !== "interval") return usualMs;
  return Math.max(usualMs, schedule.whenStreamingMs ?? 0);
}

/**
 * The minimum interval against which the freshness of a source is measured, ms. Settings of markets and the status of
 * the exchange are read often, to report a change soon, and change rarely: their data is not stale if one read is late.
 */
const minFreshnessMs: ReadonlyMap<Source, number> = new Map<Source, number>([
  ["marketConfig", 10 * 60_000],
  ["exchangeStatus", 30_000],
]);

/** Returns the interval against which a source's freshness is measured, ms. */
export function freshnessMs(source: Source, everyMs: number): number {
  return Math.max(everyMs, minFreshnessMs.get(source) ?? 0);
}

/**
 * Returns, by source, the interval against which the watch measures freshness. @param streams true if there may be
 * streams
 */
export function schedulesMs(
  settings: ScheduleSettings,
  nowMs: number,
  streams = false,
): Record<Source, number> {
  return Object.fromEntries(
    Object.entries(settings).map(([source, one]) => [
      source,
      freshnessMs(source as Source, maxIntervalMs(one, nowMs, streams)),
    ]),
  ) as Record<Source, number>;
}
