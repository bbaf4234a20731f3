/**
 * The bot's presence: a gateway connection of discord.js with no intents at all, so that the bot is shown online and
 * Discord can reach it, with what people press and type. Messages never wait for it: they go over REST while this is down.
 *
 * discord.js reconnects by itself, but it does so twice a second for as long as it takes, and gives up for good on some
 * codes. So it may try a few times; then it is taken down and built anew, after a wait that grows. So it is when it
 * throws. gateway-guard.ts keeps what it does from ending the process, and what was taken down from coming back.
 */
import type { Client } from "discord.js";
import type { Clock, Random } from "../../domain/clock.ts";
import { isSafeSocket } from "../address.ts";
import type { ChannelLog } from "../log.ts";
import { parsed } from "../post.ts";
import { withoutSecrets } from "../text.ts";
import { requestTimeoutMs } from "./api.ts";
import { GatewayGuard } from "./gateway-guard.ts";
import { asked, responseOf, type TransportInit } from "./transport.ts";

export interface GatewayOptions {
  readonly apiUrl: string | undefined;
  readonly token: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: ChannelLog;
  /** For how long Discord may take to say hello to a connection; default discord.js' own minute. */
  readonly helloWithinMs?: number;
  /** Told what somebody pressed or typed, unread; may not throw. */
  readonly onInteraction?: (data: unknown) => void;
}

type Library = typeof import("discord.js");

const ownUrl = "https://discord.com/api";
const firstWaitMs = 5_000;
const maxWaitMs = 5 * 60_000;
/** Reconnections that are left to discord.js before it is built anew. */
const maxReconnects = 3;
const stopWithinMs = 2_000;
/** A connection that lasts this long ends a row of failures, ms. */
const steadyMs = 60_000;

export type GatewayState = "off" | "connecting" | "online" | "waiting";

export class DiscordGateway {
  readonly #options: GatewayOptions;
  #client: Client | undefined;
  #guard: GatewayGuard | undefined;
  #cancelWait: (() => void) | undefined;
  #state: GatewayState = "off";
  #life = new AbortController();
  #failures = 0;

  constructor(options: GatewayOptions) {
    this.#options = options;
  }

  get state(): GatewayState {
    return this.#state;
  }

  /** Begins to connect, and to stay connected, in the background. Nothing of it throws. */
  start(): void {
    if (this.#state !== "off") return;
    this.#life = new AbortController();
    void this.#connect(this.#life.signal);
  }

  async stop(): Promise<void> {
    this.#state = "off";
    this.#life.abort();
    this.#cancelWait?.();
    this.#cancelWait = undefined;
    await this.#destroy();
  }

  /** @param life ends with the next stop, though a start may follow at once */
  async #connect(life: AbortSignal): Promise<void> {
    this.#state = "connecting";
    try {
      const library = await import("discord.js");
      if (!life.aborted) await this.#login(library, life);
    } catch (error) {
      // Only what came before there was a client to lose.
      if (!life.aborted && this.#client === undefined) this.#lost(error, life);
    }
  }

  async #login({ Client, Events, SimpleShardingStrategy }: Library, life: AbortSignal): Promise<void> {
    const { apiUrl, token, log, helloWithinMs } = this.#options;
    const lost = (why: unknown) => {
      if (this.#client !== client) return;
      ended();
      this.#lost(why, life);
    };
    const guard = new GatewayGuard(
      () => this.#options.clock.elapsedMs(),
      apiUrl ?? ownUrl,
      (error) => lost(error),
      this.#options.onInteraction,
    );
    const client = new Client({
      intents: [],
      ws: {
        buildStrategy: (manager) => {
          if (helloWithinMs !== undefined) manager.options.helloTimeout = helloWithinMs;
          return guard.strategy(SimpleShardingStrategy, manager);
        },
      },
      rest: {
        timeout: requestTimeoutMs,
        retries: 0,
        rejectOnRateLimit: () => true,
        makeRequest: async (url, init) => {
          const { answer, body } = await asked(url, init as unknown as TransportInit, undefined);
          if (/\/gateway\/bot$/.test(url)) checkGatewayAddress(body, apiUrl ?? ownUrl);
          return responseOf(answer, body);
        },
        ...(apiUrl === undefined ? {} : { api: apiUrl.replace(/\/+$/, "") }),
      },
    });
    this.#client = client;
    this.#guard = guard;
    let reconnects = 0;
    let onlineFromMs: number | null = null;
    const online = () => {
      if (this.#client !== client) return;
      onlineFromMs ??= this.#options.clock.elapsedMs();
      this.#state = "online";
    };
    // Whoever lets us in to send us away at once would have us come back without end.
    const ended = () => {
      if (onlineFromMs !== null && this.#options.clock.elapsedMs() - onlineFromMs >= steadyMs) {
        reconnects = 0;
        this.#failures = 0;
      }
      onlineFromMs = null;
    };
    client.on(Events.ClientReady, () => {
      online();
      if (this.#client === client) log.info({}, "the Discord gateway is connected");
    });
    client.on(Events.ShardReady, online);
    client.on(Events.ShardResume, online);
    client.on(Events.ShardReconnecting, () => {
      if (this.#client !== client) return;
      ended();
      reconnects += 1;
      this.#state = "connecting";
      if (reconnects > maxReconnects) lost("it could not be reconnected");
    });
    client.on(Events.ShardDisconnect, ({ code }) => lost(`closed with code ${code}`));
    client.on(Events.ShardError, (error) =>
      log.debug({ why: withoutSecrets(error.message, [token]) }, "gateway error"),
    );
    client.on(Events.Error, (error) =>
      log.debug({ why: withoutSecrets(error.message, [token]) }, "gateway error"),
    );
    await client.login(token).catch(lost);
  }

  #lost(why: unknown, life: AbortSignal): void {
    const { log, token } = this.#options;
    const words = why instanceof Error ? why.message : typeof why === "string" ? why : "it failed";
    log.warn(
      { why: withoutSecrets(words, [token]) },
      "the Discord gateway is down; messages go on over REST",
    );
    void this.#again(life);
  }

  async #again(life: AbortSignal): Promise<void> {
    await this.#destroy();
    if (life.aborted) return;
    this.#state = "waiting";
    const waitMs =
      Math.min(maxWaitMs, firstWaitMs * 2 ** this.#failures) * (0.9 + 0.2 * this.#options.random());
    this.#failures += 1;
    this.#cancelWait?.();
    this.#cancelWait = this.#options.clock.after(waitMs, () => void this.#connect(life));
  }

  /** Throws nothing, and takes no longer than a server that does not answer a goodbye is given. */
  async #destroy(): Promise<void> {
    const client = this.#client;
    const guard = this.#guard;
    this.#client = undefined;
    this.#guard = undefined;
    if (client === undefined || guard === undefined) return;
    guard.retire();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const limit = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, stopWithinMs);
    });
    await Promise.race([client.destroy().catch(() => {}), limit]);
    clearTimeout(timer);
    guard.cut();
  }
}

/** The bot's token goes to the address that Discord names. @throws where that would be a plain connection over a network */
function checkGatewayAddress(body: string, apiUrl: string): void {
  const { url } = (parsed(body) ?? {}) as { readonly url?: unknown };
  if (typeof url === "string" && !isSafeSocket(url, apiUrl))
    throw new Error("Discord names an address for its gateway that is none, or not safe");
}
