/** The incidents of all receivers: which of them a change belongs to. Keeps them for history, and takes them back. */
import { z } from "zod";
import type { Alert } from "../../domain/alert.ts";
import { type Capacity, incidentGroup, type OwedItem } from "../../domain/delivery.ts";
import { KeptKind, type KeptValues } from "../../domain/kept.ts";
import { type Labels, labelOf } from "../routing/match.ts";
import type { Way } from "../routing/route.ts";
import { type Danger, dangerOf, type RuleInView } from "./danger.ts";
import {
  type ChangeOfMember,
  type Incident,
  isLive,
  isOpen,
  joinsForMs,
  keptIncident,
  newIncident,
  noteHeld,
  noteUntold,
  stepIncident,
  takes,
  without,
} from "./incident.ts";
import { OnCall } from "./on-call.ts";

export interface IncidentsOptions {
  /** The danger that a rule is about; null: its alerts belong into no incident. */
  readonly dangerOf: (rule: string) => Danger | null;
  /** True if this receiver is told incidents; else it is told each alert by itself. */
  readonly gathers: (receiver: string) => boolean;
  /** True if it can edit what it was sent. */
  readonly edits: (receiver: string) => boolean;
  /** True if it keeps one incident for each account. */
  readonly byAccount: (receiver: string) => boolean;
}

/** @param capacities of channels, by name: those that have none are told incidents, and cannot edit */
export function incidentsOptions(
  rules: readonly (RuleInView & { readonly name: string })[],
  capacities: ReadonlyMap<string, Capacity>,
): IncidentsOptions {
  const known = new Map(
    rules.flatMap((rule) => {
      const danger = dangerOf(rule);
      return danger === null ? [] : [[rule.name, danger] as const];
    }),
  );
  return {
    dangerOf: (rule) => known.get(rule) ?? null,
    gathers: (receiver) => capacities.get(receiver)?.apart !== true,
    edits: (receiver) => capacities.get(receiver)?.edits === true,
    byAccount: (receiver) => capacities.get(receiver)?.byAccount === true,
  };
}

/** A change of an alert that may be part of an incident. */
export interface Placeable extends ChangeOfMember {
  readonly alert: ChangeOfMember["alert"] & Pick<Alert, "rule" | "subject" | "event" | "drill">;
}

/** A change on its way to one receiver. */
export interface ToReceiver {
  readonly change: Placeable;
  readonly receiver: string;
  readonly way: Way;
  readonly labels: Labels;
  /** An acknowledgement became void by it. */
  readonly voids: boolean;
  /** It was held until now. */
  readonly released: boolean;
  /** The interval of reminders at its level, ms; infinite: there are none. */
  readonly remindMs: number;
  /** True if word of another alert to this receiver would be held now. */
  readonly isHeld: (alertId: number) => boolean;
  readonly nowMs: number;
}

/** The place of a change in its incident. */
export interface Placed {
  readonly groupKey: string;
  /** Null: its receiver needs no word of it. `alone`: it is told each alert by itself. */
  readonly leaves: { readonly atMs: number; readonly quiet: boolean } | "alone" | null;
  /** The distance to liquidation that its alert has now; null: its value is none. */
  readonly distance: number | null;
}

interface Kept {
  /** The receiver and the way, with the labels by which incidents are told apart, and the account where each has its own. */
  readonly name: string;
  readonly receiver: string;
  readonly incident: Incident;
}

/** By receiver and group key. */
export const keptIncidents: KeptKind<Kept> = new KeptKind(
  "incident/{}",
  z.object({ name: z.string(), receiver: z.string(), incident: keptIncident }),
);
/** A change that is held (a weekend's mute time) still finds its incident then, ms. */
const awaitedForMs = 7 * 86_400_000;

export class Incidents {
  readonly #options: IncidentsOptions;
  /** By receiver and group key. */
  readonly #all: Map<string, Kept>;
  /** Those that changed since `unkept`. */
  readonly #changed: Set<string>;
  readonly #onCall: OnCall;

  /** @param before those of the watch that is replaced at a reload */
  constructor(options: IncidentsOptions, before?: Incidents) {
    this.#options = options;
    this.#all = before ? before.#all : new Map();
    this.#changed = before ? before.#changed : new Set();
    this.#onCall = new OnCall(before ? before.#onCall : undefined);
  }

