/** The sixth stage: the report of how the daemon is doing, and what is made of it: digests, answers to commands and the page. */
import { CronSchedule } from "../../collect/schedule/calendar.ts";
import type { DigestSettings } from "../../deliver/digest/settings.ts";
import { Digest } from "../../deliver/index.ts";
import { DaemonReport } from "../answers/daemon-report.ts";
import { DaemonSource } from "../daemon-source.ts";
import { LoopLag } from "../loop-lag.ts";
import { Pace } from "../settings/pace.ts";
import { heartbeatOf, type LastTurn } from "../upkeep.ts";
import type { AnswerParts, CollectingParts } from "./parts.ts";

export function answersStage(of: CollectingParts): AnswerParts {
  const { settings, deps, log, clock, machine, startedMs, store, outbox } = of;
  const lastTurn: LastTurn = { atMs: null };
  const heartbeat = heartbeatOf(of, lastTurn);
  const pace = new Pace(settings, startedMs);
  const loopLag = new LoopLag(machine);
  const signer = deps.signer ?? { trouble: "" };
  const databasePath = settings.history.path;
  const report = new DaemonReport({ ...of, heartbeat, loopLag, pace, signer, databasePath });
  const digest = new Digest({
    ...{ store, clock, log, sender: of.sender, instance: of.instance, timezone: settings.timezone },
    post: (messages) => outbox.post(messages),
    schedule: settings.digest && digestSchedule(settings.digest, settings.timezone),
    receivers: settings.digest?.receivers ?? [],
    status: () => report.status(),
  });
  const source = new DaemonSource({ ...of, heartbeat, loopLag, pace, signer, databasePath, report, digest });
  return { report, digest, source, heartbeat, lastTurn, loopLag, pace };
}

/** The name distinguishes schedules. */
function digestSchedule({ cron, timezone: configured }: DigestSettings, fallback: string) {
  const timezone = configured ?? fallback;
  const schedule = new CronSchedule(cron, timezone);
  return { name: `${cron} ${timezone}`, next: (afterMs: number) => schedule.next(afterMs) };
}
