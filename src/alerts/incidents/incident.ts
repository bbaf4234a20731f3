/**
 * One incident: the alerts of liquidation distance, margin and loss that reach one receiver by one route while an account is
 * critical. Pure.
 *
 * A change in it is either news, which notifies, or an addition, which is quiet:
 *
 *   first critical alert ────────────────────────────► at once
 *   a further account critical ──────────────────────► with others that join, after 1, 2, 4, 5 s while it keeps growing
 *   the worst distance halved, or liquidatable ──────► with them
 *   liquidated, deleveraged, flipped, escalated ─────► at once
 *   a reminder ──────────────────────────────────────► once in its interval for the whole incident
 *   a further alert of an account, a lesser change ──► quiet
 *   a recovery ──────────────────────────────────────► quiet; those of the last critical alert and of the last alert notify
 *
 * Alerts whose notification is held do not count as the last ones. The incident is over with the last of its alerts.
 * While nothing critical in it fires, alerts of it that get worse are reported separately, and no others join quietly.
 */
import { z } from "zod";
import {
  type Alert,
  type AlertChangeKind,
  isTaking,
  type Severity,
  severities,
  severityRank,
} from "../../domain/alerts/alert.ts";
import { keptNumber } from "../../domain/stored/kept.ts";

/** Time after the last critical alert in which new members join, ms. */
export const joinsForMs = 1_800_000;
/**
 * News joins the current gathering; the next gathering takes this long, ms, one step further each time the incident
 * grows.
 */
const gatherMs = [1_000, 2_000, 4_000, 5_000] as const;
/** Distances below this count as 0: a further halving is no news. */
const leastHalved = 0.005;
/** Time without news after which the gathering steps start again, ms. */
const calmMs = 60_000;
/** An escalation reported again within this time after a notifying message belongs to the same moment, ms. */
const repeatMs = 15_000;
/** Time for which quiet changes are collected before an edit, ms. */
const editAfterMs = 5_000;
/** Maximum time after which a channel that cannot edit sends quiet changes, ms; earlier with its next message. */
const quietForMs = 300_000;
/** Maximum time for which recoveries wait there for the last one, ms. */
const recoveryForMs = 1_800_000;

export interface Member {
  readonly account: string;
  /** True if it is acknowledged. Left out: it is not. */
  readonly acknowledged?: true;
  readonly severity: Severity;
  /** Its distance to liquidation; null: its value is no distance. */
  readonly distance: number | null;
}

/** Kept in history as JSON. */
export interface Incident {
  /** The group of its items: equal for all of them and used by no other incident. */
  readonly groupKey: string;
  /** The alerts in it that fire, by number. */
  readonly members: Readonly<Record<string, Member>>;
  /** Accounts that were reported as critical and still are. */
  readonly accounts: readonly string[];
  /** The time at which an alert last joined it as critical, ms. */
  readonly joinedMs: number;
  /** The time of the last news, ms. */
  readonly notifiedMs: number;
  /** The worst distance at that time; null: none was known. */
  readonly shown: number | null;
  /** The time at which the current gathering leaves, ms; a past time: it has left. */
  readonly gatheredMs: number;
  /** The number of gatherings since the last calm. */
  readonly step: number;
  /** The alerts, by number, whose end or fall is reported to its receiver later, because it is held. Left out: none. */
  readonly awaited?: readonly number[];
}

export const keptIncident: z.ZodType<Incident> = z.object({
  groupKey: z.string(),
  members: z.record(
    z.string(),
    z.object({
      account: z.string(),
      acknowledged: z.literal(true).exactOptional(),
      severity: z.enum(severities),
      distance: keptNumber.nullable(),
    }),
  ),
  accounts: z.array(z.string()),
  joinedMs: keptNumber,
  notifiedMs: keptNumber,
  shown: keptNumber.nullable(),
  gatheredMs: keptNumber,
  step: keptNumber,
  awaited: z.array(keptNumber).exactOptional(),
});

/** A change of one of its alerts. */
export interface ChangeOfMember {
  readonly kind: AlertChangeKind;
  readonly alert: Pick<Alert, "id" | "severity" | "value" | "acknowledgedAtMs" | "ending">;
}

/** A change with the data that the incident needs. */
export interface Step {
  readonly change: ChangeOfMember;
  readonly account: string;
  /** True if the value is a distance to liquidation. */
  readonly isDistance: boolean;
  /** True if the rule uses the tier that the exchange states for the account. */
  readonly isTier: boolean;
  /** True if it made an acknowledgement void. */
  readonly voids: boolean;
  /** True if it was held until now, with any earlier changes. */
  readonly released: boolean;
  /** The interval of reminders at its level, ms. */
  readonly remindMs: number;
  /** True if the receiver can edit sent messages. */
  readonly edits: boolean;
  /** Returns true if a notification of an alert in it would be held now. */
  readonly isHeld: (alertId: number) => boolean;
  readonly nowMs: number;
}

