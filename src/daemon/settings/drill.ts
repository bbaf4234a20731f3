/** The `drill:` section: the schedule of fire drills, and the time limit of a channel. */
import { z } from "zod";
import { CronSchedule, cronProblem } from "../../collect/schedule/calendar.ts";
import { type ConfigSource, durationSetting } from "../../config/index.ts";

export interface DrillSettings {
  /** Null: only on request. */
  readonly schedule: CronSchedule | null;
  readonly withinMs: number;
}

const defaultMs = 60_000;

/** @param timezone the configuration's */
export function readDrill(source: ConfigSource, timezone: string): DrillSettings | undefined {
  const section = z
    .strictObject({
      cron: z.string().optional(),
      timezone: z.string().default(timezone),
      within: durationSetting
        .refine((ms) => ms >= 1_000 && ms <= 3_600_000, "has to be between 1s and 1h")
        .optional(),
    })
    .superRefine(({ cron, timezone: zone }, context) => {
      const problem = cron === undefined ? null : cronProblem(cron, zone);
      if (problem) context.addIssue({ code: "custom", message: problem, path: ["cron"], input: cron });
    });
  const found = source.read(["drill"], section, {});
  if (found === undefined) return undefined;
  const { cron, timezone: zone, within } = found;
  return {
    schedule: cron === undefined ? null : new CronSchedule(cron, zone),
    withinMs: within ?? defaultMs,
  };
}
