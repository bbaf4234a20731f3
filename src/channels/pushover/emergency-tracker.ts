/**
 * Tracks sent emergencies by polling their receipts every five seconds, the shortest interval that Pushover allows. If
 * somebody acknowledged an emergency in Pushover, its alerts are acknowledged here. An emergency is cancelled if all of
 * its alerts have ended, are acknowledged or are no longer critical, or if a newer emergency covers the same alerts.
 * After a restart, emergencies are restored from the history of messages, including those that are no longer repeated:
 * Pushover returns the acknowledgement for a week.
 */

import type { AlertChange } from "../../domain/alerts/alert.ts";
import type { Message } from "../../domain/alerts/delivery.ts";
import type { Clock } from "../../domain/clock.ts";
import type { ChatActions } from "../../domain/ports.ts";
import type { SendResult } from "../channel.ts";
import type { ChannelLog } from "../log.ts";
import { mentionsPeople } from "../mention.ts";
import { acknowledgerOf, type EmergencyState } from "./verdict.ts";

export interface EmergencyTrackerOptions {
  /** The channel's name in the configuration, which is the receiver of its messages. */
  readonly name: string;
  /** Time after which an emergency is no longer repeated, ms. */
  readonly expireMs: number;
  readonly read: (
    receipt: string,
    signal: AbortSignal,
  ) => Promise<{ readonly result: SendResult; readonly reply: object }>;
  readonly cancel: (receipt: string, signal: AbortSignal) => Promise<SendResult>;
  readonly actions: ChatActions;
  readonly clock: Clock;
  readonly log: ChannelLog;
}

/** An alert as shown by an emergency. */
interface ShownAlert {
  readonly alertId: number;
  readonly firedAtMs: number;
  /** Number of the change; an acknowledgement covers its value. */
  readonly changeId: number;
}

interface Emergency {
  readonly receipt: string;
  readonly alerts: readonly ShownAlert[];
  readonly sentAtMs: number;
  /** A newer emergency covers its alerts. */
  replaced: boolean;
}

const pollEveryMs = 5_000;
const maxEmergencies = 200;
/** Time for which Pushover answers about a receipt, ms. */
const receiptLifetimeMs = 7 * 86_400_000;
const isReceipt = (text: string) => /^[A-Za-z0-9]{30}$/.test(text);

export class EmergencyTracker {
  readonly #options: EmergencyTrackerOptions;
  readonly #open = new Map<string, Emergency>();
  #restored = false;
  #life = new AbortController();
  #cancelTimer: (() => void) | null = null;
  #polling: Promise<void> = Promise.resolve();

  constructor(options: EmergencyTrackerOptions) {
    this.#options = options;
  }

  start(): void {
    this.#life = new AbortController();
    this.#restored = false;
    this.#schedulePoll();
  }

  async stop(): Promise<void> {
    this.#life.abort();
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    await this.#polling;
  }

  /** Starts to track an accepted message, if it is an emergency. */
  sent(message: Message, receipt: string): void {
    if (this.#life.signal.aborted || !isReceipt(receipt)) return;
    this.#follow(message, receipt, this.#options.clock.nowMs());
    this.#schedulePoll();
  }

  #follow(message: Message, receipt: string, sentAtMs: number): void {
    const alerts = alertsIn(message);
    if (alerts.length === 0) return;
    const emergency: Emergency = { receipt, alerts, sentAtMs, replaced: false };
    // Emergencies of an earlier run are restored after new ones may have been sent.
    for (const one of this.#open.values()) {
      if (one.receipt === receipt) continue;
      const [older, newer] = one.sentAtMs > sentAtMs ? [emergency, one] : [one, emergency];
      older.replaced ||= coversAlertsOf(newer, older);
    }
    this.#open.set(receipt, emergency);
    const [oldest] = this.#open.keys();
    if (this.#open.size > maxEmergencies && oldest !== undefined) this.#open.delete(oldest);
  }

  #schedulePoll(): void {
    if (this.#cancelTimer !== null || this.#life.signal.aborted) return;
    this.#cancelTimer = this.#options.clock.after(pollEveryMs, () => {
      this.#polling = this.#poll(this.#life.signal)
        .catch(() => {})
        .then(() => {
          this.#cancelTimer = null;
          if (this.#open.size > 0 || !this.#restored) this.#schedulePoll();
        });
    });
  }

