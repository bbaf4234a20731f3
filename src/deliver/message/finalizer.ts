/** Makes a message of pending items: its content, id and picture are fixed and committed before a channel gets it. */
import type { ReportedItem } from "../../alerts/pending/reported.ts";
import type { Entry, Lane, Taken } from "../../alerts/pending/waiting.ts";
import type { Channel } from "../../channels/channel.ts";
import type { Message } from "../../domain/alerts/delivery.ts";
import type { Clock } from "../../domain/clock.ts";
import type { Charts, Store } from "../../domain/ports.ts";
import type { Journal } from "../journal.ts";
import type { DeliverLog } from "../log.ts";
import { withChart } from "./finalized-chart.ts";
import type { FiringLists } from "./firing-lists.ts";
import { makeMessage } from "./make-message.ts";
import { withChanges } from "./with-changes.ts";

/**
 * Time for which a critical message, also a quiet one, and messages before it wait for the disk before they leave
 * uncommitted, ms.
 */
const commitPatienceMs = 5_000;
const commitAgainMs = 1_000;

export interface FinalizerOptions {
  readonly channel: Channel;
  readonly store: Pick<Store, "messages" | "alertChanges">;
  readonly journal: Journal;
  readonly clock: Clock;
  readonly sender: string;
  readonly instance: string;
  readonly applyTemplates: (message: Message) => Message;
  readonly standing: FiringLists;
  /** The series of alerts, for channels that draw charts. */
  readonly charts: Charts | null;
  readonly log: DeliverLog;
  /** Takes back entries of which no message was made. */
  readonly putBack: (entries: readonly Entry[]) => void;
}

export class Finalizer {
  readonly #options: FinalizerOptions;
  #againAtMs = Number.NEGATIVE_INFINITY;
  #failsSinceMs: number | null = null;

  constructor(options: FinalizerOptions) {
    this.#options = options;
  }

  /** The time from which it may be tried again, monotonic, ms. */
  get againAtMs(): number {
    return this.#againAtMs;
  }

  /** Notes that the disk has not written for longer than the wait for it. */
  stuck(): void {
    const sinceMs = this.#options.clock.elapsedMs() - commitPatienceMs;
    this.#failsSinceMs = Math.min(this.#failsSinceMs ?? sinceMs, sinceMs);
  }

  /**
   * @param lane the critical one: the items are critical, or precede critical ones @returns null if these items cannot
   * be finalized now
   */
  async message({ entries, folded }: Taken, lane: Lane): Promise<Message | null> {
    const { clock, journal, sender, instance, standing, charts, log } = this.#options;
    const items = await this.#withChanges(entries);
    if (items === null) return null;
    const others = folded === null ? standing.beside(items, clock.nowMs()) : null;
    const stuck = entries.some((entry) => entry.stuck);
    const plain = this.#worded(
      makeMessage(items, {
        ...{ sender, instance, nowMs: clock.nowMs(), folded, standing: others },
        isGone: (alertId) => standing.isGone(alertId),
      }),
    );
    // No pictures are read from a disk that does not write.
    const draws = charts !== null && this.#options.channel.drawsCharts === true && !stuck;
    const message = draws ? await withChart(plain, charts, { clock, log }) : plain;
    for (const entry of entries) entry.item = { ...entry.item, status: "sealed", messageId: message.id };
    if (!stuck && (await journal.commitFinalized({ message, entries }))) {
      this.#failsSinceMs = null;
      return message;
    }
    const elapsedMs = clock.elapsedMs();
    if (!stuck) this.#failsSinceMs ??= elapsedMs;
    const late = elapsedMs - (this.#failsSinceMs ?? elapsedMs) >= commitPatienceMs;
    const critical = lane === "critical" || entries.some(({ item }) => item.severity === "critical");
    if (stuck || (critical && late)) {
      await journal.record({ message, entries });
      return message;
    }
    this.#againAtMs = elapsedMs + commitAgainMs;
    this.#options.putBack(entries);
    return null;
  }

  /** Applies the wording; an error in it does not delay an alert. */
  #worded(message: Message): Message {
    try {
      return this.#options.applyTemplates(message);
    } catch (error) {
      const fields = { channel: this.#options.channel.name, messageId: message.id, error: String(error) };
      this.#options.log.warn(fields, "a channel's own words failed; the usual ones are sent");
      return message;
    }
  }

  /**
   * Returns the changes of these items, read from history if not in memory. @returns null if they cannot be finalized
   * now
   */
  async #withChanges(entries: readonly Entry[]): Promise<readonly ReportedItem[] | null> {
    const { store, clock, log, journal } = this.#options;
    const found = await withChanges(entries, store, log);
    if (found !== null && found.lost.length === 0) return found.found;
    if (found === null) this.#againAtMs = clock.elapsedMs() + commitAgainMs;
    // A row without its change can never be sent; the others of its group continue.
    const lost = found?.lost ?? [];
    for (const entry of lost) {
      entry.item = { ...entry.item, status: "dead" };
      await journal.record({ message: null, entries: [entry] });
    }
    this.#options.putBack(entries.filter((entry) => !lost.includes(entry)));
    return null;
  }
}
