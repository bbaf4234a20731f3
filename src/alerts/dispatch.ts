/**
 * Decides who is notified of a change, and when: by the routes, in groups, unless something holds it.
 *
 *   change ──routes──► receivers ──held?──yes──► kept until nothing holds it any more
 *                                   └──no──► owed: of an incident, when that says (alerts/incidents/); else released with
 *                                            its group: urgent at once, other things after groupWait, and not before
 *                                            groupInterval after what left of the group before
 *
 * What is held is never dropped: an event is told when the hold ends; an alert as it stands then, if it still fires or whoever
 * was told of it has to hear that it is over.
 */

import { z } from "zod";
import type { Alert, AlertChange, Ending, Severity } from "../domain/alert.ts";
import { endings, severities } from "../domain/alert.ts";
import type { ChangesBuilder } from "../domain/changes-builder.ts";
import type { OwedItem } from "../domain/delivery.ts";
import { KeptKind, type KeptValues, keptNumber } from "../domain/kept.ts";
import { groupReleaseMs, isUrgent } from "./group.ts";
import type { Holdable, Holds } from "./holds.ts";
import { Incidents, type IncidentsOptions, type Placed } from "./incidents/incidents.ts";
import type { Labels } from "./match.ts";
import { allReceivers, groupKeyOf, type Routing, type Way, waysFor } from "./route.ts";

/** The held notification of one alert: the newest state, and for whom. Kept in history under its alert. */
export interface Held {
  readonly alertId: number;
  readonly changeId: number;
  readonly event: boolean;
  readonly over: boolean;
  /** Left out: it is not over, or held by an earlier version. */
  readonly ending?: Ending;
  readonly severity: Severity;
  readonly labels: Labels;
  readonly receivers: readonly string[];
  /** For people: what holds it. */
  readonly why: string;
}

/** As much of an alert as routes look at. */
export type Labelled = Pick<Alert, "labels" | "rule" | "severity" | "subject" | "wallet" | "symbol">;

/** The receivers who are owed word of a change now. */
export interface Owed {
  readonly receivers: readonly string[];
  /** Those of them who are called by it: for the others it is quiet. */
  readonly called: readonly string[];
}

/** The facts about a change that incidents ask for. */
export interface OweOptions {
  /** An acknowledgement became void by it. */
  readonly voids: boolean;
  /** It was held until now. */
  readonly released: boolean;
  /** The interval of reminders at its level, ms; infinite: there are none. */
  readonly remindMs: number;
}

export interface DispatchOptions {
  readonly incidents: IncidentsOptions;
  readonly routing: Routing;
  readonly holds: Holds;
  readonly builder: () => ChangesBuilder;
  /** The next number of an owed item. */
  readonly nextId: () => number;
  /** True if an alert that fires can be judged now. */
  readonly isFresh: (alertId: number, nowMs: number) => boolean;
  /** The time until which what is due about an alert that fires waits, ms; null: it does not wait. */
  readonly waitsUntilMs: (alertId: number, nowMs: number) => number | null;
  /** An alert that fires, by its number. */
  readonly alert: (alertId: number) => Alert | undefined;
  /** Tells of an alert as it stands; false where it fires no longer. */
  readonly tellNow: (alertId: number, receivers: readonly string[], builder: ChangesBuilder) => boolean;
}

/** Kept in history under its name, where its interval is longer than a restart takes. */
interface Group {
  /** The time at which the waiting items leave; where nothing waits, the time at which something last left. */
  readonly releaseMs: number;
  readonly intervalMs: number;
}

/** The reason for a notification that nothing holds any more, and that waits. */
const waits = "its condition is gone, or was not judged since the start";
/** By alert. */
export const keptHeld: KeptKind<Held, number> = new KeptKind(
  "held/{}",
  z.object({
    alertId: keptNumber,
    changeId: keptNumber,
    event: z.boolean(),
    over: z.boolean(),
    ending: z.enum(endings).exactOptional(),
    severity: z.enum(severities),
    labels: z.record(z.string(), z.string()),
    receivers: z.array(z.string()),
    why: z.string(),
  }),
);
/** By name. */
export const keptGroup: KeptKind<Group> = new KeptKind(
  "group/{}",
  z.object({ releaseMs: keptNumber, intervalMs: keptNumber }),
);
/** An interval that is no longer is over before a start is: not worth a row each time, ms. */
const briefMs = 10_000;
/** Groups of which nothing was told for so long, and for longer than their interval, begin anew, ms. */
const forgottenMs = 600_000;

