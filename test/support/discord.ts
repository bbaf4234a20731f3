/**
 * A local Discord for tests: REST v10 and gateway on one loopback port, strict where Discord is strict (authorization,
 * permissions, text limits, nonces, mentions), and unwell on demand. The real discord.js speaks to it.
 *
 *   await using discord = await startDiscord();
 *   // config: { type: discord, token: discord.token, channelId: discord.channelId, apiUrl: discord.apiUrl }
 *   discord.fail({ effect: { kind: "status", status: 503 }, times: 2 });
 *   const message = await discord.waitForMessage((m) => m.text.includes("FIRING"));
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { Gateway, type LocalGateway } from "./discord-gateway.ts";
import { invalidForm, messageProblems, pinged } from "./discord-limits.ts";
import { Watched } from "./wait.ts";

export interface DiscordEmbed {
  readonly title?: string;
  readonly description?: string;
  readonly color?: number;
  readonly url?: string;
  readonly timestamp?: string;
  readonly footer?: { readonly text: string };
  readonly fields?: readonly { readonly name: string; readonly value: string; readonly inline?: boolean }[];
}

export interface DiscordMessage {
  readonly id: string;
  readonly channelId: string;
  readonly via: "bot" | "webhook";
  readonly authorId: string;
  readonly nonce: string | null;
  /** The message that it replies to. */
  readonly replyTo: string | null;
  readonly sentAtMs: number;
  content: string;
  embeds: readonly DiscordEmbed[];
  /** Who was really pinged, after allowed_mentions. */
  pings: { readonly users: readonly string[]; readonly roles: readonly string[]; readonly everyone: boolean };
  edits: number;
  /** All that a reader sees, joined by newlines: content, then each embed's title, description, fields, footer. */
  text: string;
}

export interface DiscordRequest {
  readonly method: string;
  /** Without the `/api/v10` in front and without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: unknown;
  readonly atMs: number;
  /** What was answered; null while unanswered, 0 when the connection was cut instead. */
  status: number | null;
}

export type DiscordEffect =
  | {
      readonly kind: "status";
      readonly status: number;
      readonly body?: unknown;
      readonly headers?: Record<string, string>;
    }
  | { readonly kind: "rateLimit"; readonly retryAfterMs: number; readonly global?: boolean }
  /** Reads the request and never answers; nothing is stored. */
  | { readonly kind: "hang" }
  /** Answers the headers of a 200 and never the body; the message is stored. */
  | { readonly kind: "stallBody" }
  /** Stores the message, then hangs up instead of answering. */
  | { readonly kind: "loseReply" }
  /** Hangs up at once; nothing is stored. */
  | { readonly kind: "hangUp" }
  /** Answers late, otherwise as ever. */
  | { readonly kind: "delay"; readonly ms: number };

export interface DiscordFault {
  readonly method?: string;
  /** Exact path, prefix ending in `*`, or pattern; default: everything that creates a message. */
  readonly path?: string | RegExp;
  /** Default 1. */
  readonly times?: number;
  readonly effect: DiscordEffect;
}

export type DiscordPermission =
  | "ADMINISTRATOR"
  | "VIEW_CHANNEL"
  | "SEND_MESSAGES"
  | "EMBED_LINKS"
  | "READ_MESSAGE_HISTORY"
  | "MENTION_EVERYONE";

const permissionBits: Record<DiscordPermission, bigint> = {
  ADMINISTRATOR: 1n << 3n,
  VIEW_CHANNEL: 1n << 10n,
  SEND_MESSAGES: 1n << 11n,
  EMBED_LINKS: 1n << 14n,
  READ_MESSAGE_HISTORY: 1n << 16n,
  MENTION_EVERYONE: 1n << 17n,
};

export interface DiscordOptions {
  /** Wall time of message ids and of the nonce window; default the machine's. */
  readonly now?: () => number;
  /** For how long a nonce is remembered; default 3 minutes. */
  readonly nonceWindowMs?: number;
  /** A real bucket for creating messages; default none. */
  readonly bucket?: { readonly limit: number; readonly perMs: number };
  readonly heartbeatMs?: number;
}

