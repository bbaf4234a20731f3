/**
 * Emergencies that sound: looks what became of each every five seconds, as Pushover allows. One that somebody acknowledged there
 * acknowledges its alerts here; one whose alerts are all over, acknowledged or no longer critical here is cancelled, and so is one that a
 * newer emergency about the same alerts takes the place of. After a restart they are found again in the history of messages, also those
 * that sound no more: Pushover tells for a week who acknowledged them meanwhile.
 */

import type { AlertChange } from "../../domain/alert.ts";
import type { Clock } from "../../domain/clock.ts";
import type { Message } from "../../domain/delivery.ts";
import type { ChatActions } from "../../domain/ports.ts";
import type { SendResult } from "../channel.ts";
import type { ChannelLog } from "../log.ts";
import { calls } from "../mention.ts";
import { byOf, type State } from "./verdict.ts";

export interface ReceiptsOptions {
  /** The channel's name in the configuration: the receiver of its messages. */
  readonly name: string;
  /** The time after which an emergency is repeated no more. */
  readonly expireMs: number;
  readonly read: (
    receipt: string,
    signal: AbortSignal,
  ) => Promise<{ readonly result: SendResult; readonly said: object }>;
  readonly cancel: (receipt: string, signal: AbortSignal) => Promise<SendResult>;
  readonly actions: ChatActions;
  readonly clock: Clock;
  readonly log: ChannelLog;
}

/** An alert as an emergency showed it. */
interface Shown {
  readonly alertId: number;
  readonly firedAtMs: number;
  /** Number of the change, whose value an acknowledgement covers. */
  readonly changeId: number;
}

interface Emergency {
  readonly receipt: string;
  readonly alerts: readonly Shown[];
  readonly sentAtMs: number;
  /** A newer one tells of its alerts. */
  replaced: boolean;
}

const everyMs = 5_000;
const maxEmergencies = 200;
/** The time for which Pushover answers about a receipt. */
const receiptMs = 7 * 86_400_000;
const isReceipt = (text: string) => /^[A-Za-z0-9]{30}$/.test(text);

export class Receipts {
  readonly #options: ReceiptsOptions;
  readonly #open = new Map<string, Emergency>();
  #restored = false;
  #life = new AbortController();
  #cancelTimer: (() => void) | null = null;
  #looking: Promise<void> = Promise.resolve();

  constructor(options: ReceiptsOptions) {
    this.#options = options;
  }

  start(): void {
    this.#life = new AbortController();
    this.#restored = false;
    this.#lookLater();
  }

  async stop(): Promise<void> {
    this.#life.abort();
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    await this.#looking;
  }

  /** Follows a message that was accepted, if it is an emergency. */
  sent(message: Message, receipt: string): void {
    if (this.#life.signal.aborted || !isReceipt(receipt)) return;
    this.#follow(message, receipt, this.#options.clock.nowMs());
    this.#lookLater();
  }

  #follow(message: Message, receipt: string, sentAtMs: number): void {
    const alerts = shownIn(message);
    if (alerts.length === 0) return;
    const emergency: Emergency = { receipt, alerts, sentAtMs, replaced: false };
    // Those of an earlier run are found after what was sent since the start.
    for (const one of this.#open.values()) {
      if (one.receipt === receipt) continue;
      const [older, newer] = one.sentAtMs > sentAtMs ? [emergency, one] : [one, emergency];
      older.replaced ||= tellsOfAll(newer, older);
    }
    this.#open.set(receipt, emergency);
    const [oldest] = this.#open.keys();
    if (this.#open.size > maxEmergencies && oldest !== undefined) this.#open.delete(oldest);
  }

  #lookLater(): void {
    if (this.#cancelTimer !== null || this.#life.signal.aborted) return;
    this.#cancelTimer = this.#options.clock.after(everyMs, () => {
      this.#looking = this.#look(this.#life.signal)
        .catch(() => {})
        .then(() => {
          this.#cancelTimer = null;
          if (this.#open.size > 0 || !this.#restored) this.#lookLater();
        });
    });
  }

  async #look(signal: AbortSignal): Promise<void> {
    if (!this.#restored) await this.#restore();
    for (const one of [...this.#open.values()]) {
      signal.throwIfAborted();
      try {
        if (await this.#settled(one, signal)) this.#open.delete(one.receipt);
      } catch (error) {
        if (signal.aborted) throw error;
        const why = error instanceof Error ? error.message : "failed";
        this.#options.log.warn({ why }, "what became of an emergency on Pushover is not known now");
      }
    }
  }

  /** @returns true if nothing is left to do about an emergency */
  async #settled(one: Emergency, signal: AbortSignal): Promise<boolean> {
    const { read, cancel, clock, log } = this.#options;
    if (clock.nowMs() >= one.sentAtMs + receiptMs) return true;
    const { result, said } = await read(one.receipt, signal);
    if (result.kind === "refused") return true;
    if (result.kind === "retry") return false;
    const state = said as State;
    if (state.acknowledged === 1) {
      await this.#acknowledge(one, byOf(state));
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
      // An event is over when it happens: somebody has to have seen it.
      const open = alert?.firedAtMs === firedAtMs && alert.acknowledgedBy === null;
      if (open && (alert.event || (alert.state === "firing" && alert.severity === "critical"))) return false;
    }
    return true;
  }

  /** Finds emergencies of an earlier run: those that sound still, and others about what nobody has acknowledged. */
  async #restore(): Promise<void> {
    const { actions, clock, name, expireMs } = this.#options;
    const nowMs = clock.nowMs();
    for (const message of await actions.criticalMessages(nowMs - receiptMs)) {
      const { receiver, receipt, deliveredAtMs } = message;
      if (receiver !== name || receipt === null || !isReceipt(receipt) || this.#open.has(receipt)) continue;
      if (deliveredAtMs === null || deliveredAtMs + receiptMs <= nowMs) continue;
      const sounds = deliveredAtMs + expireMs > nowMs;
      if (sounds || !(await this.#isOver({ alerts: shownIn(message) })))
        this.#follow(message, receipt, deliveredAtMs);
    }
    this.#restored = true;
  }
}

/** The alerts that an emergency calls for. */
function shownIn({ content }: Message): readonly Shown[] {
  return content.items.flatMap(({ change }) =>
    change.kind !== "ended" && calls(change) && change.alert.severity === "critical"
      ? [{ alertId: change.alertId, firedAtMs: change.alert.firedAtMs, changeId: change.id }]
      : [],
  );
}

/** Returns true if an emergency tells of all alerts of another. */
function tellsOfAll({ alerts }: Emergency, other: Emergency): boolean {
  const ids = new Set(alerts.map(({ alertId }) => alertId));
  return other.alerts.every(({ alertId }) => ids.has(alertId));
}

/** Returns true if somebody has acknowledged the alert since a change of it: what got worse since then is told again. */
function isAcknowledgedSince(
  { changes }: { readonly changes: readonly AlertChange[] },
  changeId: number,
): boolean {
  return changes.some(({ kind, id }) => kind === "acknowledged" && id > changeId);
}