export class Dispatch {
  readonly #options: DispatchOptions;
  readonly #groups: Map<string, Group>;
  readonly #held = new Map<number, Held>();
  readonly #incidents: Incidents;
  #sweptMs: number;

  /** @param before that of the watch which is replaced at a reload: its groups go on */
  constructor(options: DispatchOptions, before?: Dispatch) {
    this.#options = options;
    this.#groups = before ? before.#groups : new Map();
    this.#incidents = new Incidents(options.incidents, before ? before.#incidents : undefined);
    this.#sweptMs = before ? before.#sweptMs : 0;
  }

  /** The held notifications in the order in which their alerts fired. */
  get held(): readonly Held[] {
    return [...this.#held.values()].sort((a, b) => a.alertId - b.alertId);
  }

  restore(keep: KeptValues): void {
    this.#incidents.restore(keep);
    for (const [name, group] of keptGroup.all(keep)) this.#groups.set(name, group);
    for (const [, held] of keptHeld.all(keep))
      this.#held.set(held.alertId, { ...held, receivers: this.#stillThere(held) });
  }

  /** Replaces held receivers that are gone by those of now. An end goes only to those who were notified of the alert. */
  #stillThere({ receivers, labels, over }: Held): readonly string[] {
    const { routing } = this.#options;
    const known = allReceivers(routing);
    if (over || receivers.every((one) => known.has(one))) return receivers;
    const now = waysFor(routing, labels).flatMap((way) => way.receivers);
    return [...new Set([...receivers.filter((one) => known.has(one)), ...now])];
  }

