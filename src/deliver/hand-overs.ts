/**
 * Hand-overs of rotas: when another person is on duty, both get a message, once, across restarts.
 *
 *   "rota/NAME" in history: the person on duty ──differs from the plan──► two finalized messages and the new name, in one commit
 *
 * A hand-over during downtime is made up for at the start. A rota that is seen for the first time has none.
 */
import { createHash } from "node:crypto";
import {
  addressee,
  dutyPeriods,
  nextChangeMs,
  onDuty,
  planFaults,
  type RotaPlan,
} from "../channels/rota/plan.ts";
import { faultText, formatShiftTime } from "../channels/rota/shift-text.ts";
import { type Alert, severityRank } from "../domain/alerts/alert.ts";
import { type Message, type MessageContent, untried } from "../domain/alerts/delivery.ts";
import type { Clock } from "../domain/clock.ts";
import type { Store } from "../domain/ports.ts";
import { changes } from "../domain/stored/changes.ts";
import { type DeliverLog, silentLog } from "./log.ts";
import { messageId, messageIdBytes } from "./message/message-id.ts";

export interface HandOversOptions {
  /** Returns the current plans, by rota. */
  readonly plans: () => Readonly<Record<string, RotaPlan>>;
  /** Returns true if a person's channel takes messages that are no alerts. */
  readonly takes: (person: string) => boolean;
  readonly store: Pick<Store, "commit" | "keep">;
  readonly clock: Clock;
  /** Returns the firing alerts. */
  readonly firing: () => readonly Pick<Alert, "id" | "severity" | "summary">[];
  /** Takes the finalized messages. */
  readonly post: (messages: readonly Message[]) => void;
  readonly sender: string;
  readonly instance: string;
  readonly log?: DeliverLog;
}

const keepPrefix = "rota/";
/** Maximum timer length: longer waits are split, since clocks may be corrected in between. */
const maxWaitMs = 600_000;
const againMs = 10_000;
/** Maximum alerts that a message lists; the rest is counted. */
const maxListed = 10;
const searchMs = 60 * 86_400_000;

export class HandOvers {
  readonly #options: HandOversOptions;
  readonly #log: DeliverLog;
  /** By rota. Null: not read yet. */
  #before: Map<string, string> | null = null;
  #cancel = (): void => {};
  #started = false;
  #stopped = false;
  #working: Promise<void> = Promise.resolve();

  constructor(options: HandOversOptions) {
    this.#options = options;
    this.#log = options.log ?? silentLog;
  }

  start(): void {
    this.#started = true;
    this.#warn();
    this.#look();
  }

  /** Plans may have changed. */
  reloaded(): void {
    if (!this.#started) return;
    this.#warn();
    this.#look();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel();
    await this.#working;
  }

  #warn(): void {
    const nowMs = this.#options.clock.nowMs();
    for (const [rota, plan] of Object.entries(this.#options.plans()))
      for (const fault of planFaults(plan, nowMs).slice(0, 1))
        this.#log.warn({ channel: rota }, `the rota ${rota}: ${faultText(fault, plan.timezone)}`);
  }

  /** Sends due messages, then waits for the next change; repeated until it succeeds: only the disk can fail. */
  #look(): void {
    this.#cancel();
    this.#working = this.#working
      .then(() => this.#handOver())
      .then(
        () => this.#wait(this.#nextMs()),
        (error: unknown) => {
          const detail = error instanceof Error ? error.message : "failed";
          this.#log.warn({ detail }, "a hand-over could not be stored; tried again soon");
          this.#wait(againMs);
        },
      );
  }

  #wait(ms: number): void {
    if (this.#stopped) return;
    this.#cancel();
    this.#cancel = this.#options.clock.after(Math.min(Math.max(ms, 0), maxWaitMs), () => this.#look());
  }

  /** Returns the time until the next change of any plan, ms. */
  #nextMs(): number {
    const nowMs = this.#options.clock.nowMs();
    const plans = Object.values(this.#options.plans());
    return Math.min(...plans.map((plan) => (nextChangeMs(plan, nowMs) ?? nowMs + maxWaitMs) - nowMs));
  }

  async #handOver(): Promise<void> {
    const { plans, clock, store, post } = this.#options;
    const each = Object.entries(plans());
    if (this.#stopped || each.length === 0) return;
    this.#before ??= await this.#load();
    const nowMs = clock.nowMs();
    const keep: { name: string; value: string }[] = [];
    const messages: Message[] = [];
    for (const [rota, plan] of each) {
      const now = addressee(plan, nowMs);
      const before = this.#before.get(rota);
      if (now === before) continue;
      keep.push({ name: keepPrefix + rota, value: now });
      if (before !== undefined) messages.push(...this.#messages(rota, plan, before, now, nowMs));
    }
    if (keep.length === 0) return;
    await store.commit([changes({ messages, keep })]);
    for (const { name, value } of keep) this.#before.set(name.slice(keepPrefix.length), value);
    post(messages);
  }

  async #load(): Promise<Map<string, string>> {
    const kept = [...(await this.#options.store.keep())].filter(([name]) => name.startsWith(keepPrefix));
    return new Map(kept.map(([name, value]) => [name.slice(keepPrefix.length), value]));
  }

  #messages(rota: string, plan: RotaPlan, before: string, now: string, nowMs: number): Message[] {
    const { takes, sender, instance } = this.#options;
    const content = this.#content(rota, plan, before, now, nowMs);
    return [before, now].filter(takes).map((receiver) => {
      const text = JSON.stringify([sender, instance, receiver, "hand-over", rota, before, now, nowMs]);
      return {
        id: messageId(createHash("sha256").update(text).digest().subarray(0, messageIdBytes)),
        ...{ receiver, severity: "info", itemIds: [], alertIds: [], content },
        ...untried(nowMs, nowMs),
      };
    });
  }

  #content(rota: string, plan: RotaPlan, before: string, now: string, nowMs: number): MessageContent {
    const { timezone } = plan;
    const [period, ...later] = dutyPeriods(plan, nowMs, nowMs + searchMs);
    const next = later.find(({ people }) => people.length > 0);
    const time = (ms: number) => formatShiftTime(ms, timezone);
    const until = later.length === 0 ? "" : ` until ${time(period!.toMs)}`;
    const planned =
      onDuty(plan, nowMs) === null ? `nobody by the plan${until}; messages go to ${now}` : now + until;
    const firing = [...this.#options.firing()].sort(
      (a, b) => severityRank[b.severity] - severityRank[a.severity] || a.id - b.id,
    );
    const listed = firing
      .slice(0, maxListed)
      .map(({ id, severity, summary }) => [`#${id} ${severity}`, summary] as const);
    const more = firing.length - listed.length;
    return {
      kind: "digest",
      severity: "info",
      resolved: false,
      title: `Hand-over of ${rota}: ${before} to ${now}`,
      items: [],
      sections: [
        {
          title: "On duty",
          rows: [
            ["Now", planned],
            ["Before", before],
            ...(next === undefined ? [] : [["Next", `${next.people[0]} from ${time(next.fromMs)}`] as const]),
          ],
        },
        {
          title: "Firing now",
          rows: [
            ...(listed.length === 0 ? [["Nothing fires.", ""] as const] : listed),
            ...(more > 0 ? [[`${more} more: perpwatch alerts lists them.`, ""] as const] : []),
          ],
        },
      ],
      sender: this.#options.sender,
    };
  }
}
