/**
 * The incidents at on-call services, which keep one for each account (PagerDuty). Pure.
 *
 *   an alert of an incident ──► the open one of its account and receiver, else a new one ──► over with the last of its alerts
 *
 * An alert stays in it until it ends, regardless of the incident here. A new one has another key, so a late end does
 * not resolve a newer incident.
 */
import { z } from "zod";
import type { Alert } from "../../domain/alerts/alert.ts";
import type { OnCallOfItem } from "../../domain/alerts/delivery.ts";
import { KeptKind, type KeptValues, keptNumber } from "../../domain/stored/kept.ts";

/** Kept in history as JSON. */
interface OnCallIncident {
  readonly receiver: string;
  readonly account: string;
  /** The number of its first alert, which is unique to it. */
  readonly first: number;
  /** Its alerts by number: true while they fire. */
  readonly alerts: Readonly<Record<number, boolean>>;
  /** The time at which all of them were found to be over, ms; null: one fires. */
  readonly overMs: number | null;
}

/** By receiver and number. */
export const keptOnCall: KeptKind<OnCallIncident> = new KeptKind(
  "oncall/{}",
  z.object({
    receiver: z.string(),
    account: z.string(),
    first: keptNumber,
    alerts: z.record(z.string(), z.boolean()),
    overMs: keptNumber.nullable(),
  }),
);
/** Time for which a held end (a weekend's mute time) still finds its incident, ms. */
const keptForMs = 7 * 86_400_000;

export class OnCall {
  readonly #all: Map<string, OnCallIncident>;
  /** Those changed since the last `unkept`. */
  readonly #changed: Set<string>;

  /** @param before the incidents of the watch that is replaced at a reload */
  constructor(before?: OnCall) {
    this.#all = before ? before.#all : new Map();
    this.#changed = before ? before.#changed : new Set();
  }

  /** @returns rows for history of the changes since it was asked last */
  unkept(): readonly { readonly name: string; readonly value: string | null }[] {
    const rows = [...this.#changed].map((name) => keptOnCall.row(name, this.#all.get(name) ?? null));
    this.#changed.clear();
    return rows;
  }

  restore(keep: KeptValues): void {
    for (const [name, incident] of keptOnCall.all(keep)) this.#all.set(name, incident);
  }

  join(receiver: string, account: string, { id }: Pick<Alert, "id">): void {
    if (this.#find(receiver, id) !== undefined) return;
    const open = [...this.#all.values()].find(
      (one) => one.receiver === receiver && one.account === account && isOpen(one),
    );
    const one = open ?? { receiver, account, first: id, alerts: {}, overMs: null };
    this.#set({ ...one, alerts: { ...one.alerts, [id]: true } });
  }

  /** Notes the end of an alert, regardless of notifications. */
  over(alertId: number): void {
    for (const one of this.#all.values())
      if (one.alerts[alertId] === true) this.#set({ ...one, alerts: { ...one.alerts, [alertId]: false } });
  }

  /** Returns the incident of an alert; undefined: none. */
  of(receiver: string, alertId: number): OnCallOfItem | undefined {
    const found = this.#find(receiver, alertId);
    if (found === undefined) return undefined;
    const { account, first, alerts } = found;
    return {
      account,
      first,
      more: Object.entries(alerts).some(([id, fires]) => fires && Number(id) !== alertId),
    };
  }

  /** Removes those that ended long ago. */
  sweep(nowMs: number): void {
    for (const [name, one] of this.#all) {
      if (isOpen(one)) continue;
      if (one.overMs === null) this.#set({ ...one, overMs: nowMs });
      else if (nowMs - one.overMs > keptForMs) {
        this.#all.delete(name);
        this.#changed.add(name);
      }
    }
  }

  #find(receiver: string, alertId: number): OnCallIncident | undefined {
    for (const one of this.#all.values())
      if (one.receiver === receiver && one.alerts[alertId] !== undefined) return one;
    return undefined;
  }

  #set(one: OnCallIncident): void {
    const name = `${one.receiver}\n${one.first}`;
    this.#all.set(name, one);
    this.#changed.add(name);
  }
}

function isOpen({ alerts }: OnCallIncident): boolean {
  return Object.values(alerts).some((fires) => fires);
}
