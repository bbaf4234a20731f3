/** The changes that one message reports, in their order, and its title. Pure. */
import { type AlertChange, isTaking, severityRank } from "../../domain/alerts/alert.ts";
import { type DeliveryItem, type Folded, maxInFull } from "../../domain/alerts/delivery.ts";
import { announcementKey, unknownType } from "../../domain/event.ts";
import { accountOf } from "../incidents/incidents.ts";

/** One item with its change. */
export interface ReportedItem {
  readonly item: DeliveryItem;
  readonly change: AlertChange;
}

/**
 * @param items all that the message covers, oldest first
 * @returns the newest change of each alert, the worst first; every event
 */
export function reportedChanges(items: readonly ReportedItem[]): AlertChange[] {
  const distances = new Map(items.map(({ item, change }) => [change.id, item.distance]));
  return worstFirst(
    withoutRepeats(items.map(({ change }) => change)),
    ({ id }) => distances.get(id) ?? Number.POSITIVE_INFINITY,
  );
}

/**
 * Keeps only the newest of several changes of one alert, with the start of its condition. A receiver that was not
 * notified of the alert gets "fired", not "got worse"; a rise within the message is included. Each event is kept.
 */
function withoutRepeats(changes: readonly AlertChange[]): AlertChange[] {
  const last = new Map(changes.map((change) => [change.alertId, change]));
  return changes.flatMap((change) => {
    if (change.alert.event) return [change];
    if (last.get(change.alertId) !== change) return [];
    const before = changes.filter((one) => one.alertId === change.alertId && one !== change);
    return [{ ...change, kind: combinedKind(before, change) }];
  });
}

/**
 * Returns true for a message that begins with counts, and names one of each kind before the others: it is folded, or
 * has many events.
 */
export function isMany(changes: readonly AlertChange[], folded: Folded | null): boolean {
  return folded !== null || changes.filter(({ alert }) => alert.event).length > maxInFull;
}

/**
 * Orders the changes of a message. Of many, first the unforeseen ones, announcements and one of each rule and kind, up
 * to the number shown in full; then the rest. The order within each part does not change.
 */
export function inOrder(changes: readonly AlertChange[], folded: Folded | null): readonly AlertChange[] {
  if (!isMany(changes, folded)) return changes;
  const kinds = new Set<string>();
  const first = changes.filter(
    (change) => kinds.size < kinds.add(kindOf(change)).size || isNamedFirst(change),
  );
  const others = changes.filter((change) => !first.includes(change));
  const front = new Set([...first, ...others.slice(0, Math.max(0, maxInFull - first.length))]);
  return [...changes.filter((one) => front.has(one)), ...changes.filter((one) => !front.has(one))];
}

function kindOf({ alert: { rule, eventType } }: AlertChange): string {
  return JSON.stringify([rule, eventType]);
}

function isNamedFirst({ alert: { eventKey, eventType } }: AlertChange): boolean {
  return eventType?.startsWith(unknownType) === true || eventKey?.startsWith(announcementKey) === true;
}

/**
 * Sorts changes that began or got worse before continuing ones, and these before ends, level by level; then by distance
 * to liquidation; else in their order.
 */
function worstFirst(
  changes: readonly AlertChange[],
  distanceOf: (change: AlertChange) => number,
): AlertChange[] {
  const nearest = (a: AlertChange, b: AlertChange) => {
    const [one, other] = [distanceOf(a), distanceOf(b)];
    return one === other ? 0 : one - other;
  };
  return [...changes].sort((a, b) => urgency(b) - urgency(a) || nearest(a, b) || a.id - b.id);
}

function urgency({ kind, alert }: AlertChange): number {
  if (kind === "ended" && !isTaking(alert.ending)) return 0;
  const step = kind === "ended" ? 4 : kind === "fired" || kind === "rose" ? 3 : 2;
  return 10 * (severityRank[alert.severity] + 1) + (alert.event ? step + 1 : step);
}

/** Changes that do not show how an alert reached its current state. */
const steady: ReadonlySet<AlertChange["kind"]> = new Set(["worsened", "changed", "reminder", "rose"]);

function combinedKind(before: readonly AlertChange[], { kind, alert }: AlertChange): AlertChange["kind"] {
  if (!steady.has(kind)) return kind;
  if (before.some((one) => one.kind === "fired")) return "fired";
  const rose = before.some((one) => one.kind === "rose" && one.alert.severity === alert.severity);
  return rose ? "rose" : kind;
}

/** @param changes as `reportedChanges` returns them, the worst first */
export function titleOf(changes: readonly AlertChange[], folded: Folded | null): string {
  if (folded !== null) return `${plainTitle(changes)}; the worst: ${changes[0]!.alert.summary}`;
  const isEnd = changes.length > 1 && changes.every(({ kind }) => kind === "ended");
  return isEnd ? endTitle(changes) : plainTitle(changes);
}

/** Returns the title for the ends of several alerts, with their accounts if the title does not name a common wallet. */
function endTitle(changes: readonly AlertChange[]): string {
  const title = plainTitle(changes);
  const wallets = new Set(changes.map((one) => one.alert.wallet));
  if (wallets.size === 1 || wallets.has(null)) return title;
  return `${title} of ${namesOf(changes.map((change) => accountOf(change.alert)))}`;
}

/** Returns three names, or two and the number of the others. */
function namesOf(all: readonly string[]): string {
  const names = [...new Set(all)];
  const shown = names.slice(0, names.length > 3 ? 2 : 3);
  const last = names.length > shown.length ? `${names.length - shown.length} more` : shown.pop();
  return shown.length === 0 ? `${last}` : `${shown.join(", ")} and ${last}`;
}

function plainTitle(changes: readonly AlertChange[]): string {
  const { alert } = changes[0]!;
  if (changes.length === 1) return alert.summary;
  const all = (same: (change: AlertChange) => boolean) => changes.every(same);
  const ofWallet = alert.wallet !== null && all((one) => one.alert.wallet === alert.wallet);
  if (!all((one) => one.alert.rule === alert.rule)) {
    return `${changes.length} alerts${ofWallet ? ` of ${alert.wallet}` : ""}`;
  }
  const oneSubject = all((one) => one.alert.subject === alert.subject);
  const ofWhat = oneSubject ? ` of ${alert.subject}` : ofWallet ? ` of ${alert.wallet}` : "";
  return `${changes.length} × ${alert.rule}${ofWhat}`;
}
