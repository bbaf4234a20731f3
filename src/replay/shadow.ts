/**
 * Reports the recorded alerts of rules in shadow mode, and the messages that they would have been: routed, throttled,
 * grouped and folded as live, for receivers that are not sent each alert separately. Past silences, mute times and
 * inhibitions are ignored.
 */

import { Incidents, incidentsOptions } from "../alerts/incidents/incidents.ts";
import type { ReportedItem } from "../alerts/pending/reported.ts";
import type { RemindSettings } from "../alerts/reminders/remind.ts";
import { groupReleaseMs, isUrgent } from "../alerts/routing/group.ts";
import { groupKeyOf, type Routing, waysFor } from "../alerts/routing/route.ts";
import type { Alert, AlertChange, AlertChangeKind, Severity } from "../domain/alerts/alert.ts";
import type { DeliveryItem } from "../domain/alerts/delivery.ts";
import type { Store } from "../domain/ports.ts";
import type { RuleSet } from "../rules/index.ts";
import { Delivery, type ReplayedMessage } from "./delivery.ts";

/** Kinds of changes that are sent. */
const sentKinds: ReadonlySet<AlertChangeKind> = new Set([
  "fired",
  "rose",
  "fell",
  "worsened",
  "changed",
  "reminder",
  "ended",
]);

export interface ShadowRule {
  readonly rule: string;
  /** The rule is in shadow mode now; false: it was removed since, or is live. */
  readonly isShadow: boolean;
  readonly alerts: number;
  /** Messages that would have reported an alert of the rule, one for each receiver. */
  readonly messages: number;
  readonly receivers: readonly string[];
}

export interface ShadowReport {
  readonly sinceMs: number;
  readonly rules: readonly ShadowRule[];
  /** Newest first. */
  readonly alerts: readonly Alert[];
}

export async function shadowReport(
  store: Pick<Store, "alerts" | "alertChanges">,
  { conditions, events }: RuleSet,
  { routing, remind }: { readonly routing: Routing; readonly remind: RemindSettings },
  sinceMs: number,
): Promise<ShadowReport> {
  const all = await store.alerts({ shadow: true });
  const alerts = all.filter((alert) => (alert.endedAtMs ?? Number.POSITIVE_INFINITY) >= sinceMs);
  const inShadow = [...conditions, ...events].filter(({ mode }) => mode === "shadow").map(({ name }) => name);
  const names = new Set([...inShadow, ...alerts.map(({ rule }) => rule)]);
  const changes: AlertChange[] = [];
  for (const { id } of alerts) {
    for (const change of await store.alertChanges({ alertId: id }))
      if (change.atMs >= sinceMs && sentKinds.has(change.kind)) changes.push(change);
  }
  const throttles = new Map(events.map(({ name, throttleMs }) => [name, throttleMs ?? 0]));
  const incidents = new Incidents(incidentsOptions(conditions, new Map()));
  const remindMs = (severity: Severity): number => {
    const pace = remind[severity];
    return pace === "never" ? Number.POSITIVE_INFINITY : pace.every;
  };
  const messages = messagesOf(throttled(changes, throttles), { routing, incidents, remindMs });
  const rules = [...names].map((rule): ShadowRule => {
    const own = messages.filter(({ changes: of }) => of.some(({ alert }) => alert.rule === rule));
    return {
      rule,
      isShadow: inShadow.includes(rule),
      alerts: alerts.filter((alert) => alert.rule === rule).length,
      messages: own.length,
      receivers: [...new Set(own.map(({ receiver }) => receiver))],
    };
  });
  return { sinceMs, rules, alerts };
}

/** A change at the time at which it becomes pending. */
interface PendingChange {
  readonly atMs: number;
  readonly change: AlertChange;
  /** The same key for changes that one throttle held back; null: the group of its route. */
  readonly groupKey: string | null;
}

/**
 * @param throttles by rule, ms; 0: none
 * @returns the changes in the order in which they become pending
 */