  async #poll(signal: AbortSignal): Promise<void> {
    if (!this.#restored) await this.#restore();
    for (const one of [...this.#open.values()]) {
      signal.throwIfAborted();
      try {
        if (await this.#isDone(one, signal)) this.#open.delete(one.receipt);
      } catch (error) {
        if (signal.aborted) throw error;
        const why = error instanceof Error ? error.message : "failed";
        this.#options.log.warn({ why }, "what became of an emergency on Pushover is not known now");
      }
    }
  }

  /** @returns true if the emergency needs no more polling */
  async #isDone(one: Emergency, signal: AbortSignal): Promise<boolean> {
    const { read, cancel, clock, log } = this.#options;
    if (clock.nowMs() >= one.sentAtMs + receiptLifetimeMs) return true;
    const { result, reply } = await read(one.receipt, signal);
    if (result.kind === "refused") return true;
    if (result.kind === "retry") return false;
    const state = reply as EmergencyState;
    if (state.acknowledged === 1) {
      await this.#acknowledge(one, acknowledgerOf(state));
      return true;
    }
    if (state.expired === 1) return true;
    if (!one.replaced && !(await this.#isOver(one))) return false;
    const cancelled = await cancel(one.receipt, signal);
    if (cancelled.kind === "retry") return false;
    log.debug({ receipt: one.receipt }, "cancelled an emergency on Pushover");
    return true;
  }

  async #acknowledge({ alerts }: Emergency, by: string): Promise<void> {
    const { actions, log } = this.#options;
    for (const { alertId, firedAtMs, changeId } of alerts) {
      const story = await actions.alert(alertId);
      if (story?.alert.firedAtMs !== firedAtMs || isAcknowledgedSince(story, changeId)) continue;
      const done = await actions.acknowledgeAlert(alertId, by, "", changeId);
      log.info({ who: by, alert: alertId, done }, "acknowledged on Pushover");
    }
  }

  async #isOver({ alerts }: Pick<Emergency, "alerts">): Promise<boolean> {
    for (const { alertId, firedAtMs } of alerts) {
      const alert = (await this.#options.actions.alert(alertId))?.alert;
      // An event has no duration; it stays open until it is acknowledged.
      const open = alert?.firedAtMs === firedAtMs && alert.acknowledgedBy === null;
      if (open && (alert.event || (alert.state === "firing" && alert.severity === "critical"))) return false;
    }
    return true;
  }

  /** Restores the emergencies of an earlier run that are still repeated or whose alerts are not acknowledged. */
  async #restore(): Promise<void> {
    const { actions, clock, name, expireMs } = this.#options;
    const nowMs = clock.nowMs();
    for (const message of await actions.criticalMessages(nowMs - receiptLifetimeMs)) {
      const { receiver, receipt, deliveredAtMs } = message;
      if (receiver !== name || receipt === null || !isReceipt(receipt) || this.#open.has(receipt)) continue;
      if (deliveredAtMs === null || deliveredAtMs + receiptLifetimeMs <= nowMs) continue;
      const sounds = deliveredAtMs + expireMs > nowMs;
      if (sounds || !(await this.#isOver({ alerts: alertsIn(message) })))
        this.#follow(message, receipt, deliveredAtMs);
    }
    this.#restored = true;
  }
}

/** The alerts that make a message an emergency. */
function alertsIn({ content }: Message): readonly ShownAlert[] {
  return content.items.flatMap(({ change }) =>
    change.kind !== "ended" && mentionsPeople(change) && change.alert.severity === "critical"
      ? [{ alertId: change.alertId, firedAtMs: change.alert.firedAtMs, changeId: change.id }]
      : [],
  );
}

/** Returns true if an emergency covers all alerts of another. */
function coversAlertsOf({ alerts }: Emergency, other: Emergency): boolean {
  const ids = new Set(alerts.map(({ alertId }) => alertId));
  return other.alerts.every(({ alertId }) => ids.has(alertId));
}

/** Returns true if the alert was acknowledged after the given change. A later rise is sent again by itself. */
function isAcknowledgedSince(
  { changes }: { readonly changes: readonly AlertChange[] },
  changeId: number,
): boolean {
  return changes.some(({ kind, id }) => kind === "acknowledged" && id > changeId);
}
