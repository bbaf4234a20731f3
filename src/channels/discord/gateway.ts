/**
 * The bot's presence: a gateway connection of discord.js with no intents at all, so that the bot is shown online and
 * Discord can reach it. Messages never wait for it: they go over REST while this is down.
 *
 * discord.js reconnects by itself, but it does so twice a second for as long as it takes, and gives up for good on some
 * codes. So it may try a few times; then it is taken down and built anew, after a wait that grows. Taking it down has a
 * trap of its own: a client that is destroyed while it waits to reconnect goes on for ever, unseen, and keeps the process
 * alive. A connection begins with a question for its session, so an abandoned client gets no answer to that any more.
 */
import type { Client } from "discord.js";
import type { Clock, Random } from "../../domain/clock.ts";
import type { ChannelLog } from "../log.ts";
import { withoutSecrets } from "../text.ts";
import { requestTimeoutMs } from "./api.ts";

export interface GatewayOptions {
  readonly apiUrl: string | undefined;
  readonly token: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: ChannelLog;
}

const firstWaitMs = 5_000;
const longestWaitMs = 5 * 60_000;
/** Reconnections that are left to discord.js before it is built anew. */
const mostReconnects = 3;
const stopWithinMs = 2_000;

export type GatewayState = "off" | "connecting" | "online" | "waiting";

export class DiscordGateway {
  readonly #options: GatewayOptions;
  #client: Client | undefined;
  #abandon: (() => void) | undefined;
  #cancelWait: (() => void) | undefined;
  #state: GatewayState = "off";
  #failures = 0;

  constructor(options: GatewayOptions) {
    this.#options = options;
  }

  get state(): GatewayState {
    return this.#state;
  }

  /** Begins to connect, and to stay connected, in the background. */
  start(): void {
    if (this.#state === "off") void this.#connect();
  }

  async stop(): Promise<void> {
    this.#state = "off";
    this.#cancelWait?.();
    this.#cancelWait = undefined;
    await this.#destroy();
  }

  async #connect(): Promise<void> {
    const { apiUrl, token, log } = this.#options;
    this.#state = "connecting";
    const { Client, Events, SimpleShardingStrategy } = await import("discord.js");
    if (this.#isOff()) return;
    let abandoned = false;
    const client = new Client({
      intents: [],
      ws: {
        buildStrategy: (manager) => {
          const { retrieveSessionInfo } = manager.options;
          manager.options.retrieveSessionInfo = (shard) =>
            abandoned ? new Promise(() => {}) : retrieveSessionInfo(shard);
          return new SimpleShardingStrategy(manager);
        },
      },
      rest: {
        timeout: requestTimeoutMs,
        retries: 0,
        rejectOnRateLimit: () => true,
        ...(apiUrl === undefined ? {} : { api: apiUrl.replace(/\/+$/, "") }),
      },
    });
    this.#client = client;
    this.#abandon = () => {
      abandoned = true;
    };
    let reconnects = 0;
    const lost = (why: string) => {
      if (this.#client !== client) return;
      log.warn(
        { why: withoutSecrets(why, [token]) },
        "the Discord gateway is down; messages go on over REST",
      );
      void this.#again();
    };
    const online = () => {
      reconnects = 0;
      this.#failures = 0;
      if (this.#client === client) this.#state = "online";
    };
    client.on(Events.ClientReady, () => {
      online();
      log.info({}, "the Discord gateway is connected");
    });
    client.on(Events.ShardReady, online);
    client.on(Events.ShardResume, online);
    client.on(Events.ShardReconnecting, () => {
      reconnects += 1;
      if (this.#client === client) this.#state = "connecting";
      if (reconnects > mostReconnects) lost("it could not be reconnected");
    });
    client.on(Events.ShardDisconnect, ({ code }) => lost(`closed with code ${code}`));
    client.on(Events.ShardError, (error) =>
      log.debug({ why: withoutSecrets(error.message, [token]) }, "gateway error"),
    );
    client.on(Events.Error, (error) =>
      log.debug({ why: withoutSecrets(error.message, [token]) }, "gateway error"),
    );
    try {
      await client.login(token);
    } catch (error) {
      lost(error instanceof Error ? error.message : "login failed");
    }
  }

  async #again(): Promise<void> {
    await this.#destroy();
    if (this.#isOff()) return;
    this.#state = "waiting";
    const waitMs =
      Math.min(longestWaitMs, firstWaitMs * 2 ** this.#failures) * (0.9 + 0.2 * this.#options.random());
    this.#failures += 1;
    this.#cancelWait?.();
    this.#cancelWait = this.#options.clock.after(waitMs, () => void this.#connect());
  }

  #isOff(): boolean {
    return this.#state === "off";
  }

  async #destroy(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    this.#abandon?.();
    this.#abandon = undefined;
    if (client === undefined) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const limit = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, stopWithinMs);
    });
    await Promise.race([client.destroy().catch(() => {}), limit]);
    clearTimeout(timer);
  }
}
