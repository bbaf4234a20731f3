/**
 * The bot's gateway connection through discord.js, without intents: it shows the bot as online and receives
 * interactions. Messages do not depend on it; they are sent over REST.
 *
 * discord.js reconnects by itself, but twice a second without end, and stops for good on some close codes. Therefore it
 * may try a few times; then, or when it throws, the client is destroyed and created anew after a growing wait.
 * gateway-guard.ts keeps its failures from ending the process, and destroyed clients from connecting.
 */
import type { Client } from "discord.js";
import type { Clock, Random } from "../../../domain/clock.ts";
import { isSafeSocket } from "../../address.ts";
import type { ChannelLog } from "../../log.ts";
import { withoutSecrets } from "../../message/text.ts";
import { tryParseJson } from "../../post.ts";
import { requestTimeoutMs } from "../api.ts";
import { responseOf, sendRequest, type TransportInit } from "../transport.ts";
import { GatewayGuard } from "./gateway-guard.ts";

export interface GatewayOptions {
  readonly apiUrl: string | undefined;
  readonly token: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: ChannelLog;
  /** Maximum wait for Discord's hello on a connection; default: discord.js' own minute. */
  readonly helloTimeoutMs?: number;
  /** Receives presses and commands, unparsed. Must not throw. */
  readonly onInteraction?: (data: unknown) => void;
}

type Library = typeof import("discord.js");

const defaultApiUrl = "https://discord.com/api";
const firstWaitMs = 5_000;
const maxWaitMs = 5 * 60_000;
/** Reconnections by discord.js before the client is created anew. */
const maxReconnects = 3;
const stopTimeoutMs = 2_000;
/** A connection of this length resets the failure count, ms. */
const stableAfterMs = 60_000;

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

  /** Connects, and stays connected, in the background. Does not throw. */
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

  /** @param life ends with the next stop, even if a start follows at once */
  async #connect(life: AbortSignal): Promise<void> {
    this.#state = "connecting";
    try {
      const library = await import("discord.js");
      if (!life.aborted) await this.#login(library, life);
    } catch (error) {
      // Only failures before a client existed; later ones are reported by its events.
      if (!life.aborted && this.#client === undefined) this.#onLost(error, life);
    }
  }

  async #login({ Client, Events, SimpleShardingStrategy }: Library, life: AbortSignal): Promise<void> {
    const { apiUrl, token, log, helloTimeoutMs } = this.#options;
    const onLost = (why: unknown) => {
      if (this.#client !== client) return;
      onDisconnected();
      this.#onLost(why, life);
    };
    const guard = new GatewayGuard(
      () => this.#options.clock.elapsedMs(),
      apiUrl ?? defaultApiUrl,
      (error) => onLost(error),
      this.#options.onInteraction,
    );
    const client = new Client({
      intents: [],
      ws: {
        buildStrategy: (manager) => {
          if (helloTimeoutMs !== undefined) manager.options.helloTimeout = helloTimeoutMs;
          return guard.strategy(SimpleShardingStrategy, manager);
        },
      },
      rest: {
        timeout: requestTimeoutMs,
        retries: 0,
        rejectOnRateLimit: () => true,
        makeRequest: async (url, init) => {
          const { answer, body } = await sendRequest(url, init as unknown as TransportInit, undefined);
          if (/\/gateway\/bot$/.test(url)) checkGatewayAddress(body, apiUrl ?? defaultApiUrl);
          return responseOf(answer, body);
        },
        ...(apiUrl === undefined ? {} : { api: apiUrl.replace(/\/+$/, "") }),
      },
    });
    this.#client = client;
    this.#guard = guard;
    let reconnects = 0;
    let onlineSinceMs: number | null = null;
    const onOnline = () => {
      if (this.#client !== client) return;
      onlineSinceMs ??= this.#options.clock.elapsedMs();
      this.#state = "online";
    };
    // A server that accepts and closes connections at once must not reset the counters.
    const onDisconnected = () => {
      if (onlineSinceMs !== null && this.#options.clock.elapsedMs() - onlineSinceMs >= stableAfterMs) {
        reconnects = 0;
        this.#failures = 0;
      }
      onlineSinceMs = null;
    };
    client.on(Events.ClientReady, () => {
      onOnline();
      if (this.#client === client) log.info({}, "the Discord gateway is connected");
    });
    client.on(Events.ShardReady, onOnline);
    client.on(Events.ShardResume, onOnline);
    client.on(Events.ShardReconnecting, () => {
      if (this.#client !== client) return;
      onDisconnected();
      reconnects += 1;
      this.#state = "connecting";
      if (reconnects > maxReconnects) onLost("it could not be reconnected");
    });
    client.on(Events.ShardDisconnect, ({ code }) => onLost(`closed with code ${code}`));
    client.on(Events.ShardError, (error) =>
      log.debug({ why: withoutSecrets(error.message, [token]) }, "gateway error"),
    );
    client.on(Events.Error, (error) =>
      log.debug({ why: withoutSecrets(error.message, [token]) }, "gateway error"),
    );
    await client.login(token).catch(onLost);
  }

  #onLost(why: unknown, life: AbortSignal): void {
    const { log, token } = this.#options;
    const words = why instanceof Error ? why.message : typeof why === "string" ? why : "it failed";
    log.warn(
      { why: withoutSecrets(words, [token]) },
      "the Discord gateway is down; messages go on over REST",
    );
    void this.#reconnectLater(life);
  }

  async #reconnectLater(life: AbortSignal): Promise<void> {
    await this.#destroy();
    if (life.aborted) return;
    this.#state = "waiting";
    const waitMs =
      Math.min(maxWaitMs, firstWaitMs * 2 ** this.#failures) * (0.9 + 0.2 * this.#options.random());
    this.#failures += 1;
    this.#cancelWait?.();
    this.#cancelWait = this.#options.clock.after(waitMs, () => void this.#connect(life));
  }

  /** Destroys the client. Does not throw, and waits at most `stopTimeoutMs` for the server's close. */
  async #destroy(): Promise<void> {
    const client = this.#client;
    const guard = this.#guard;
    this.#client = undefined;
    this.#guard = undefined;
    if (client === undefined || guard === undefined) return;
    guard.retire();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const limit = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, stopTimeoutMs);
    });
    await Promise.race([client.destroy().catch(() => {}), limit]);
    clearTimeout(timer);
    guard.closeSockets();
  }
}

/** Checks the gateway address, which will receive the bot's token. @throws if it is not a secure WebSocket address */
function checkGatewayAddress(body: string, apiUrl: string): void {
  const { url } = (tryParseJson(body) ?? {}) as { readonly url?: unknown };
  if (typeof url === "string" && !isSafeSocket(url, apiUrl))
    throw new Error("Discord names an address for its gateway that is none, or not safe");
}