export interface LocalDiscord extends AsyncDisposable {
  /** For `apiUrl` in the configuration, discord.js' `rest.api`. */
  readonly apiUrl: string;
  /** The bot's token. Setting it makes the old one invalid. */
  token: string;
  readonly botId: string;
  readonly guildId: string;
  readonly channelId: string;
  readonly otherChannelId: string;
  /** A role that anyone may mention. */
  readonly roleId: string;
  readonly webhookUrl: string;
  readonly messages: readonly DiscordMessage[];
  readonly requests: readonly DiscordRequest[];
  readonly gateway: LocalGateway;
  /** What the bot may do in the channels; change it at will. */
  readonly permissions: Set<DiscordPermission>;
  roleMentionable: boolean;
  waitForMessage(fits: (message: DiscordMessage) => boolean, timeoutMs?: number): Promise<DiscordMessage>;
  waitForRequest(fits: (request: DiscordRequest) => boolean, timeoutMs?: number): Promise<DiscordRequest>;
  /** @returns how often it is still to come. */
  fail(fault: DiscordFault): { left(): number };
  clearFaults(): void;
  /** Somebody else writes into the channel. */
  say(content: string, channelId?: string): DiscordMessage;
  /** A moderator removes a message. */
  remove(messageId: string): void;
  /** The channel is deleted; so is its webhook. */
  removeChannel(channelId?: string): void;
  close(): Promise<void>;
}

class Refusal extends Error {
  readonly status: number;
  readonly body: object;
  constructor(status: number, code: number, message: string, body?: object) {
    super(message);
    this.status = status;
    this.body = body ?? { message, code };
  }
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

const creates = /^\/(channels\/\d+\/messages|webhooks\/\d+\/[^/]+)$/;

export async function startDiscord(options: DiscordOptions = {}): Promise<LocalDiscord> {
  const discord = new Discord(options);
  await discord.listen();
  return discord;
}

class Discord implements LocalDiscord {
  readonly botId = "1100000000000000001";
  readonly guildId = "1100000000000000002";
  readonly channelId = "1100000000000000003";
  readonly otherChannelId = "1100000000000000004";
  readonly roleId = "1100000000000000005";
  readonly #applicationId = "1100000000000000006";
  readonly #webhookId = "1100000000000000007";
  readonly #webhookToken = "wh00k-s3cret_ToKeN-never-to-be-shown-0123456789abcdefghijklmnop";
  readonly #personId = "1100000000000000008";

  token = "MTEwMDAwMDAwMDAwMDAwMDAwMQ.GbotTk.s3cret-bot-token-never-to-be-shown-000";
  roleMentionable = true;
  readonly permissions = new Set<DiscordPermission>([
    "VIEW_CHANNEL",
    "SEND_MESSAGES",
    "EMBED_LINKS",
    "READ_MESSAGE_HISTORY",
  ]);
  readonly gateway: Gateway;

  readonly #options: DiscordOptions;
  readonly #now: () => number;
  readonly #messages = new Watched<DiscordMessage>();
  readonly #requests = new Watched<DiscordRequest>();
  readonly #channels = new Set([this.channelId, this.otherChannelId]);
  readonly #sockets = new Set<Socket>();
  readonly #server = createServer((request, response) => void this.#serve(request, response));
  #faults: { readonly fault: DiscordFault; left: number }[] = [];
  #bucket = { used: 0, resetsAtMs: 0 };
  #counter = 0n;
  #port = 0;

