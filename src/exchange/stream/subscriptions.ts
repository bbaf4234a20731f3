/**
 * The subscriptions of one connection: wanted subscriptions survive reconnects, the exchange's answers do not. Data is
 * taken without waiting for a confirmation, so only refusals matter.
 */
import {
  type ChannelName,
  type ControlFrame,
  channels,
  type SubscriptionFor,
  subscribeFrame,
} from "../../contract/index.ts";

export interface Subscription {
  readonly channel: ChannelName;
  readonly params: Readonly<Record<string, unknown>>;
  /** The state on this connection. */
  state: "asked" | "confirmed" | "refused";
}

export class Subscriptions {
  readonly #byKey = new Map<string, Subscription>();
  /** Number of refusals without a named subscription. */
  unnamed = 0;

  /** @returns the frame to send, or null if it is wanted already. Throws ArgumentsRefused for bad parameters. */
  want<N extends ChannelName>(channel: N, params: SubscriptionFor<N>): string | null {
    const frame = subscribeFrame(channel, params);
    const key = keyOf(channel, params as Readonly<Record<string, unknown>>);
    if (this.#byKey.has(key)) return null;
    this.#byKey.set(key, { channel, params: { ...params } as Record<string, unknown>, state: "asked" });
    return JSON.stringify(frame);
  }

  /** @returns the frame to send, or null if it was not wanted */
  unwant<N extends ChannelName>(channel: N, params: SubscriptionFor<N>): string | null {
    if (!this.#byKey.delete(keyOf(channel, params as Readonly<Record<string, unknown>>))) return null;
    return JSON.stringify(subscribeFrame(channel, params, "unsubscribe"));
  }

  /** Returns the frames that restart a subscription from the beginning; none if it is not wanted. */
  again<N extends ChannelName>(channel: N, params: SubscriptionFor<N>): readonly string[] {
    const one = this.#byKey.get(keyOf(channel, params as Readonly<Record<string, unknown>>));
    if (!one) return [];
    one.state = "asked";
    return [
      JSON.stringify(subscribeFrame(channel, params, "unsubscribe")),
      JSON.stringify(subscribeFrame(channel, params)),
    ];
  }

  /** Returns the frames for a new connection: every wanted subscription, in order. */
  all(): readonly string[] {
    this.unnamed = 0;
    return [...this.#byKey.values()].map((one) => {
      one.state = "asked";
      return JSON.stringify(subscribeFrame(one.channel, one.params as never));
    });
  }

  /** Takes the exchange's answer. */
  answered({ accepted, subscription }: ControlFrame): Subscription | null {
    const { channel, ...params } = (
      typeof subscription === "object" && subscription !== null ? subscription : {}
    ) as Record<string, unknown>;
    const known =
      typeof channel === "string" && Object.hasOwn(channels, channel)
        ? this.#byKey.get(keyOf(channel as ChannelName, params))
        : undefined;
    if (known) known.state = accepted ? "confirmed" : "refused";
    else if (!accepted) this.unnamed++;
    return known ?? null;
  }

  get size(): number {
    return this.#byKey.size;
  }

  get refused(): number {
    let count = this.unnamed;
    for (const one of this.#byKey.values()) if (one.state === "refused") count++;
    return count;
  }

  stateOf<N extends ChannelName>(channel: N, params: SubscriptionFor<N>): Subscription["state"] | null {
    return this.#byKey.get(keyOf(channel, params as Readonly<Record<string, unknown>>))?.state ?? null;
  }
}

/** Returns the key of a subscription; symbols may have any case, and missing parameters may be null. */
function keyOf(channel: ChannelName, params: Readonly<Record<string, unknown>>): string {
  const parts: string[] = [];
  for (const name of Object.keys(channels[channel].params).sort()) {
    const value = params[name];
    if (value === undefined || value === null) continue;
    parts.push(
      `${name}=${name.toLowerCase().endsWith("symbol") ? String(value).toUpperCase() : String(value)}`,
    );
  }
  return `${channel} ${parts.join(" ")}`;
}
