/** The channels that can send the messages of a queue: one, or those of the people of a rota. */
import type { Channel } from "../../channels/channel.ts";
import { prefixOf } from "../../channels/rota/channel.ts";
import type { Message } from "../../domain/alerts/delivery.ts";
import type { ChannelStatus } from "../../domain/status.ts";
import { type ChannelState, standInAfterMs } from "./channel-state.ts";
import { dueAtMs, type OutgoingMessage } from "./outgoing-message.ts";

/** A channel that can send a message, with the state shared by all of its queues. */
export interface Way {
  readonly channel: Channel;
  readonly state: ChannelState;
}

export class Ways {
  readonly #channel: Channel;
  readonly #of: (message: Message | null) => readonly [Way, ...Way[]];

  /** @param stateOf returns the state of a channel, by its name */
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

  /** Returns all ways of a message, or of one that is not finalized yet: the person on duty first. */
  of(message: Message | null): readonly [Way, ...Way[]] {
    return this.#of(message);
  }

  /**
   * Returns the way by which a message leaves next; null: one finalized now. It is the first working one; a failing one
   * is tried again from time to time. If none works, it is the one that may be tried soonest.
   */
  next(outgoing: OutgoingMessage | null, nowMs: number): Way {
    const all = this.of(outgoing?.message ?? null);
    const [first] = all;
    if (all.length === 1) return first;
    const dueMs = ({ state }: Way) => (outgoing ? dueAtMs(outgoing, state) : Number.NEGATIVE_INFINITY);
    const opensAtMs = (way: Way) => Math.max(dueMs(way), way.state.circuit.opensAtMs(false));
    const arrives = (way: Way) =>
      way.state.passedOverAtMs(way === first ? standInAfterMs : 0) > nowMs ||
      Math.max(dueMs(way), way.state.triedAgainAtMs) <= nowMs;
    // A message that an earlier run was sending may have arrived: that channel finds it by its id.
    const asked = all.find(({ channel }) => outgoing?.message.receipt === prefixOf(channel.name));
    if (outgoing?.resumed && asked !== undefined && !outgoing.tries.has(asked.state) && arrives(asked))
      return asked;
    const left = all.filter(({ state }) => !outgoing?.refusedBy.has(state));
    return (
      left.find(arrives) ??
      left.reduce((best, way) => (opensAtMs(way) < opensAtMs(best) ? way : best), left[0] ?? first)
    );
  }

  /** Returns the health of the channel currently used, and the person that it stands in for. */
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

  /** Returns the states of the channels currently used. */
  inUse(outgoing: ReadonlySet<OutgoingMessage>): ReadonlySet<ChannelState> {
    const messages = [null, ...(this.#channel.people === undefined ? [] : outgoing)].map(
      (outgoing) => outgoing?.message ?? null,
    );
    return new Set(messages.flatMap((message) => this.of(message).map(({ state }) => state)));
  }
}
