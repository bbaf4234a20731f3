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
 * Alerts of which word is held are left out of what is the last. The incident is over with the last of its alerts. While nothing
 * critical in it fires, alerts of it that get worse are told by themselves, and no others join quietly.
 */
import { z } from "zod";
import {
  type Alert,
  type AlertChangeKind,
  isTaking,
  type Severity,
  severities,
  severityRank,
} from "../../domain/alert.ts";
import { keptNumber } from "../../domain/kept.ts";

/** New members join until so long after the last one that was critical, ms. */
export const joinsForMs = 1_800_000;
/** News joins what is being gathered; the next gathering takes so long, ms, step by step while the incident grows. */
const gatherMs = [1_000, 2_000, 4_000, 5_000] as const;
/** A distance below this is as good as none: that it halved is no news. */
const leastHalved = 0.005;
/** Without news for so long gathering begins anew, ms. */
const calmMs = 60_000;
/** An escalation that is told again within this of a notifying message is of that same moment, ms. */
const repeatMs = 15_000;
/** Quiet changes are collected for so long before an edit, ms. */
const editAfterMs = 5_000;
/** A channel that cannot edit takes quiet changes with its next message, and at the latest after so long, ms. */
const quietForMs = 300_000;
/** Recoveries wait there for the last one, and no longer than this, ms. */
const recoveryForMs = 1_800_000;

export interface Member {
  readonly account: string;
  /** Somebody takes care of it. Left out: nobody does. */
  readonly acknowledged?: true;
  readonly severity: Severity;
  /** Its distance to liquidation; null: its value is none. */
  readonly distance: number | null;
}

/** Kept in history as JSON. */
export interface Incident {
  /** The group of its items: the same for all of them, of no other incident. */
  readonly groupKey: string;
  /** The alerts in it that fire, by number. */
  readonly members: Readonly<Record<string, Member>>;
  /** Accounts that were told as critical, and are. */
  readonly accounts: readonly string[];
  /** The time at which an alert joined it as critical last, ms. */
  readonly joinedMs: number;
  /** The time of the last news, ms. */
  readonly notifiedMs: number;
  /** The worst distance in it then; null: none was known. */
  readonly shown: number | null;
  /** The time at which what is being gathered leaves, ms; it left where that is past. */
  readonly gatheredMs: number;
  /** The number of gatherings since it was calm. */
  readonly step: number;
  /** The alerts of it, by number, of whose end or fall its receiver is notified later, as that is held. Left out: none. */
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

/** A change with what the incident has to know of it. */
export interface Step {
  readonly change: ChangeOfMember;
  readonly account: string;
  /** The value is a distance to liquidation. */
  readonly isDistance: boolean;
  /** The rule goes by the exchange's word for what it may do to an account. */
  readonly isTier: boolean;
  /** An acknowledgement became void by it. */
  readonly voids: boolean;
  /** It was held until now, with whatever came before it. */
  readonly released: boolean;
  /** The interval of reminders at its level, ms. */
  readonly remindMs: number;
  /** The receiver can edit what it was sent. */
  readonly edits: boolean;
  /** True if word of an alert in it would be held now. */
  readonly isHeld: (alertId: number) => boolean;
  readonly nowMs: number;
}

export interface Stepped {
  readonly incident: Incident;
  /** Null: nobody needs to be told, the incident was reported just now. */
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

/** True if an alert that becomes critical joins it. */
export function isOpen({ joinedMs }: Incident, nowMs: number): boolean {
  return nowMs - joinedMs <= joinsForMs;
}

/** True if something critical in it fires: what is lesser joins it then, quietly. */
export function isLive({ members }: Incident): boolean {
  for (const id in members) if (members[id]!.severity === "critical") return true;
  return false;
}

/** True if a change is told in it while nothing critical fires there: what gets worse and is not critical is told by itself. */
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
  return { ...noteUntold(incident, alert), awaited: [...awaited.filter((one) => one !== id), id] };
}

function withoutAwaited(incident: Incident, id: number): Incident {
  const { awaited, ...rest } = incident;
  if (!awaited?.includes(id)) return incident;
  return awaited.length === 1 ? rest : { ...rest, awaited: awaited.filter((one) => one !== id) };
}

/**
 * @returns the incident after a change of which its receiver is not notified: what recovered in it is news when it is critical anew;
 * what got worse is news when it is released
 */
export function noteUntold(
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
  // One that recovered is news again.
  const isKept = (one: string) => one !== account || isCritical(one, all);
  const { accounts } = incident;
  return { ...incident, members: all, accounts: accounts.every(isKept) ? accounts : accounts.filter(isKept) };
}

/** The worst distance is that of what is left: the half of it is news. */
function withoutRecovered(incident: Incident): Incident {
  const { shown, members } = incident;
  const worst = worstOf(members);
  return shown === null || worst === null || worst <= shown ? incident : { ...incident, shown: worst };
}

/** A clock that was fast before puts nothing off. */
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
      // An acknowledgement covers what it was given for, and no further alert of the account.
      if (isTakenCareOf(account, before.members)) return "gathered";
      return !before.accounts.includes(account) || isTier || isWorse(before, members) ? "gathered" : "quiet";
    case "worsened":
    case "changed":
      return voids || isOverdue || (critical && isWorse(before, members)) ? "gathered" : "quiet";
    case "escalated":
      if (!before.accounts.includes(account)) return "atOnce";
      // The first alert of an account told them of it; a repeat of that one is to wake.
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

/** True if nothing critical, or nothing at all, is left of which word is not held. */
function isLast({ members: before, awaited }: Incident, after: Incident["members"], step: Step): boolean {
  const { isHeld, released } = step;
  const { id: own } = step.change.alert;
  const left = Object.entries(after).filter(([id]) => Number(id) === own || !isHeld(Number(id)));
  if (left.length === 0) return true;
  // A fall that was held was told to nobody.
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

/** True if each critical alert of an account is acknowledged. */
function isTakenCareOf(account: string, members: Incident["members"]): boolean {
  const critical = Object.values(members).filter(
    (one) => one.account === account && one.severity === "critical",
  );
  return critical.length > 0 && critical.every(({ acknowledged }) => acknowledged === true);
}

/** True if the worst distance halved since the last news, or is nothing where it was something. */
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
  const told = { ...next, accounts, notifiedMs: nowMs, shown: worstOf(next.members) ?? next.shown };
  const isFirst = before.accounts.length === 0;
  // Items owed in one observation leave together, whatever the time to gather.
  const isGathering = before.gatheredMs >= nowMs;
  if (isGathering && news === "gathered")
    return { incident: told, leaves: { atMs: before.gatheredMs, quiet: false } };
  if (isFirst || news === "atOnce") {
    const leaves = { atMs: nowMs, quiet: false };
    return { incident: { ...told, gatheredMs: nowMs }, leaves };
  }
  const at = nowMs - before.gatheredMs > calmMs ? 0 : Math.min(before.step, gatherMs.length - 1);
  const gatheredMs = nowMs + gatherMs[at]!;
  return { incident: { ...told, gatheredMs, step: at + 1 }, leaves: { atMs: gatheredMs, quiet: false } };
}