  constructor(options: DiscordOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.gateway = new Gateway({
      token: () => this.token,
      user: this.#botUser(),
      applicationId: this.#applicationId,
      url: () => `ws://127.0.0.1:${this.#port}/gateway`,
      heartbeatMs: options.heartbeatMs ?? 41_250,
    });
    this.#server.on("connection", (socket) => {
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
    });
    this.#server.on("upgrade", (request, socket, head) => this.gateway.upgrade(request, socket, head));
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  get apiUrl(): string {
    return `http://127.0.0.1:${this.#port}/api`;
  }
  get webhookUrl(): string {
    return `${this.apiUrl}/webhooks/${this.#webhookId}/${this.#webhookToken}`;
  }
  get messages(): readonly DiscordMessage[] {
    return this.#messages.items;
  }
  get requests(): readonly DiscordRequest[] {
    return this.#requests.items;
  }
  waitForMessage(fits: (message: DiscordMessage) => boolean, timeoutMs?: number): Promise<DiscordMessage> {
    return this.#messages.waitFor(fits, timeoutMs);
  }
  waitForRequest(fits: (request: DiscordRequest) => boolean, timeoutMs?: number): Promise<DiscordRequest> {
    return this.#requests.waitFor(fits, timeoutMs);
  }
  fail(fault: DiscordFault): { left(): number } {
    const entry = { fault, left: fault.times ?? 1 };
    this.#faults.push(entry);
    return { left: () => entry.left };
  }
  clearFaults(): void {
    this.#faults = [];
  }
  say(content: string, channelId = this.channelId): DiscordMessage {
    return this.#store(channelId, "bot", this.#personId, { content });
  }
  remove(messageId: string): void {
    const index = this.#messages.items.findIndex((message) => message.id === messageId);
    if (index >= 0) this.#messages.items.splice(index, 1);
  }
  removeChannel(channelId = this.channelId): void {
    this.#channels.delete(channelId);
  }
  async close(): Promise<void> {
    this.gateway.close();
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let raw = "";
    try {
      for await (const chunk of request) raw += String(chunk);
    } catch {
      return;
    }
    const url = new URL(request.url ?? "/", this.apiUrl);
    const path = url.pathname.replace(/^\/api(\/v10)?(?=\/)/, "");
    let body: unknown;
    try {
      body = raw === "" ? undefined : JSON.parse(raw);
    } catch {
      body = raw;
    }
    const method = request.method ?? "GET";
    const entry: DiscordRequest = {
      method,
      path,
      query: url.searchParams,
      body,
      atMs: this.#now(),
      status: null,
    };
    this.#requests.add(entry);
    const authorization = request.headers.authorization;
    const answer = (): Answer =>
      this.#answer(url.pathname, method, path, url.searchParams, body, authorization);
    const reply = ({ status, body: sent }: Answer, headers: Record<string, string> = {}) => {
      if (response.destroyed) return;
      entry.status = status;
      const json = typeof sent === "string" ? sent : JSON.stringify(sent ?? {});
      response.writeHead(status, {
        "content-type": "application/json",
        ...this.#bucketHeaders(method, path),
        ...headers,
      });
      response.end(status === 204 ? undefined : json);
      this.#requests.changed();
    };
    const cut = () => {
      entry.status = 0;
      request.socket.destroy();
      this.#requests.changed();
    };

    const effect = this.#takeFault(method, path);
    switch (effect?.kind) {
      case "hang":
        return;
      case "hangUp":
        return cut();
      case "loseReply":
        answer();
        return cut();
      case "stallBody":
        answer();
        entry.status = 200;
        response.writeHead(200, { "content-type": "application/json", "content-length": "1000" });
        response.write('{"id":');
        return this.#requests.changed();
      case "status":
        return reply(
          { status: effect.status, body: effect.body ?? { message: `${effect.status}: on demand`, code: 0 } },
          effect.headers,
        );
      case "rateLimit":
        return reply(...limited(effect.retryAfterMs, effect.global === true));
      case "delay":
        await new Promise((resolve) => setTimeout(resolve, effect.ms));
    }
    const wait = this.#overBucket(method, path);
    if (wait > 0) return reply(...limited(wait, false));
    reply(answer());
  }

