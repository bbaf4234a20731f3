/**
 * Critical alerts about missing data that nobody acknowledged are reminded of when their interval is over, unless another one tells of
 * their wallet meanwhile. Times are the daemon's, ms.
 */
import { noDataRule, unreachableRule } from "../../../src/domain/alerts/built-in.ts";
import type { Outcome } from "../scenario.ts";
import { durationMs } from "./duration.ts";
import { type Finding, timeOf } from "./finding.ts";
import { type Decided, isTold, type Life, livesOf } from "./lives.ts";

/** Time is observed so often, and a reminder comes with it. */
const slackMs = 5_000;
/** One whose data are read again waits for its end for so long, and for its reminder with it. */
const endingMs = 25_000;
/** A longer time between two observations is a standstill. */
const stoodStillMs = 2_000;

const isNoData = ({ alert }: Decided): boolean =>
  !alert.event && (alert.rule === noDataRule || alert.rule === unreachableRule);

export function judgeReminded({ log, sections }: Outcome): readonly Finding[] {
  const { critical } = sections[0]!.remind as { readonly critical: { readonly every: string } };
  const everyMs = durationMs(critical.every);
  return livesOf(log).flatMap((life) => {
    const changes = life.changes.filter(isNoData);
    return changes.flatMap((change, index): Finding[] => {
      const { kind, alert, alertId, atMs, committedMs } = change;
      if (kind === "ended" || alert.severity !== "critical" || alert.acknowledgedAtMs !== null) return [];
      const dueMs = atMs + everyMs + slackMs;
      const others = changes.slice(index + 1);
      const next = others.find((one) => one.alertId === alertId);
      if (next !== undefined && next.atMs <= dueMs + (next.kind === "ended" ? endingMs : 0)) return [];
      if (!isWatched(life, atMs, dueMs) || otherStands(changes, change, dueMs)) return [];
      return [
        {
          ...{ check: "completeness", rule: alert.rule, subject: alert.subject },
          atMs: committedMs + everyMs + slackMs,
          expected: `a reminder of alert ${alertId}, which was told last at ${timeOf(atMs)}`,
          seen: `nothing by ${timeOf(dueMs)}, by the daemon's clock`,
        },
      ];
    });
  });
}

/** True if a life observed time without a break from one time to another. */
function isWatched({ told }: Life, fromMs: number, toMs: number): boolean {
  let lastMs = Number.POSITIVE_INFINITY;
  for (const one of told) {
    if (!isTold(one)) {
      if (one.fromMs <= toMs && one.toMs >= fromMs) return false;
      continue;
    }
    const { atMs } = one.observation;
    if (atMs >= fromMs && atMs - lastMs > stoodStillMs) return false;
    lastMs = lastMs === Number.POSITIVE_INFINITY ? atMs : Math.max(lastMs, atMs);
    if (lastMs >= toMs) return true;
  }
  return false;
}

/** True if at some time of the wait another alert about missing data fired, which may tell of both. */
function otherStands(changes: readonly Decided[], { alertId, atMs }: Decided, toMs: number): boolean {
  const last = new Map<number, Decided>();
  for (const one of changes) {
    if (one.alertId === alertId || one.atMs > toMs) continue;
    if (one.kind !== "ended" && one.atMs >= atMs) return true;
    last.set(one.alertId, one);
  }
  return [...last.values()].some((one) => one.kind !== "ended" || one.atMs >= atMs);
}
