/** Attempts to send finalized messages: the sender, the replied-to message, and the note on a late message. */
import { dueSinceMs } from "../../alerts/pending/waiting.ts";
import type { Channel, Late, SendResult } from "../../channels/channel.ts";
import { prefixOf } from "../../channels/rota/channel.ts";
import { lateAfterMs } from "../../domain/alerts/delivery.ts";
import type { Clock } from "../../domain/clock.ts";
import type { Store } from "../../domain/ports.ts";
import type { Journal } from "../journal.ts";
import type { DeliverLog } from "../log.ts";
import { attemptWithin, formerRootOf, rootOf, toldBefore } from "./attempt.ts";
import type { ChannelState } from "./channel-state.ts";
import type { OutgoingMessage } from "./outgoing-message.ts";
import type { Way, Ways } from "./ways.ts";

export interface MessageAttemptsOptions {
  readonly channel: Channel;
  readonly ways: Ways;
  readonly store: Pick<Store, "messages">;
  readonly journal: Journal;
  readonly clock: Clock;
  readonly log: DeliverLog;
  /** Aborted when messages under way have to stop too. */
  readonly cut: AbortSignal;
}

export class MessageAttempts {
  readonly #options: MessageAttemptsOptions;
  #startedMs = 0;

  constructor(options: MessageAttemptsOptions) {
    this.#options = options;
  }

  start(): void {
    this.#startedMs = this.#options.clock.nowMs();
  }

  /**
   * Makes one attempt. @returns the answer, and the state of the channel that gave it; null: the program's stop
   * interrupted it
   */
  async make(
    parcel: OutgoingMessage,
  ): Promise<{ readonly result: SendResult; readonly state: ChannelState } | null> {
    const { channel, ways, store, journal, clock, cut, log } = this.#options;
    const { message, resumed } = parcel;
    const attempt = message.attempts + (resumed ? 1 : 0);
    const { keepsGroups = false, edits = false } = channel;
    const before = await toldBefore(message, parcel.entries, store, journal, keepsGroups);
    const root = edits ? await rootOf(message, parcel.entries, store, journal) : undefined;
    const former = edits ? await formerRootOf(message, before, store, journal) : undefined;
    const way = ways.next(parcel, clock.elapsedMs());
    await this.#noteStandIn(parcel, way);
    const late = this.#late(parcel, way);
    const places = { ...before, ...(root ? { root } : {}), ...(former ? { former } : {}) };
    const told = { message, attempt, ...places, ...(late ? { late } : {}) };
    const result = await attemptWithin(told, way.channel, { clock, cut, log });
    if (result === null || (cut.aborted && result.kind !== "delivered")) return null;
    return { result, state: way.state };
  }

  /** Records the stand-in before the attempt: after a crash that person may have received the message. */
  async #noteStandIn(parcel: OutgoingMessage, { channel, state }: Way): Promise<void> {
    const [first] = this.#options.ways.of(parcel.message);
    if (first.state === state) return;
    parcel.message = { ...parcel.message, receipt: prefixOf(channel.name) };
    await this.#options.journal.record({ message: parcel.message, entries: parcel.entries });
  }

  /** Returns the delay and its cause, if the message leaves late or by the channel of a stand-in. */
  #late({ message, entries, refusedBy }: OutgoingMessage, { state }: Way): Late | null {
    const owedMs = entries.reduce(
      (least, { item }) => Math.min(least, dueSinceMs(item)),
      entries.length === 0 ? message.sealedAtMs : Number.POSITIVE_INFINITY,
    );
    const heldMs = this.#options.clock.nowMs() - owedMs;
    const [first] = this.#options.ways.of(message);
    if (first.state !== state) {
      const because = refusedBy.get(first.state) ?? first.state.lastFailure;
      return { heldMs: Number.isFinite(heldMs) ? heldMs : 0, because, insteadOf: first.channel.name };
    }
    if (!Number.isFinite(heldMs) || heldMs <= lateAfterMs) return null;
    const trouble = state.health.troubleSince(owedMs);
    const ran = owedMs >= this.#startedMs;
    const because =
      message.lastDetail ?? trouble ?? (ran ? "other messages went before it" : "perpwatch was not running");
    return { heldMs, because };
  }
}