export interface Stepped {
  readonly incident: Incident;
  /** Null: nobody is notified, because the incident was reported just now. */
  readonly leaves: { readonly atMs: number; readonly quiet: boolean } | null;
}

export function newIncident(groupKey: string, nowMs: number): Incident {
  const never = Number.MIN_SAFE_INTEGER;
  return {
    groupKey,
    members: {},
    accounts: [],
    joinedMs: nowMs,
    notifiedMs: never,
    shown: null,
    gatheredMs: never,
    step: 0,
  };
}

/** Returns true if an alert that becomes critical joins it. */
export function isOpen({ joinedMs }: Incident, nowMs: number): boolean {
  return nowMs - joinedMs <= joinsForMs;
}

/** Returns true if something critical in it fires: lesser alerts join it then, quietly. */
export function isLive({ members }: Incident): boolean {
  for (const id in members) if (members[id]!.severity === "critical") return true;
  return false;
}

/**
 * Returns true if a change is reported in it while nothing critical fires there: non-critical alerts that get worse are
 * reported separately.
 */
export function takes(incident: Incident, { kind, alert }: ChangeOfMember): boolean {
  return kind === "ended" || kind === "fell" || alert.severity === "critical" || isLive(incident);
}

/** @returns the incident without an alert that joined another one */
export function without(incident: Incident, id: number): Incident {
  return withMember(incident, id, null);
}

/** @returns the incident after a change of one of its alerts, and the time at which that leaves */
export function stepIncident(known: Incident, step: Step): Stepped {
  const { change, account, isDistance, nowMs } = step;
  const { id, severity, value } = change.alert;
  const incident = untilNow(known, nowMs);
  const before = incident.members[id];
  const own: Member = {
    ...{ account, severity },
    ...(change.alert.acknowledgedAtMs === null ? {} : { acknowledged: true as const }),
    distance: isDistance && Number.isFinite(value) ? value : null,
  };
  const joins =
    severity === "critical" && change.kind !== "ended" && before?.severity !== "critical"
      ? { joinedMs: nowMs }
      : {};
  const after = withMember(withoutAwaited(incident, id), id, change.kind === "ended" ? null : own);
  const next = { ...after, ...joins };
  const news = newsOf(incident, next, step);
  if (news === "none") return { incident: next, leaves: null };
  if (news === "quiet") return { incident: next, leaves: quietly(news, step) };
  if (news === "recovery") return { incident: withoutRecovered(next), leaves: quietly(news, step) };
  return notify(incident, next, news, step);
}

/** @returns the incident after a change of one of its alerts that is held */
export function noteHeld(incident: Incident, alert: Pick<Alert, "id" | "state" | "severity">): Incident {
  const { id } = alert;
  if (incident.members[id] === undefined) return incident;
  const { awaited = [] } = incident;
  return { ...noteUnreported(incident, alert), awaited: [...awaited.filter((one) => one !== id), id] };
}

function withoutAwaited(incident: Incident, id: number): Incident {
  const { awaited, ...rest } = incident;
  if (!awaited?.includes(id)) return incident;
  return awaited.length === 1 ? rest : { ...rest, awaited: awaited.filter((one) => one !== id) };
}

/**
 * @returns the incident after a change without notification of its receiver: a recovered alert is news when it is
 * critical again; a worse one is news when it is released
 */
export function noteUnreported(
  incident: Incident,
  { id, state, severity }: Pick<Alert, "id" | "state" | "severity">,
): Incident {
  const known = incident.members[id];
  if (known === undefined) return incident;
  if (state !== "ended" && severityRank[severity] >= severityRank[known.severity]) return incident;
  return withoutRecovered(withMember(incident, id, state === "ended" ? null : { ...known, severity }));
}

function withMember(incident: Incident, id: number, own: Member | null): Incident {
  const all = { ...incident.members };
  const account = (own ?? all[id])?.account;
  if (own === null) delete all[id];
  else all[id] = own;
  // An account that recovered is news again.
  const isKept = (one: string) => one !== account || isCritical(one, all);
  const { accounts } = incident;
  return { ...incident, members: all, accounts: accounts.every(isKept) ? accounts : accounts.filter(isKept) };
}

/** Sets the worst distance to that of the remaining alerts: half of it is news. */
function withoutRecovered(incident: Incident): Incident {
  const { shown, members } = incident;
  const worst = worstOf(members);
  return shown === null || worst === null || worst <= shown ? incident : { ...incident, shown: worst };
}

/** Limits stored times to now: a clock that was fast before postpones nothing. */
function untilNow(incident: Incident, nowMs: number): Incident {
  const { joinedMs, notifiedMs, gatheredMs } = incident;
  return {
    ...incident,
    joinedMs: Math.min(joinedMs, nowMs),
    notifiedMs: Math.min(notifiedMs, nowMs),
    gatheredMs: Math.min(gatheredMs, nowMs + gatherMs.at(-1)!),
  };
}

