/**
 * Channels of a simulation, one object for each life of the daemon and one far side for all of them. `keepsIds`: told that it is
 * not the first attempt, the channel looks for an earlier one that arrived, as chats do; else every attempt that gets through
 * arrives, as mails do. What each can hold apart is a trait of real channels, so each is here once.
 */
import type { Channel, Outgoing, ProbeResult, SendResult } from "../../src/channels/channel.ts";
import type { createChannel } from "../../src/channels/registry.ts";
import type { Random } from "../../src/domain/clock.ts";
import type { ProcessClock } from "./clock.ts";
import type { EventLog } from "./log.ts";
import type { Weather } from "./weather.ts";

export interface ChannelTraits {
  readonly keepsIds: boolean;
  readonly keepsGroups: boolean;
  readonly isNeverFolded: boolean;
}

export const channelTraits: Readonly<Record<string, ChannelTraits>> = {
  chat: { keepsIds: true, keepsGroups: true, isNeverFolded: false },
  mail: { keepsIds: false, keepsGroups: false, isNeverFolded: false },
  pager: { keepsIds: true, keepsGroups: false, isNeverFolded: true },
};

/** The far sides: receipts by channel and id of what arrived. */
export type FarSides = Map<string, string>;

export interface ChannelsParts {
  readonly life: number;
  readonly clock: ProcessClock;
  readonly random: Random;
  readonly weather: Weather;
  readonly log: EventLog;
  readonly farSides: FarSides;
}

const deadlineMs = 11_000;
const leastMs = 15;
const spreadMs = 400;
const ok: ProbeResult = { kind: "ok", detail: "it answers" };
const away = { kind: "failed", failure: "unreachable", detail: "no answer", fix: "wait" } as const;
const forbidden: ProbeResult = {
  kind: "failed",
  failure: "authentication",
  detail: "401 unknown key",
  fix: "give it another key",
};

/** Makes the channels of one life. */
export function channelsOf(parts: ChannelsParts): typeof createChannel {
  return (name, { type }) => new SimulatedChannel(name, type, parts);
}

class SimulatedChannel implements Channel {
  readonly kind = "simulated";
  readonly deadlineMs = deadlineMs;
  readonly name: string;
  readonly keepsGroups: boolean;
  readonly isNeverFolded: boolean;
  readonly edits?: true;
  readonly #traits: ChannelTraits;
  readonly #parts: ChannelsParts;

  /** @param type of its settings: what a bot is told of incidents is edited into the first message of each */
  constructor(name: string, type: string, parts: ChannelsParts) {
    if (type === "telegram") this.edits = true;
    this.name = name;
    this.#parts = parts;
    this.#traits = channelTraits[name]!;
    this.keepsGroups = this.#traits.keepsGroups;
    this.isNeverFolded = this.#traits.isNeverFolded;
  }

  start(signal: AbortSignal): Promise<ProbeResult> {
    return this.probe(signal);
  }

  async probe(signal: AbortSignal): Promise<ProbeResult> {
    const { weather } = this.#parts;
    const ours = ({ channel }: { readonly channel: string }) => channel === this.name;
    await this.#trip(signal);
    if (weather.now("channelHangs", ours)) await never(signal);
    if (weather.now("channelForbids", ours)) return forbidden;
    return weather.now("channelRefuses", ours) ? away : ok;
  }

  async stop(): Promise<void> {}

  async send({ message, attempt }: Outgoing, signal: AbortSignal): Promise<SendResult> {
    const { weather, random, log, life, farSides } = this.#parts;
    const channel = this.name;
    const { id } = message;
    const ours = (fault: { readonly channel: string }) => fault.channel === channel;
    log.add({ kind: "attempt", life, channel, id });
    await this.#trip(signal);
    if (weather.now("channelHangs", ours)) await never(signal);
    const refuses = weather.now("channelRefuses", ours);
    if (refuses) {
      await this.#trip(signal);
      return refuses.limited
        ? { kind: "retry", failure: "rate-limited", detail: "slow down", afterMs: 3_000 }
        : { kind: "retry", failure: "server-error", detail: "503", afterMs: null };
    }
    if (weather.now("channelForbids", ours)) {
      await this.#trip(signal);
      log.add({ kind: "forbidden", life, channel });
      return { kind: "refused", failure: "authentication", detail: "401 unknown key", channelBroken: true };
    }
    const rejects = weather.now("channelRejects", ours);
    if (rejects && random() < rejects.share) {
      await this.#trip(signal);
      log.add({ kind: "rejected", life, channel, id });
      return { kind: "refused", failure: "rejected", detail: "400 bad message", channelBroken: false };
    }
    const key = `${channel} ${id}`;
    const known = this.#traits.keepsIds && attempt > 0 ? farSides.get(key) : undefined;
    const receipt = known ?? `receipt-${farSides.size + 1}`;
    if (known === undefined) {
      farSides.set(key, receipt);
      log.add({ kind: "arrived", life, channel, message, attempt });
    }
    const loses = weather.now("answersLost", ours);
    if (loses && random() < loses.share) await never(signal);
    await this.#trip(signal);
    const result: SendResult = { kind: "delivered", receipt };
    log.add({ kind: "answered", life, channel, id });
    return result;
  }

  #trip(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#parts;
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      clock.arrive(leastMs + random() * spreadMs, resolve);
    });
  }
}

/** Waits for the end of an attempt. */
function never(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
