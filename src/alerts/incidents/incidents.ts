/** The incidents of all receivers, by the alerts in them. Writes them to history and restores them. */
import { z } from "zod";
import type { Alert } from "../../domain/alerts/alert.ts";
import { type Capacity, type DeliveryItem, incidentGroup } from "../../domain/alerts/delivery.ts";
import { KeptKind, type KeptValues } from "../../domain/stored/kept.ts";
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
  noteUnreported,
  stepIncident,
  takes,
  without,
} from "./incident.ts";
import { OnCall } from "./on-call.ts";

export interface IncidentsOptions {
  /** Returns the kind of danger that a rule is about; null: its alerts belong to no incident. */
  readonly dangerOf: (rule: string) => Danger | null;
  /** Returns true if this receiver gets incidents; else it gets each alert separately. */
  readonly gathers: (receiver: string) => boolean;
  /** Returns true if it can edit sent messages. */
  readonly edits: (receiver: string) => boolean;
  /** Returns true if it keeps one incident for each account. */
  readonly byAccount: (receiver: string) => boolean;
}

/** @param capacities of channels, by name: a channel without any gets incidents and cannot edit */
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

/** A change for one receiver. */
export interface ToReceiver {
  readonly change: Placeable;
  readonly receiver: string;
  readonly way: Way;
  readonly labels: Labels;
  /** True if it made an acknowledgement void. */
  readonly voids: boolean;
  /** True if it was held until now. */
  readonly released: boolean;
  /** The interval of reminders at its level, ms; infinite: none. */
  readonly remindMs: number;
  /** Returns true if a notification of another alert to this receiver would be held now. */
  readonly isHeld: (alertId: number) => boolean;
  readonly nowMs: number;
}

/** The place of a change in its incident. */
export interface Placed {
  readonly groupKey: string;
  /** Null: its receiver is not notified. `alone`: it is sent separately. */
  readonly leaves: { readonly atMs: number; readonly quiet: boolean } | "alone" | null;
  /** The current distance to liquidation of its alert; null: its value is no distance. */
  readonly distance: number | null;
}

interface Kept {
  /** The receiver and route, with the labels that distinguish incidents, and the account if each has its own. */
  readonly name: string;
  readonly receiver: string;
  readonly incident: Incident;
}

/** By receiver and group key. */
export const keptIncidents: KeptKind<Kept> = new KeptKind(
  "incident/{}",
  z.object({ name: z.string(), receiver: z.string(), incident: keptIncident }),
);
/** Time for which a held change (a weekend's mute time) still finds its incident, ms. */
const awaitedForMs = 7 * 86_400_000;

export class Incidents {
  readonly #options: IncidentsOptions;
  /** By receiver and group key. */
  readonly #all: Map<string, Kept>;
  /** Those changed since the last `unkept`. */
  readonly #changed: Set<string>;
  readonly #onCall: OnCall;

  /** @param before the incidents of the watch that is replaced at a reload */
  constructor(options: IncidentsOptions, before?: Incidents) {
    this.#options = options;
    this.#all = before ? before.#all : new Map();
    this.#changed = before ? before.#changed : new Set();
    this.#onCall = new OnCall(before ? before.#onCall : undefined);
  }