function throttled(
  changes: readonly AlertChange[],
  throttles: ReadonlyMap<string, number>,
): readonly PendingChange[] {
  const due: PendingChange[] = [];
  const running = new Map<string, { untilMs: number; held: AlertChange[] }>();
  const release = (key: string, throttleMs: number, nowMs: number): void => {
    for (let one = running.get(key); one !== undefined && one.untilMs <= nowMs; one = running.get(key)) {
      const { untilMs, held } = one;
      for (const change of held) due.push({ atMs: untilMs, change, groupKey: `throttle/${key}/${untilMs}` });
      if (held.length === 0) running.delete(key);
      else running.set(key, { untilMs: untilMs + throttleMs, held: [] });
    }
  };
  const throttleOf = ({ alert }: AlertChange) => (alert.event ? (throttles.get(alert.rule) ?? 0) : 0);
  const keyOf = ({ alert }: AlertChange) => `${alert.rule}/${alert.subject}`;
  for (const change of [...changes].sort((a, b) => a.id - b.id)) {
    const { atMs } = change;
    const throttleMs = throttleOf(change);
    if (throttleMs > 0) {
      const key = keyOf(change);
      release(key, throttleMs, atMs);
      const one = running.get(key);
      if (one !== undefined) {
        one.held.push(change);
        continue;
      }
      running.set(key, { untilMs: atMs + throttleMs, held: [] });
    }
    due.push({ atMs, change, groupKey: null });
  }
  for (const [key, { held }] of running)
    if (held.length > 0) release(key, throttleOf(held[0]!), Number.POSITIVE_INFINITY);
  return due.sort((a, b) => a.atMs - b.atMs);
}

interface MessageOptions {
  readonly routing: Routing;
  readonly incidents: Incidents;
  readonly remindMs: (severity: Severity) => number;
}

function messagesOf(
  all: readonly PendingChange[],
  { routing, incidents, remindMs }: MessageOptions,
): readonly ReplayedMessage[] {
  const messages: ReplayedMessage[] = [];
  const { stormFold } = routing;
  const delivery = new Delivery({ stormFold, onMessage: (message) => void messages.push(message) });
  const groups = new Map<string, number>();
  /** The receivers of each alert so far. */
  const receivers = new Map<number, ReadonlySet<string>>();
  let id = 0;
  const itemsOf = ({ atMs, change, groupKey }: PendingChange): readonly ReportedItem[] => {
    const { alertId, alert, kind } = change;
    const labels = labelsOf(alert);
    const ways = waysFor(routing, labels);
    const before = receivers.get(alertId);
    const routed = ways.flatMap((way) => way.receivers);
    // A receiver of the firing alert is notified that it fell or ended.
    const to = new Set((kind === "ended" || kind === "fell") && before !== undefined ? before : routed);
    if (kind !== "ended") receivers.set(alertId, new Set([...(before ?? []), ...to]));
    const itemOf = (
      receiver: string,
      key: string,
      leaves: { readonly atMs: number; readonly quiet: boolean },
    ): ReportedItem => {
      const item: DeliveryItem = {
        ...{ id: ++id, changeId: change.id, alertId, receiver, severity: alert.severity, owedAtMs: atMs },
        ...{ groupKey: key, releaseAtMs: leaves.atMs, status: "owed", messageId: null },
        ...(leaves.quiet ? { quiet: true as const } : {}),
      };
      return { item, change };
    };
    return [...to].flatMap((receiver) => {
      const way = ways.find((one) => one.receivers.includes(receiver)) ?? ways[0]!;
      const standing = {
        ...{ voids: false, released: false, remindMs: remindMs(alert.severity) },
        isHeld: () => false,
      };
      const placed =
        groupKey === null
          ? incidents.place({ change, receiver, way, labels, ...standing, nowMs: atMs })
          : null;
      if (placed?.leaves === null) return [];
      if (placed && placed.leaves !== "alone") return [itemOf(receiver, placed.groupKey, placed.leaves)];
      const key = groupKey ?? groupKeyOf(way, labels);
      const name = `${receiver}\n${key}`;
      const releaseAtMs =
        groupKey === null ? groupReleaseMs(groups.get(name), way, isUrgent(change), atMs) : atMs;
      if (groupKey === null) groups.set(name, releaseAtMs);
      return [itemOf(receiver, key, { atMs: releaseAtMs, quiet: false })];
    });
  };
  // All changes of one observation have the same time.
  for (const [atMs, due] of Map.groupBy(all, (one) => one.atMs))
    delivery.addPending(due.flatMap(itemsOf), atMs);
  delivery.finish();
  return messages;
}

function labelsOf({
  labels,
  severity,
  rule,
  wallet,
  symbol,
  subject,
}: Alert): Readonly<Record<string, string>> {
  return { ...labels, severity, rule, wallet: wallet ?? "", symbol: symbol ?? "", subject };
}