  ways(alert: Labelled): readonly Way[] {
    return waysFor(this.#options.routing, labelsOf(alert));
  }

  /** @returns those that its routes lead to */
  receivers(alert: Labelled, except: readonly string[] = []): readonly string[] {
    const all = new Set(this.ways(alert).flatMap(({ receivers }) => receivers));
    for (const name of except) all.delete(name);
    return [...all];
  }

  /**
   * Owes word of a change.
   * @param groupKey of what leaves together by another reason (a throttle); null: by its incident or its route
   * @returns those who are owed word now, and those who are called by it; the others of `to` are when what holds it ends, or never,
   * where their incident was reported just before
   */
  owe(
    builder: ChangesBuilder,
    change: AlertChange,
    to: Iterable<string>,
    groupKey: string | null,
    options: OweOptions,
  ): Owed {
    const { alert } = change;
    if (alert.shadow) return { receivers: [], called: [] };
    const labels = labelsOf(alert);
    const ways = waysFor(this.#options.routing, labels);
    const owed: string[] = [];
    const held: string[] = [];
    let why = "";
    const called: string[] = [];
    for (const receiver of to) {
      const way = ways.find(({ receivers }) => receivers.includes(receiver)) ?? ways[0]!;
      const reason = this.#options.holds.why(
        {
          labels,
          severity: alert.severity,
          event: alert.event,
          alertId: alert.id,
          fresh: () => alert.state === "ended" || this.#options.isFresh(alert.id, builder.atMs),
        },
        way,
        builder.atMs,
      );
      if (reason !== null) {
        held.push(receiver);
        why = reason;
        this.#incidents.noteHeld(alert, receiver);
        continue;
      }
      const placed =
        groupKey === null
          ? this.#incidents.place({
              ...{ change, receiver, way, labels, ...options, nowMs: builder.atMs },
              isHeld: (id) => this.#isHeld(id, way, builder.atMs),
            })
          : null;
      if (placed?.leaves === null) continue;
      owed.push(receiver);
      if (placed === null || placed.leaves === "alone" || !placed.leaves.quiet) called.push(receiver);
      this.#push(builder, change.id, alert, isUrgent(change), receiver, way, labels, groupKey, placed);
    }
    if (change.kind === "ended") this.#incidents.over(alert);
    if (held.length > 0) this.#hold(builder, change, labels, held, why);
    else if (alert.state === "ended" && !alert.event) this.#drop(alert.id, builder);
    else if (owed.length > 0) this.#relieve(alert.id, owed, builder);
    return { receivers: owed, called };
  }

  /** The reasons that would hold a notification of an alert like this now, each reason once; asking changes nothing. */
  whyHeld(
    alert: Labelled & { readonly id: number; readonly severity: Severity },
    nowMs: number,
  ): readonly string[] {
    const of = this.#holdable(alert, nowMs);
    const reasons = this.ways(alert).map((way) => this.#options.holds.why(of, way, nowMs));
    return [...new Set(reasons.flatMap((why) => why ?? []))];
  }

  /** The times at which the incidents of a critical alert were last reported to each of these, ms; null: it is told by itself. */
  notifiedMs(alertId: number, receivers: readonly string[], nowMs: number): readonly (number | null)[] {
    return this.#incidents.notifiedMs(alertId, receivers, nowMs);
  }

  /** Adds what history is to keep of incidents to changes that are complete. */
  keepIncidents(builder: ChangesBuilder): void {
    builder.changes.keep.push(...this.#incidents.unkept());
  }

  /** Returns true if a notification of this alert is held. */
  holds(alertId: number): boolean {
    return this.#held.has(alertId);
  }

  /** Releases what is held no longer. */
  reconsider(): void {
    const builder = this.#options.builder();
    const { holds, isFresh, waitsUntilMs, tellNow, routing } = this.#options;
    for (const held of this.held) {
      const { alertId, labels, severity, event, receivers, over } = held;
      const ways = waysFor(routing, labels);
      const fresh = () => over || isFresh(alertId, builder.atMs);
      const of = { labels, severity, event, alertId, fresh };
      const wayOf = (receiver: string) => ways.find((way) => way.receivers.includes(receiver)) ?? ways[0]!;
      const free = receivers.filter((one) => holds.why(of, wayOf(one), builder.atMs) === null);
      if (free.length === 0) continue;
      const waitMs = event || over ? null : waitsUntilMs(alertId, builder.atMs);
      if (waitMs !== null) {
        holds.wakeAt(waitMs, builder.atMs);
        if (held.why !== waits) this.#keep({ ...held, why: waits }, builder);
        continue;
      }
      const left = receivers.filter((one) => !free.includes(one));
      if (left.length === 0) this.#drop(alertId, builder);
      else this.#keep({ ...held, receivers: left }, builder);
      if (!event && !over) {
        tellNow(alertId, free, builder);
        continue;
      }
      for (const receiver of free) {
        const way = wayOf(receiver);
        const groupKey = event ? `held/${way.path.join(".")}/${builder.atMs}` : null;
        const placed = over ? this.#placeEnd(held, receiver, way, builder) : null;
        this.#push(
          builder,
          held.changeId,
          { id: alertId, severity },
          false,
          receiver,
          way,
          labels,
          groupKey,
          placed,
        );
      }
    }
  }

  /** The place of an end that was held. */
  #placeEnd(
    { alertId, severity, labels, ending }: Held,
    receiver: string,
    way: Way,
    builder: ChangesBuilder,
  ): Placed | null {
    const { rule = "", subject = "" } = labels;
    const alert = {
      ...{ id: alertId, rule, subject, severity, event: false, value: null, acknowledgedAtMs: null },
      ending: ending ?? null,
    };
    const change = { kind: "ended", alert } as const;
    const released = { voids: false, released: true, remindMs: Number.POSITIVE_INFINITY };
    return this.#incidents.place({
      ...{ change, receiver, way, labels, ...released, nowMs: builder.atMs },
      isHeld: (id) => this.#isHeld(id, way, builder.atMs),
    });
  }

  /** Returns true if word of an alert that fires would be held now. */
  #isHeld(alertId: number, way: Way, nowMs: number): boolean {
    const alert = this.#options.alert(alertId);
    return alert !== undefined && this.#options.holds.why(this.#holdable(alert, nowMs), way, nowMs) !== null;
  }

  #holdable(alert: Labelled & { readonly id: number; readonly severity: Severity }, nowMs: number): Holdable {
    return {
      labels: labelsOf(alert),
      severity: alert.severity,
      event: false,
      alertId: alert.id,
      fresh: () => this.#options.isFresh(alert.id, nowMs),
    };
  }

  #push(
    builder: ChangesBuilder,
    changeId: number,
    { id, severity }: { readonly id: number; readonly severity: Severity },
    urgent: boolean,
    receiver: string,
    way: Way,
    labels: Labels,
    groupKey: string | null,
    placed: Placed | null,
  ): void {
    if (placed !== null && placed.leaves !== "alone" && placed.leaves !== null) {
      this.#pushAt(builder, changeId, { id, severity }, receiver, placed.groupKey, placed.leaves, placed);
      return;
    }
    const key = groupKey ?? groupKeyOf(way, labels);
    const releaseAtMs =
      groupKey === null ? this.#release(`${receiver}\n${key}`, way, urgent, builder) : builder.atMs;
    const leaves = { atMs: releaseAtMs, quiet: false };
    this.#pushAt(builder, changeId, { id, severity }, receiver, key, leaves, placed);
  }

  #pushAt(
    builder: ChangesBuilder,
    changeId: number,
    { id, severity }: { readonly id: number; readonly severity: Severity },
    receiver: string,
    groupKey: string,
    leaves: { readonly atMs: number; readonly quiet: boolean },
    incident: Placed | null,
  ): void {
    this.#sweep(builder);
    const item: OwedItem = {
      id: this.#options.nextId(),
      changeId,
      alertId: id,
      receiver,
      severity,
      owedAtMs: builder.atMs,
      groupKey,
      ...(leaves.atMs > builder.atMs ? { releaseAtMs: leaves.atMs } : {}),
      ...(leaves.quiet ? { quiet: true as const } : {}),
      ...(incident?.leaves === "alone" ? { incident: incident.groupKey } : {}),
      ...(typeof incident?.distance === "number" ? { distance: incident.distance } : {}),
      ...this.#incidents.onCall(receiver, id),
      status: "owed",
      messageId: null,
    };
    builder.changes.owed.push(item);
  }

  /** The time at which the group of this name leaves next. */
  #release(name: string, way: Way, urgent: boolean, builder: ChangesBuilder): number {
    const { atMs: nowMs } = builder;
    const knownMs = this.#groups.get(name)?.releaseMs;
    const releaseMs = groupReleaseMs(knownMs, way, urgent, nowMs);
    if (urgent || releaseMs !== knownMs)
      this.#keepGroup(name, { releaseMs, intervalMs: way.groupIntervalMs }, builder);
    return releaseMs;
  }

  #keepGroup(name: string, group: Group | null, builder: ChangesBuilder): void {
    const before = this.#groups.get(name);
    if (group === null) this.#groups.delete(name);
    else this.#groups.set(name, group);
    const kept = group !== null && group.intervalMs > briefMs;
    if (!kept && (before === undefined || before.intervalMs <= briefMs)) return;
    builder.changes.keep.push(keptGroup.row(name, kept ? group : null));
  }

  #sweep(builder: ChangesBuilder): void {
    const { atMs: nowMs } = builder;
    if (nowMs - this.#sweptMs < forgottenMs) return;
    this.#sweptMs = nowMs;
    this.#incidents.sweep(nowMs);
    for (const [name, { releaseMs, intervalMs }] of this.#groups)
      if (nowMs - releaseMs > Math.max(forgottenMs, intervalMs)) this.#keepGroup(name, null, builder);
  }

  #hold(
    builder: ChangesBuilder,
    change: AlertChange,
    labels: Labels,
    receivers: readonly string[],
    why: string,
  ): void {
    const { alert } = change;
    const before = this.#held.get(alert.id)?.receivers ?? [];
    // Each event is a change of its own; of an alert only the newest counts.
    this.#keep(
      {
        alertId: alert.id,
        changeId: change.id,
        event: alert.event,
        over: alert.state === "ended" && !alert.event,
        ...(alert.ending === null ? {} : { ending: alert.ending }),
        severity: alert.severity,
        labels,
        receivers:
          alert.state === "ended" && !alert.event ? receivers : [...new Set([...before, ...receivers])],
        why,
      },
      builder,
    );
  }

  /** Whoever is owed something newer needs not hear what was held. */
  #relieve(alertId: number, receivers: readonly string[], builder: ChangesBuilder): void {
    const held = this.#held.get(alertId);
    if (!held || held.event) return;
    const left = held.receivers.filter((one) => !receivers.includes(one));
    if (left.length === 0) this.#drop(alertId, builder);
    else this.#keep({ ...held, receivers: left }, builder);
  }

  #keep(held: Held, builder: ChangesBuilder): void {
    this.#held.set(held.alertId, held);
    keptHeld.put(held.alertId, held, builder);
  }

  #drop(alertId: number, builder: ChangesBuilder): void {
    if (!this.#held.delete(alertId)) return;
    keptHeld.drop(alertId, builder);
  }
}

/** The labels that routes, silences and inhibitions can match. */
export function labelsOf(alert: Labelled): Labels {
  return {
    ...alert.labels,
    rule: alert.rule,
    severity: alert.severity,
    subject: alert.subject,
    wallet: alert.wallet ?? "",
    symbol: alert.symbol ?? "",
  };
}