  /**
   * @returns history rows of the changes since the last call: one for each incident, regardless of the number of
   * changes
   */
  unkept(): readonly { readonly name: string; readonly value: string | null }[] {
    const rows = [...this.#changed].map((id) => keptIncidents.row(id, this.#all.get(id) ?? null));
    this.#changed.clear();
    return [...rows, ...this.#onCall.unkept()];
  }

  restore(keep: KeptValues): void {
    this.#onCall.restore(keep);
    for (const [id, kept] of keptIncidents.all(keep)) this.#all.set(id, kept);
  }

  /** @returns null if it belongs to no incident */
  place(to: ToReceiver): Placed | null {
    const { change, receiver, nowMs, voids, released, remindMs, isHeld } = to;
    const { alert } = change;
    if (alert.event || alert.drill) return null;
    const found = this.#of(receiver, alert.id) ?? this.#awaiting(receiver, change);
    const of = this.#options.dangerOf(alert.rule);
    // A rule removed by a reload ends its alerts, in their incident.
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

  /** Notes a held change, of which a receiver is notified later. */
  noteHeld(alert: Alert, receiver: string): void {
    const kept = this.#of(receiver, alert.id);
    if (kept !== undefined) this.#set({ ...kept, incident: noteHeld(kept.incident, alert) });
  }

  /** Notes the end of an alert, regardless of notifications. */
  over(alert: Alert): void {
    this.#onCall.over(alert.id);
    for (const kept of this.#all.values())
      if (kept.incident.members[alert.id] !== undefined)
        this.#set({ ...kept, incident: noteUnreported(kept.incident, alert) });
  }

  /** Returns the incident of an alert's account, for a receiver that keeps one for each. */
  onCall(receiver: string, alertId: number): Pick<DeliveryItem, "onCall"> {
    const onCall = this.#onCall.of(receiver, alertId);
    return onCall === undefined ? {} : { onCall };
  }

  /**
   * Returns the times of the last report of the incident with a critical alert to each receiver, ms; null: it gets the
   * alert separately.
   */
  notifiedMs(alertId: number, receivers: readonly string[], nowMs: number): readonly (number | null)[] {
    return receivers.map((receiver) => {
      const incident = this.#of(receiver, alertId)?.incident;
      const isReported =
        incident?.members[alertId]?.severity === "critical" && this.#options.gathers(receiver);
      return isReported ? Math.min(incident.notifiedMs, nowMs) : null;
    });
  }

  /** Removes the incidents without alerts. */
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

  /** Returns the incident that an alert was part of when a change for the better was held. */
  #awaiting(receiver: string, { kind, alert }: Placeable): Kept | undefined {
    if (kind !== "ended" && kind !== "fell") return undefined;
    for (const kept of this.#all.values())
      if (kept.receiver === receiver && kept.incident.awaited?.includes(alert.id)) return kept;
    return undefined;
  }

  /** Returns the incident that takes an alert: an open one, or, for a critical alert, a new one. */
  #join(to: ToReceiver): Kept | null {
    const { change, receiver, way, labels, nowMs } = to;
    const { kind, alert } = change;
    if (way.incidentBy === "never" || kind === "ended" || kind === "acknowledged") return null;
    const by = way.incidentBy.map((name) => `${name}=${labelOf(labels, name)}`).join(",");
    // A receiver that keeps one incident for each account gets separate ones.
    const { gathers, byAccount } = this.#options;
    const account = gathers(receiver) && byAccount(receiver) ? `\n${accountOf(alert)}` : "";
    const name = `${receiver}\n${way.path.join(".")}{${by}}${account}`;
    const critical = alert.severity === "critical";
    const found = this.#open(name, critical, nowMs);
    if (found !== null || !critical) return found;
    const groupKey = `${incidentGroup}${way.path.join(".")}{${by}}/${alert.id}`;
    return { name, receiver, incident: newIncident(groupKey, nowMs) };
  }

  /** Returns the incident of this name that takes an alert. */
  #open(name: string, critical: boolean, nowMs: number): Kept | null {
    let found: Kept | null = null;
    for (const kept of this.#all.values()) {
      if (kept.name !== name) continue;
      if (critical ? isOpen(kept.incident, nowMs) : isLive(kept.incident)) found = kept;
    }
    return found;
  }

  /**
   * Returns the incident of a known alert from now on: an alert that is critical again leaves an incident without
   * critical alerts for the open one.
   */
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

/** Returns the account that an alert is about; for a rule over whole wallets, the wallet. */
export function accountOf({ subject }: Pick<Alert, "subject">): string {
  return subject.split("/").slice(0, 2).join("/");
}