  #takeFault(method: string, path: string): DiscordEffect | undefined {
    const found = this.#faults.find(({ fault, left }) => {
      if (left <= 0 || (fault.method !== undefined && fault.method !== method)) return false;
      if (fault.path === undefined) return method === "POST" && creates.test(path);
      if (fault.path instanceof RegExp) return fault.path.test(path);
      return fault.path.endsWith("*") ? path.startsWith(fault.path.slice(0, -1)) : path === fault.path;
    });
    if (found === undefined) return undefined;
    found.left -= 1;
    return found.fault.effect;
  }

  /** @returns how long the caller has to wait, ms; 0 when there is room, which it then takes. */
  #overBucket(method: string, path: string): number {
    const bucket = this.#options.bucket;
    if (bucket === undefined || method !== "POST" || !creates.test(path)) return 0;
    const now = this.#now();
    if (now >= this.#bucket.resetsAtMs) this.#bucket = { used: 0, resetsAtMs: now + bucket.perMs };
    if (this.#bucket.used >= bucket.limit) return this.#bucket.resetsAtMs - now;
    this.#bucket.used += 1;
    return 0;
  }

  #bucketHeaders(method: string, path: string): Record<string, string> {
    const bucket = this.#options.bucket;
    const counted = bucket !== undefined && method === "POST" && creates.test(path);
    const left = counted ? bucket.limit - this.#bucket.used : 49;
    const afterMs = counted ? Math.max(0, this.#bucket.resetsAtMs - this.#now()) : 1_000;
    return {
      "x-ratelimit-limit": String(counted ? bucket.limit : 50),
      "x-ratelimit-remaining": String(left),
      "x-ratelimit-reset-after": (afterMs / 1_000).toFixed(3),
      "x-ratelimit-bucket": counted ? "messages" : `${method}-others`,
    };
  }

  #answer(
    fullPath: string,
    method: string,
    path: string,
    query: URLSearchParams,
    body: unknown,
    authorization: string | undefined,
  ): Answer {
    try {
      return this.#route(fullPath, method, path, query, body, authorization);
    } catch (error) {
      if (error instanceof Refusal) return { status: error.status, body: error.body };
      throw error;
    }
  }

  #route(
    fullPath: string,
    method: string,
    path: string,
    query: URLSearchParams,
    body: unknown,
    authorization: string | undefined,
  ): Answer {
    const parts = path.split("/").slice(1);
    if (parts[0] === "webhooks") return this.#webhook(method, parts, query, body);
    if (!fullPath.startsWith("/api/v10/")) throw new Refusal(404, 0, "404: Not Found");
    if (`${method} ${path}` === "GET /gateway") return ok({ url: `ws://127.0.0.1:${this.#port}/gateway` });
    if (authorization !== `Bot ${this.token}`) throw new Refusal(401, 0, "401: Unauthorized");
    if (`${method} ${path}` === "GET /gateway/bot") {
      if (this.gateway.down) return { status: 503, body: { message: "503: Service Unavailable", code: 0 } };
      const limit = { total: 1_000, remaining: 999, reset_after: 86_400_000, max_concurrency: 1 };
      return ok({ url: `ws://127.0.0.1:${this.#port}/gateway`, shards: 1, session_start_limit: limit });
    }
    if (`${method} ${path}` === "GET /users/@me") return ok(this.#botUser());
    if (method === "GET" && path === `/guilds/${this.guildId}`) return ok(this.#guild());
    if (method === "GET" && path === `/guilds/${this.guildId}/members/${this.botId}`) {
      return ok({ user: this.#botUser(), roles: [], nick: null });
    }
    if (parts[0] !== "channels") throw new Refusal(404, 0, "404: Not Found");

    const channelId = parts[1] ?? "";
    if (!this.#channels.has(channelId)) throw new Refusal(404, 10003, "Unknown Channel");
    if (!this.#may("VIEW_CHANNEL")) throw new Refusal(403, 50001, "Missing Access");
    const [, , collection, messageId] = parts;
    if (method === "GET" && collection === undefined) return ok(this.#channel(channelId));
    if (collection !== "messages") throw new Refusal(404, 0, "404: Not Found");
    if (method === "GET" && messageId === undefined) return this.#list(channelId, query);
    if (method === "POST" && messageId === undefined) return this.#create(channelId, "bot", this.botId, body);
    const message = this.#find(channelId, messageId ?? "");
    if (method === "GET") return ok(this.#wire(message));
    if (method === "PATCH") return this.#edit(message, this.botId, body);
    throw new Refusal(405, 0, "405: Method Not Allowed");
  }

  #webhook(method: string, parts: readonly string[], query: URLSearchParams, body: unknown): Answer {
    const [, id, token, collection, messageId] = parts;
    if (id !== this.#webhookId || !this.#channels.has(this.channelId))
      throw new Refusal(404, 10015, "Unknown Webhook");
    if (token !== this.#webhookToken) throw new Refusal(401, 50027, "Invalid Webhook Token");
    if (collection === undefined && method === "GET") {
      return ok({
        id,
        type: 1,
        channel_id: this.channelId,
        guild_id: this.guildId,
        name: "perpwatch",
        token,
      });
    }
    if (collection === undefined && method === "POST") {
      const answer = this.#create(this.channelId, "webhook", this.#webhookId, body);
      return query.get("wait") === "true" ? answer : { status: 204, body: undefined };
    }
    if (collection !== "messages") throw new Refusal(404, 0, "404: Not Found");
    const message = this.#find(this.channelId, messageId ?? "");
    if (message.authorId !== this.#webhookId) throw new Refusal(404, 10008, "Unknown Message");
    if (method === "GET") return ok(this.#wire(message));
    if (method === "PATCH") return this.#edit(message, this.#webhookId, body);
    throw new Refusal(405, 0, "405: Method Not Allowed");
  }

  #create(channelId: string, via: "bot" | "webhook", authorId: string, raw: unknown): Answer {
    if (via === "bot" && !this.#may("SEND_MESSAGES")) throw new Refusal(403, 50013, "Missing Permissions");
    const body = formBody(raw);
    const embeds = Array.isArray(body.embeds) ? body.embeds : [];
    if (via === "bot" && embeds.length > 0 && !this.#may("EMBED_LINKS")) {
      throw new Refusal(403, 50013, "Missing Permissions");
    }
    const reference = body.message_reference as
      | { message_id?: string; fail_if_not_exists?: boolean }
      | undefined;
    let replyTo: string | null = null;
    if (reference?.message_id !== undefined && via === "bot") {
      if (!this.#may("READ_MESSAGE_HISTORY")) {
        throw new Refusal(403, 160002, "Cannot reply without permission to read message history");
      }
      if (this.messages.some(({ id }) => id === reference.message_id)) replyTo = reference.message_id;
      else if (reference.fail_if_not_exists !== false) {
        const problem = {
          path: ["message_reference"],
          code: "REPLIES_UNKNOWN_MESSAGE",
          message: "Unknown message",
        };
        throw new Refusal(400, 50035, "Invalid Form Body", invalidForm([problem]));
      }
    }
    if (String(body.content ?? "").trim() === "" && embeds.length === 0) {
      throw new Refusal(400, 50006, "Cannot send an empty message");
    }
    const nonce = body.nonce === undefined ? null : String(body.nonce);
    if (via === "bot" && body.enforce_nonce === true && nonce !== null) {
      const since = this.#now() - (this.#options.nonceWindowMs ?? 180_000);
      const known = this.messages.find(
        (message) => message.nonce === nonce && message.authorId === authorId && message.sentAtMs > since,
      );
      if (known !== undefined) return ok(this.#wire(known));
    }
    return ok(this.#wire(this.#store(channelId, via, authorId, body, nonce, replyTo)));
  }

  #edit(message: DiscordMessage, authorId: string, raw: unknown): Answer {
    if (message.authorId !== authorId)
      throw new Refusal(403, 50005, "Cannot edit a message authored by another user");
    const body = formBody(raw);
    if (typeof body.content === "string") message.content = body.content;
    if (Array.isArray(body.embeds)) message.embeds = body.embeds as DiscordEmbed[];
    message.edits += 1;
    message.text = readable(message);
    this.#messages.changed();
    return ok(this.#wire(message));
  }

  #store(
    channelId: string,
    via: "bot" | "webhook",
    authorId: string,
    body: Record<string, unknown>,
    nonce: string | null = null,
    replyTo: string | null = null,
  ): DiscordMessage {
    const now = this.#now();
    this.#counter += 1n;
    const content = String(body.content ?? "");
    const pings = pinged(content, body.allowed_mentions);
    const everyone = pings.everyone && this.#may("MENTION_EVERYONE");
    const message: DiscordMessage = {
      id: String(((BigInt(Math.trunc(now)) - 1_420_070_400_000n) << 22n) + this.#counter),
      channelId,
      via,
      authorId,
      nonce,
      replyTo,
      sentAtMs: now,
      content,
      embeds: Array.isArray(body.embeds) ? (body.embeds as DiscordEmbed[]) : [],
      pings: { users: pings.users, roles: this.roleMentionable ? pings.roles : [], everyone },
      edits: 0,
      text: "",
    };
    message.text = readable(message);
    this.#messages.add(message);
    return message;
  }

  #list(channelId: string, query: URLSearchParams): Answer {
    const limit = Number(query.get("limit") ?? 50);
    if (!Number.isInteger(limit) || limit < 1 || limit > 100) {
      const problem = {
        path: ["limit"],
        code: "NUMBER_TYPE_MAX",
        message: "int value should be between 1 and 100.",
      };
      throw new Refusal(400, 50035, "Invalid Form Body", invalidForm([problem]));
    }
    if (!this.#may("READ_MESSAGE_HISTORY")) return ok([]);
    const after = query.get("after");
    const before = query.get("before");
    const inside = this.messages.filter(
      ({ id, channelId: at }) =>
        at === channelId &&
        (after === null || BigInt(id) > BigInt(after)) &&
        (before === null || BigInt(id) < BigInt(before)),
    );
    const page = after === null ? inside.slice(-limit) : inside.slice(0, limit);
    return ok(page.toReversed().map((message) => this.#wire(message)));
  }

  #find(channelId: string, id: string): DiscordMessage {
    const message = this.messages.find((one) => one.id === id && one.channelId === channelId);
    if (message === undefined) throw new Refusal(404, 10008, "Unknown Message");
    return message;
  }

  #may(permission: DiscordPermission): boolean {
    return this.permissions.has("ADMINISTRATOR") || this.permissions.has(permission);
  }

  #botUser(): object {
    return {
      id: this.botId,
      username: "perpwatch",
      discriminator: "0",
      global_name: null,
      avatar: null,
      bot: true,
    };
  }

  #guild(): object {
    const bits = [...this.permissions].reduce((sum, name) => sum | permissionBits[name], 0n);
    return {
      id: this.guildId,
      name: "trading",
      owner_id: this.#personId,
      roles: [
        { id: this.guildId, name: "@everyone", permissions: String(bits), mentionable: false },
        { id: this.roleId, name: "on-call", permissions: "0", mentionable: this.roleMentionable },
      ],
    };
  }

  #channel(id: string): object {
    const name = id === this.channelId ? "alerts" : "other";
    return { id, type: 0, guild_id: this.guildId, name, permission_overwrites: [] };
  }

  #wire(message: DiscordMessage): object {
    return {
      id: message.id,
      channel_id: message.channelId,
      type: message.replyTo === null ? 0 : 19,
      author:
        message.via === "webhook"
          ? { id: message.authorId, username: "perpwatch", discriminator: "0000", bot: true }
          : {
              id: message.authorId,
              username: "somebody",
              discriminator: "0",
              bot: message.authorId === this.botId,
            },
      content: message.content,
      embeds: message.embeds.map((embed) => ({ type: "rich", ...embed })),
      attachments: [],
      timestamp: new Date(message.sentAtMs).toISOString(),
      edited_timestamp: message.edits > 0 ? new Date(this.#now()).toISOString() : null,
      mentions: message.pings.users.map((id) => ({ id })),
      mention_roles: message.pings.roles,
      mention_everyone: message.pings.everyone,
      pinned: false,
      tts: false,
      ...(message.nonce === null ? {} : { nonce: message.nonce }),
      ...(message.via === "webhook" ? { webhook_id: message.authorId } : {}),
      ...(message.replyTo === null
        ? {}
        : { message_reference: { message_id: message.replyTo, channel_id: message.channelId } }),
    };
  }
}

function ok(body: unknown): Answer {
  return { status: 200, body };
}

function limited(retryAfterMs: number, global: boolean): [Answer, Record<string, string>] {
  const seconds = retryAfterMs / 1_000;
  return [
    { status: 429, body: { message: "You are being rate limited.", retry_after: seconds, global } },
    {
      "retry-after": String(seconds),
      "x-ratelimit-scope": global ? "global" : "user",
      ...(global ? { "x-ratelimit-global": "true" } : {}),
    },
  ];
}

function formBody(raw: unknown): Record<string, unknown> {
  if (typeof raw !== "object" || raw === null)
    throw new Refusal(400, 50109, "The request body contains invalid JSON.");
  const body = raw as Record<string, unknown>;
  const problems = messageProblems(body);
  if (problems.length > 0) throw new Refusal(400, 50035, "Invalid Form Body", invalidForm(problems));
  return body;
}

function readable(message: Pick<DiscordMessage, "content" | "embeds">): string {
  const lines = [message.content];
  for (const embed of message.embeds) {
    lines.push(embed.title ?? "", embed.description ?? "");
    for (const { name, value } of embed.fields ?? []) lines.push(`${name}: ${value}`);
    lines.push(embed.footer?.text ?? "");
  }
  return lines.filter((line) => line !== "").join("\n");
}
