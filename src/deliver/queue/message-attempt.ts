/** Attempts to send finalized messages: the sender, the replied-to message, and the note on a late message. */
import { dueSinceMs } from "../../alerts/pending/waiting.ts";
import type { Channel, Late, SendResult } from "../../channels/channel.ts";
import { prefixOf } from "../../channels/rota/channel.ts";
import { lateAfterMs } from "../../domain/alerts/delivery.ts";
import type { Clock } from "../../domain/clock.ts";
import type { Store } from "../../domain/ports.ts";
import type { Journal } from "../journal.ts";
import type { DeliverLog } from "../log.ts";
import { attemptWithin, earlierMessages, formerRootOf, rootOf } from "./attempt.ts";
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
    outgoing: OutgoingMessage,
  ): Promise<{ readonly result: SendResult; readonly state: ChannelState } | null> {
    const { channel, ways, store, journal, clock, cut, log } = this.#options;
    const { message, resumed } = outgoing;
    const attempt = message.attempts + (resumed ? 1 : 0);
    const { keepsGroups = false, edits = false } = channel;
    const before = await earlierMessages(message, outgoing.entries, store, journal, keepsGroups);
    const root = edits ? await rootOf(message, outgoing.entries, store, journal) : undefined;
    const former = edits ? await formerRootOf(message, before, store, journal) : undefined;
    const way = ways.next(outgoing, clock.elapsedMs());
    await this.#noteStandIn(outgoing, way);
    const late = this.#late(outgoing, way);
    const places = { ...before, ...(root ? { root } : {}), ...(former ? { former } : {}) };
    const request = { message, attempt, ...places, ...(late ? { late } : {}) };
    const result = await attemptWithin(request, way.channel, { clock, cut, log });
    if (result === null || (cut.aborted && result.kind !== "delivered")) return null;
    return { result, state: way.state };
  }

  /** Records the stand-in before the attempt: after a crash that person may have received the message. */
  async #noteStandIn(outgoing: OutgoingMessage, { channel, state }: Way): Promise<void> {
    const [first] = this.#options.ways.of(outgoing.message);
    if (first.state === state) return;
    outgoing.message = { ...outgoing.message, receipt: prefixOf(channel.name) };
    await this.#options.journal.record({ message: outgoing.message, entries: outgoing.entries });
  }

  /** Returns the delay and its cause, if the message leaves late or by the channel of a stand-in. */
  #late({ message, entries, refusedBy }: OutgoingMessage, { state }: Way): Late | null {
    const pendingSinceMs = entries.reduce(
      (least, { item }) => Math.min(least, dueSinceMs(item)),
      entries.length === 0 ? message.sealedAtMs : Number.POSITIVE_INFINITY,
    );
    const heldMs = this.#options.clock.nowMs() - pendingSinceMs;
    const [first] = this.#options.ways.of(message);
    if (first.state !== state) {
      const because = refusedBy.get(first.state) ?? first.state.lastFailure;
      return { heldMs: Number.isFinite(heldMs) ? heldMs : 0, because, insteadOf: first.channel.name };
    }
    if (!Number.isFinite(heldMs) || heldMs <= lateAfterMs) return null;
    const trouble = state.health.troubleSince(pendingSinceMs);
    const ran = pendingSinceMs >= this.#startedMs;
    const because =
      message.lastDetail ?? trouble ?? (ran ? "other messages went before it" : "perpwatch was not running");
    return { heldMs, because };
  }
}
