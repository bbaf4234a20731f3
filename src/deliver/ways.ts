/** The channels by which the messages of a queue may leave: one, or those of the people of a rota. */
import type { Channel } from "../channels/channel.ts";
import { prefixOf } from "../channels/rota/channel.ts";
import type { Message } from "../domain/delivery.ts";
import type { ChannelStatus } from "../domain/status.ts";
import { type ChannelState, standInAfterMs } from "./channel-state.ts";
import { dueAtMs, type OutgoingMessage } from "./outgoing-message.ts";

/** A channel by which a message may leave, with the state that all have in common that leave by it. */
export interface Way {
  readonly channel: Channel;
  readonly state: ChannelState;
}

export class Ways {
  readonly #channel: Channel;
  readonly #of: (message: Message | null) => readonly [Way, ...Way[]];

  /** @param stateOf the state of a channel, by its name */
  constructor(channel: Channel, stateOf: (channel: string) => ChannelState) {
    this.#channel = channel;
    const wayBy = (one: Channel): Way => ({ channel: one, state: stateOf(one.name) });
    const { people } = channel;
    if (people === undefined) {
      const own: readonly [Way] = [wayBy(channel)];
      this.#of = () => own;
    } else
      this.#of = (message) => {
        const [first, ...others] = people(message);
        return [wayBy(first), ...others.map(wayBy)];
      };
  }

  /** All ways of a message, or of one that is still to be finalized: who is on duty comes first. */
  of(message: Message | null): readonly [Way, ...Way[]] {
    return this.#of(message);
  }

  /**
   * The way by which a message leaves next; null: one that is sealed now. The first by which messages arrive: one by which they do
   * not is tried again now and then. Where none is left, the one that may be tried soonest.
   */
  next(parcel: OutgoingMessage | null, nowMs: number): Way {
    const all = this.of(parcel?.message ?? null);
    const [first] = all;
    if (all.length === 1) return first;
    const dueMs = ({ state }: Way) => (parcel ? dueAtMs(parcel, state) : Number.NEGATIVE_INFINITY);
    const opensAtMs = (way: Way) => Math.max(dueMs(way), way.state.circuit.opensAtMs(false));
    const arrives = (way: Way) =>
      way.state.passedOverAtMs(way === first ? standInAfterMs : 0) > nowMs ||
      Math.max(dueMs(way), way.state.triedAgainAtMs) <= nowMs;
    // By whom an earlier run was sending it, it may have arrived: that channel finds it by its id.
    const asked = all.find(({ channel }) => parcel?.message.receipt === prefixOf(channel.name));
    if (parcel?.resumed && asked !== undefined && !parcel.tries.has(asked.state) && arrives(asked))
      return asked;
    const left = all.filter(({ state }) => !parcel?.refusedBy.has(state));
    return (
      left.find(arrives) ??
      left.reduce((best, way) => (opensAtMs(way) < opensAtMs(best) ? way : best), left[0] ?? first)
    );
  }

  /** The health of the channel by which something leaves now, and for whom it stands in. */
  health(nowMs: number): Pick<ChannelStatus, "working" | "retrying" | "detail"> {
    const [first] = this.of(null);
    const { state, channel } = this.next(null, nowMs);
    const { detail } = state.health.state;
    const parts =
      this.#channel.people === undefined
        ? [detail]
        : state === first.state
          ? [`${channel.name} is on duty: ${detail}`]
          : [
              `${first.channel.name} is on duty: ${first.state.lastFailure}`,
              `${channel.name} stands in: ${detail}`,
            ];
    return {
      ...state.health.state,
      detail: [...parts, this.#channel.trouble?.()].filter(Boolean).join("; "),
    };
  }

  /** The states of the channels by which something may leave now. */
  inUse(parcels: ReadonlySet<OutgoingMessage>): ReadonlySet<ChannelState> {
    const messages = [null, ...(this.#channel.people === undefined ? [] : parcels)].map(
      (parcel) => parcel?.message ?? null,
    );
    return new Set(messages.flatMap((message) => this.of(message).map(({ state }) => state)));
  }
}
