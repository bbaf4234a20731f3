/**
 * Incidents: to those who read them, each account that becomes critical is in a message that calls, which leaves within 5 s, and there are
 * hardly more such messages than accounts. Times are the daemon's, ms.
 */
import { type AlertChange, isTaking } from "../../../src/domain/alerts/alert.ts";
import type { DeliveryItem } from "../../../src/domain/alerts/delivery.ts";
import type { Outcome } from "../scenario.ts";
import { durationMs } from "./duration.ts";
import { type Finding, timeOf } from "./finding.ts";
import { committedOf } from "./lives.ts";

/** Shipped rules about liquidation distance, margin and loss. */
const rules: ReadonlySet<string> = new Set([
  ...["LiquidationNear", "AccountLiquidationNear", "MarginHigh", "OrdersMayBeCancelled"],
  ...[
    "NearLiquidationAfterHours",
    "AccountLiquidatable",
    "Drawdown",
    "LosingFast",
    "DailyLoss",
    "WhaleNearLiquidation",
  ],
]);

/** The longest time for which news is gathered. */
export const gatheredMs = 5_000;
const editedMs = 5_000;
const quietMs = 300_000;
const recoveredMs = 1_800_000;
/** A crash, in which so many messages are allowed beside those of accounts. */
const crashMs = 120_000;
const others = 4;

type Sections = Readonly<Record<string, unknown>>;

/** The type of a channel's settings. */
function typeOf({ channels }: Sections, receiver: string): string {
  const known = channels as Readonly<Record<string, { readonly type: string } | undefined>>;
  return known[receiver]?.type ?? "webhook";
}

/** True if a receiver is told incidents: people read it. */
export function readsIncidents(sections: Sections, receiver: string): boolean {
  return typeOf(sections, receiver) !== "webhook";
}

/** True if word of an alert to a receiver may belong to an incident. */
export function maybeOfIncident(
  sections: Sections,
  { rule, event }: AlertChange["alert"],
  receiver: string,
): boolean {
  return !event && rules.has(rule) && readsIncidents(sections, receiver);
}

/** The longest time for which word of an alert in an incident waits, ms. */
export function mostOfIncidentMs(sections: Sections, { kind }: AlertChange, item: DeliveryItem): number {
  if (item.quiet !== true) return gatheredMs;
  if (typeOf(sections, item.receiver) === "telegram") return editedMs;
  return kind === "ended" || kind === "fell" ? recoveredMs : quietMs;
}

const accountOf = (subject: string): string => subject.split("/").slice(0, 2).join("/");

interface Called {
  readonly atMs: number;
  readonly releaseAtMs: number;
}

export function judgeIncidents({ log, sections: [first] }: Outcome): readonly Finding[] {
  const sections = first!;
  const { receivers, routes = [] } = sections.routing as {
    readonly receivers: readonly string[];
    readonly routes?: readonly unknown[];
  };
  const everyMs = durationMs(
    (sections.remind as { readonly critical: { readonly every: string } }).critical.every,
  );
  const findings: Finding[] = [];
  for (const receiver of receivers.filter((one) => readsIncidents(sections, one))) {
    /** The critical alerts of each account that it was told of. */
    const critical = new Map<string, Set<number>>();
    const calls: Called[] = [];
    /** Times at which something happened that calls. */
    const causes: number[] = [];
    for (const { changes, atMs: committedMs } of committedOf(log)) {
      const items = new Map(
        changes.deliveryItems
          .filter((item) => item.receiver === receiver && item.status === "owed")
          .map((item) => [item.changeId, item]),
      );
      for (const change of changes.alertChanges) {
        const { id, alertId, kind, alert, atMs } = change;
        if (alert.shadow || !maybeOfIncident(sections, alert, receiver)) continue;
        const account = accountOf(alert.subject);
        const known = critical.get(account) ?? new Set<number>();
        critical.set(account, known);
        const item = items.get(id);
        const isNew = known.size === 0;
        const isCritical = alert.severity === "critical" && kind !== "ended";
        if (item && isCritical && isNew && item.quiet)
          findings.push({
            ...{ check: "incidents", rule: alert.rule, subject: alert.subject, atMs: committedMs },
            expected: `a message that calls ${receiver}: nothing critical of ${account} was told before`,
            seen: `item ${item.id} is quiet (alert ${alertId} ${kind}: ${alert.summary})`,
          });
        if (isCritical && item) known.add(alertId);
        else if (!isCritical) known.delete(alertId);
        if (item && !item.quiet && alert.severity === "critical")
          calls.push({ atMs, releaseAtMs: item.releaseAtMs ?? item.owedAtMs });
        if ((isNew && isCritical) || alert.rule === "AccountLiquidatable" || isOver(change, critical))
          causes.push(atMs);
      }
    }
    const most = others * (1 + routes.length) + Math.ceil(crashMs / everyMs);
    findings.push(...tooMany(receiver, calls, causes, most));
  }
  return findings;
}

/** True if the exchange took something, or nothing critical is left. */
function isOver({ kind, alert }: AlertChange, critical: ReadonlyMap<string, ReadonlySet<number>>): boolean {
  if (kind !== "ended" && kind !== "fell") return false;
  if (isTaking(alert.ending) || alert.ending === "flipped" || alert.ending === "noLongerWatched") return true;
  return [...critical.values()].every((ids) => ids.size === 0);
}

function tooMany(
  receiver: string,
  calls: readonly Called[],
  causes: readonly number[],
  most: number,
): Finding[] {
  const messages = [...new Set(calls.map(({ releaseAtMs }) => releaseAtMs))].sort((a, b) => a - b);
  for (const [index, fromMs] of messages.entries()) {
    const toMs = fromMs + crashMs;
    const count = messages.slice(index).filter((ms) => ms <= toMs).length;
    const allowed = causes.filter((ms) => ms >= fromMs - gatheredMs && ms <= toMs).length + most;
    if (count <= allowed) continue;
    return [
      {
        ...{ check: "incidents", rule: "", subject: receiver, atMs: fromMs },
        expected: `at most ${allowed} messages that call within 120 s from ${timeOf(fromMs)}`,
        seen: `${count}`,
      },
    ];
  }
  return [];
}