  /** @returns rows for history of the changes since it was asked last: one for each incident, however many its changes are */
  unkept(): readonly { readonly name: string; readonly value: string | null }[] {
    const rows = [...this.#changed].map((id) => keptIncidents.row(id, this.#all.get(id) ?? null));
    this.#changed.clear();
    return [...rows, ...this.#onCall.unkept()];
  }

  restore(keep: KeptValues): void {
    this.#onCall.restore(keep);
    for (const [id, kept] of keptIncidents.all(keep)) this.#all.set(id, kept);
  }

  /** @returns null where it belongs into no incident */
  place(to: ToReceiver): Placed | null {
    const { change, receiver, nowMs, voids, released, remindMs, isHeld } = to;
    const { alert } = change;
    if (alert.event || alert.drill) return null;
    const found = this.#of(receiver, alert.id) ?? this.#awaiting(receiver, change);
    const of = this.#options.dangerOf(alert.rule);
    // A rule that a reload took away ends its alerts, in their incident.
    if (of === null && found === undefined) return null;
    const kept = found === undefined ? this.#join(to) : this.#moved(found, to);
    if (kept === null) return null;
    const distance = of?.isDistance === true && Number.isFinite(alert.value) ? alert.value : null;
    const isApart = !this.#options.gathers(receiver);
    if (!takes(kept.incident, change))
      return isApart ? { groupKey: kept.incident.groupKey, leaves: "alone", distance } : null;
    if (this.#options.byAccount(receiver) && change.kind !== "ended")
      this.#onCall.join(receiver, accountOf(alert), alert);
    const { incident, leaves } = stepIncident(kept.incident, {
      ...{ change, voids, released, remindMs, isHeld, nowMs },
      account: accountOf(alert),
      isDistance: of?.isDistance === true,
      isTier: of?.isTier === true,
      edits: this.#options.edits(receiver),
    });
    this.#set({ ...kept, incident });
    return { groupKey: incident.groupKey, leaves: isApart ? "alone" : leaves, distance };
  }

  /** A change of an alert of which a receiver is notified later, as it is held. */
  noteHeld(alert: Alert, receiver: string): void {
    const kept = this.#of(receiver, alert.id);
    if (kept !== undefined) this.#set({ ...kept, incident: noteHeld(kept.incident, alert) });
  }

  /** An alert is over, whoever is told of that. */
  over(alert: Alert): void {
    this.#onCall.over(alert.id);
    for (const kept of this.#all.values())
      if (kept.incident.members[alert.id] !== undefined)
        this.#set({ ...kept, incident: noteUntold(kept.incident, alert) });
  }

  /** The incident of an alert's account, for a receiver that keeps one for each. */
  onCall(receiver: string, alertId: number): Pick<OwedItem, "onCall"> {
    const onCall = this.#onCall.of(receiver, alertId);
    return onCall === undefined ? {} : { onCall };
  }

  /** The times at which the incidents with a critical alert were last reported to each of these, ms; null: it is told by itself. */
  notifiedMs(alertId: number, receivers: readonly string[], nowMs: number): readonly (number | null)[] {
    return receivers.map((receiver) => {
      const incident = this.#of(receiver, alertId)?.incident;
      const told = incident?.members[alertId]?.severity === "critical" && this.#options.gathers(receiver);
      return told ? Math.min(incident.notifiedMs, nowMs) : null;
    });
  }

  /** Forgets those that nothing belongs to any more. */
  sweep(nowMs: number): void {
    this.#onCall.sweep(nowMs);
    for (const [id, { incident }] of this.#all) {
      const keptForMs = incident.awaited === undefined ? joinsForMs : awaitedForMs;
      if (Object.keys(incident.members).length > 0 || nowMs - incident.joinedMs <= keptForMs) continue;
      this.#all.delete(id);
      this.#changed.add(id);
    }
  }

  #of(receiver: string, alertId: number): Kept | undefined {
    for (const kept of this.#all.values())
      if (kept.receiver === receiver && kept.incident.members[alertId] !== undefined) return kept;
    return undefined;
  }

  /** The incident that an alert was part of when a change for the better was held. */
  #awaiting(receiver: string, { kind, alert }: Placeable): Kept | undefined {
    if (kind !== "ended" && kind !== "fell") return undefined;
    for (const kept of this.#all.values())
      if (kept.receiver === receiver && kept.incident.awaited?.includes(alert.id)) return kept;
    return undefined;
  }

  /** The incident that takes an alert in: an open one, or, for what is critical, a new one. */
  #join(to: ToReceiver): Kept | null {
    const { change, receiver, way, labels, nowMs } = to;
    const { kind, alert } = change;
    if (way.incidentBy === "never" || kind === "ended" || kind === "acknowledged") return null;
    const by = way.incidentBy.map((name) => `${name}=${labelOf(labels, name)}`).join(",");
    // Each account is an incident of its own to whoever keeps one for each.
    const { gathers, byAccount } = this.#options;
    const account = gathers(receiver) && byAccount(receiver) ? `\n${accountOf(alert)}` : "";
    const name = `${receiver}\n${way.path.join(".")}{${by}}${account}`;
    const critical = alert.severity === "critical";
    const found = this.#open(name, critical, nowMs);
    if (found !== null || !critical) return found;
    const groupKey = `${incidentGroup}${way.path.join(".")}{${by}}/${alert.id}`;
    return { name, receiver, incident: newIncident(groupKey, nowMs) };
  }

  /** The incident of this name that takes an alert in. */
  #open(name: string, critical: boolean, nowMs: number): Kept | null {
    let found: Kept | null = null;
    for (const kept of this.#all.values()) {
      if (kept.name !== name) continue;
      if (critical ? isOpen(kept.incident, nowMs) : isLive(kept.incident)) found = kept;
    }
    return found;
  }

  /** The incident of a known alert from now on: what is critical anew leaves one in which nothing is for the one that is open. */
  #moved(found: Kept, { change: { kind, alert }, nowMs }: ToReceiver): Kept {
    if (kind === "ended" || alert.severity !== "critical" || isLive(found.incident)) return found;
    const open = this.#open(found.name, true, nowMs);
    if (open === null || open.incident.groupKey === found.incident.groupKey) return found;
    this.#set({ ...found, incident: without(found.incident, alert.id) });
    return open;
  }

  #set(kept: Kept): void {
    const id = `${kept.receiver}\n${kept.incident.groupKey}`;
    this.#all.set(id, kept);
    this.#changed.add(id);
  }
}

/** The account that an alert is about; of a rule over whole wallets, the wallet. */
export function accountOf({ subject }: Pick<Alert, "subject">): string {
  return subject.split("/").slice(0, 2).join("/");
}
