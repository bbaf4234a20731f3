/**
 * The channel for streamed prices: `marketStatsV2`, or the older `marketStats` if the exchange refuses the newer one,
 * sends nothing on it, or sends unreadable messages. Decided again for each connection, and logged once.
 */
import type { ChannelName } from "../../contract/index.ts";
import type { Clock } from "../../domain/clock.ts";
import type { StreamLink } from "../../exchange/stream/link.ts";
import type { CollectLog } from "../log.ts";

/** Without a message of the newer channel for this long after it was subscribed to, the older one is used, ms. */
const maxSilentMs = 10_000;
/** Number of unreadable messages in a row after which the older channel is used, even if earlier ones could be read. */
const maxUnreadable = 3;

export interface PriceChannelOptions {
  readonly link: Pick<StreamLink, "subscribe" | "unsubscribe" | "subscriptions">;
  readonly clock: Clock;
  readonly log: CollectLog;
}

export class PriceChannel {
  readonly #options: PriceChannelOptions;
  #older = false;
  /** True if a message of the newer channel was read on this connection. */
  #read = false;
  /** Number of unreadable messages of the newer channel in a row. */
  #unreadable = 0;
  #cancel: () => void = () => {};
  #logged = false;

  constructor(options: PriceChannelOptions) {
    this.#options = options;
    options.link.subscribe("marketStatsV2", {});
  }

  /** Called when the connection opens. */
  up(): void {
    this.#cancel();
    this.#cancel = this.#options.clock.after(maxSilentMs, () =>
      this.#fallBack(`sent nothing for ${maxSilentMs / 1_000} s`),
    );
  }

  /** Called when a message of the newer channel was read. */
  received(): void {
    this.#read = true;
    this.#unreadable = 0;
    this.#cancel();
  }

  /** Called when a message of the newer channel could not be read. */
  misfit(): void {
    this.#unreadable++;
    if (!this.#read || this.#unreadable >= maxUnreadable) this.#fallBack("sent what cannot be read");
  }

  /** @param channel null: the exchange does not name it; it answers in order, and this one is subscribed to first */
  refused(channel: ChannelName | null): void {
    const { subscriptions } = this.#options.link;
    if (
      channel === "marketStatsV2" ||
      (channel === null && subscriptions.stateOf("marketStatsV2", {}) === "asked")
    )
      this.#fallBack("was refused");
  }

  /** Called when the connection is lost: the next one starts with the newer channel. */
  down(): void {
    this.#cancel();
    this.#read = false;
    this.#unreadable = 0;
    if (!this.#older) return;
    this.#older = false;
    this.#options.link.unsubscribe("marketStats", {});
    this.#options.link.subscribe("marketStatsV2", {});
  }

  /** Uses the older channel for the rest of this connection. @param why the failure of the newer one, for people */
  #fallBack(why: string): void {
    this.#cancel();
    if (this.#older) return;
    this.#older = true;
    const { link, log } = this.#options;
    link.unsubscribe("marketStatsV2", {});
    link.subscribe("marketStats", {});
    if (!this.#logged) log.info({}, `the stream's channel marketStatsV2 ${why}: prices come by marketStats`);
    this.#logged = true;
  }

  stop(): void {
    this.#cancel();
  }
}