type News = "atOnce" | "gathered" | "quiet" | "recovery" | "none";

function newsOf(before: Incident, { members }: Incident, step: Step): News {
  const { change, account, voids, released, isTier, remindMs, nowMs } = step;
  const { kind, alert } = change;
  const isOverdue = nowMs - before.notifiedMs >= remindMs;
  const critical = alert.severity === "critical";
  switch (kind) {
    case "fired":
    case "rose":
      if (voids || isOverdue) return "gathered";
      if (!critical) return "quiet";
      // An acknowledgement does not cover a further alert of the account.
      if (isTakenCareOf(account, before.members)) return "gathered";
      return !before.accounts.includes(account) || isTier || isWorse(before, members) ? "gathered" : "quiet";
    case "worsened":
    case "changed":
      return voids || isOverdue || (critical && isWorse(before, members)) ? "gathered" : "quiet";
    case "escalated":
      if (!before.accounts.includes(account)) return "atOnce";
      // The first alert of an account reported it; a repeat of that alert notifies.
      return before.members[alert.id] !== undefined && nowMs - before.notifiedMs >= repeatMs
        ? "atOnce"
        : "quiet";
    case "reminder":
      if (before.notifiedMs === nowMs || isOverdue || voids) return "atOnce";
      if (critical && (!before.accounts.includes(account) || isWorse(before, members))) return "gathered";
      return released ? "quiet" : "none";
    case "acknowledged":
      return "quiet";
    case "fell":
    case "ended":
      if (isTaking(alert.ending) || alert.ending === "flipped") return "atOnce";
      if (alert.ending === "ruleChanged" || alert.ending === "noLongerWatched") return "atOnce";
      return isLast(before, members, step) ? "atOnce" : "recovery";
  }
}

/** Returns true if no critical alert, or no alert at all, remains whose notification is not held. */
function isLast({ members: before, awaited }: Incident, after: Incident["members"], step: Step): boolean {
  const { isHeld, released } = step;
  const { id: own } = step.change.alert;
  const left = Object.entries(after).filter(([id]) => Number(id) === own || !isHeld(Number(id)));
  if (left.length === 0) return true;
  // A held fall was not reported.
  const wasCritical = released || awaited?.includes(own) || before[own]?.severity === "critical";
  return wasCritical && left.every(([, { severity }]) => severity !== "critical");
}

function isCritical(account: string, members: Incident["members"]): boolean {
  for (const id in members) {
    const one = members[id]!;
    if (one.account === account && one.severity === "critical") return true;
  }
  return false;
}

/** Returns true if each critical alert of an account is acknowledged. */
function isTakenCareOf(account: string, members: Incident["members"]): boolean {
  const critical = Object.values(members).filter(
    (one) => one.account === account && one.severity === "critical",
  );
  return critical.length > 0 && critical.every(({ acknowledged }) => acknowledged === true);
}

/** Returns true if the worst distance halved since the last news, or became 0. */
function isWorse({ shown }: Incident, members: Incident["members"]): boolean {
  const worst = worstOf(members);
  if (worst === null) return false;
  if (shown === null) return true;
  return worst <= 0 ? shown > 0 : worst <= shown / 2 && shown > leastHalved;
}

function worstOf(members: Incident["members"]): number | null {
  let worst: number | null = null;
  for (const id in members) {
    const { distance } = members[id]!;
    if (distance !== null && (worst === null || distance < worst)) worst = distance;
  }
  return worst;
}

function quietly(news: "quiet" | "recovery", { edits, nowMs }: Step): { atMs: number; quiet: boolean } {
  const waitMs = edits ? editAfterMs : news === "recovery" ? recoveryForMs : quietForMs;
  return { atMs: nowMs + waitMs, quiet: true };
}

function notify(before: Incident, next: Incident, news: "atOnce" | "gathered", step: Step): Stepped {
  const { account, nowMs } = step;
  const named = isCritical(account, next.members) && !next.accounts.includes(account);
  const accounts = named ? [...next.accounts, account] : next.accounts;
  const reported = { ...next, accounts, notifiedMs: nowMs, shown: worstOf(next.members) ?? next.shown };
  const isFirst = before.accounts.length === 0;
  // Items created in one observation leave together, regardless of the gathering time.
  const isGathering = before.gatheredMs >= nowMs;
  if (isGathering && news === "gathered")
    return { incident: reported, leaves: { atMs: before.gatheredMs, quiet: false } };
  if (isFirst || news === "atOnce") {
    const leaves = { atMs: nowMs, quiet: false };
    return { incident: { ...reported, gatheredMs: nowMs }, leaves };
  }
  const at = nowMs - before.gatheredMs > calmMs ? 0 : Math.min(before.step, gatherMs.length - 1);
  const gatheredMs = nowMs + gatherMs[at]!;
  return { incident: { ...reported, gatheredMs, step: at + 1 }, leaves: { atMs: gatheredMs, quiet: false } };
}
