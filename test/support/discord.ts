/**
 * A local Discord for tests: REST v10 and gateway on one loopback port, strict where Discord is strict (authorization,
 * permissions, text limits, nonces, mentions), and unwell on demand. The real discord.js speaks to it. One long class:
 * every route works on the same small world.
 *
 *   await using discord = await startDiscord();
 *   // config: { type: discord, token: discord.token, channelId: discord.channelId, apiUrl: discord.apiUrl }
 *   discord.fail({ effect: { kind: "status", status: 503 }, times: 2 });
 *   const message = await discord.waitForMessage((m) => m.text.includes("FIRING"));
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { Gateway } from "./discord-gateway.ts";
import { type DiscordInteraction, type DiscordPerson, Interactions } from "./discord-interactions.ts";
import { invalidForm, pinged } from "./discord-limits.ts";
import { type DiscordThread, Threads } from "./discord-threads.ts";
import type {
  DiscordButton,
  DiscordEffect,
  DiscordEmbed,
  DiscordFault,
  DiscordMessage,
  DiscordOptions,
  DiscordPermission,
  DiscordRequest,
  LocalDiscord,
} from "./discord-types.ts";
import {
  type Answer,
  formBody,
  limited,
  ok,
  permissionBits,
  Refusal,
  readable,
  wireMessage,
} from "./discord-wire.ts";
import { Watched } from "./wait.ts";

export type { DiscordInteraction, DiscordPerson } from "./discord-interactions.ts";
export type { DiscordThread } from "./discord-threads.ts";
export type * from "./discord-types.ts";

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
  channelType = 0;
  readonly permissions = new Set<DiscordPermission>([
    "VIEW_CHANNEL",
    "SEND_MESSAGES",
    "EMBED_LINKS",
    "ATTACH_FILES",
    "READ_MESSAGE_HISTORY",
    "CREATE_PUBLIC_THREADS",
    "SEND_MESSAGES_IN_THREADS",
  ]);
  readonly gateway: Gateway;
  readonly #interactions: Interactions;
  readonly #threads = new Threads();

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
    this.#interactions = new Interactions({
      applicationId: this.#applicationId,
      now: this.#now,
      dispatch: (type, data) => this.gateway.dispatch(type, data),
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
  get threads(): readonly DiscordThread[] {
    return this.#threads.all;
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
  get commands(): readonly Record<string, unknown>[] {
    return this.#interactions.commands;
  }
  press(message: DiscordMessage, label: string, person: DiscordPerson, how: { agoMs?: number } = {}) {
    const button = message.buttons.find((one) => one.label.startsWith(label));
    if (button === undefined) throw new Error(`the message has no button ${label}`);
    const parent = this.#threads.find(message.channelId)?.channelId ?? null;
    const place = { ...this.#place(message.channelId, parent), message: this.#record(message) };
    const data = { component_type: 2, custom_id: button.custom_id };
    return this.#interactions.begin(3, data, { person, place, ...how });
  }
  type(
    command: string,
    options: Readonly<Record<string, string | number>>,
    person: DiscordPerson,
    how: { channelId?: string; threadOf?: string } = {},
  ): DiscordInteraction {
    const given = Object.entries(options).map(([name, value]) => {
      return { name, value, type: typeof value === "number" ? 4 : 3 };
    });
    const place = this.#place(how.channelId ?? this.channelId, how.threadOf ?? null);
    const data = { id: "1", type: 1, name: command, guild_id: this.guildId, options: given };
    return this.#interactions.begin(2, data, { person, place });
  }
  waitForInteraction(fits: (one: DiscordInteraction) => boolean, timeoutMs?: number) {
    return this.#interactions.watched.waitFor(fits, timeoutMs);
  }
  #place(channelId: string, threadOf: string | null): object {
    const kind = threadOf === null ? { type: 0 } : { type: 11, parent_id: threadOf };
    return { guild_id: this.guildId, channel_id: channelId, channel: { id: channelId, ...kind } };
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
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      return;
    }
    const bytes = Buffer.concat(chunks);
    const type = request.headers["content-type"] ?? "";
    const form = type.startsWith("multipart/form-data")
      ? await new Response(bytes, { headers: { "content-type": type } }).formData()
      : null;
    const raw = String(form === null ? bytes : form.get("payload_json"));
    const files = form === null ? [] : await filesIn(form);
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
      this.#answer(url.pathname, method, path, url.searchParams, withFiles(body, files), authorization);
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
    const [room, id = "", itsToken = ""] = parts;
    if (room === "interactions" && method === "POST" && parts[3] === "callback")
      return this.#interactions.take(id, itsToken, body);
    if (room === "webhooks" && parts[4] === "@original" && method === "PATCH") {
      const answered = this.#interactions.edit(id, itsToken, body);
      if (answered !== null) return answered;
    }
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
    if (`${method} ${path}` === "GET /applications/@me")
      return ok({ id: this.#applicationId, name: "perpwatch" });
    if (method === "PUT" && path === `/applications/${this.#applicationId}/guilds/${this.guildId}/commands`)
      return this.#interactions.register(body);
    if (method === "GET" && path === `/guilds/${this.guildId}`) return ok(this.#guild());
    if (method === "GET" && path === `/guilds/${this.guildId}/members/${this.botId}`) {
      return ok({ user: this.#botUser(), roles: [], nick: null });
    }
    if (parts[0] !== "channels") throw new Refusal(404, 0, "404: Not Found");

    const channelId = parts[1] ?? "";
    const thread = this.#threads.find(channelId);
    if (!this.#channels.has(thread?.channelId ?? channelId)) throw new Refusal(404, 10003, "Unknown Channel");
    if (!this.#may("VIEW_CHANNEL")) throw new Refusal(403, 50001, "Missing Access");
    const [, , collection, messageId, under] = parts;
    if (method === "GET" && collection === undefined)
      return ok(
        thread ? this.#threads.record(thread, this.guildId, this.channelType) : this.#channel(channelId),
      );
    if (collection !== "messages") throw new Refusal(404, 0, "404: Not Found");
    if (method === "GET" && messageId === undefined) return this.#list(channelId, query);
    if (method === "POST" && messageId === undefined) return this.#create(channelId, "bot", this.botId, body);
    const message = this.#find(channelId, messageId ?? "");
    if (method === "POST" && under === "threads") {
      if (!this.#may("CREATE_PUBLIC_THREADS")) throw new Refusal(403, 50013, "Missing Permissions");
      const started = this.#threads.start(channelId, this.channelType, message.id, body);
      return { status: 201, body: this.#threads.record(started, this.guildId, this.channelType) };
    }
    if (method === "GET") return ok(this.#record(message));
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
    if (method === "GET") return ok(this.#record(message));
    if (method === "PATCH") return this.#edit(message, this.#webhookId, body);
    throw new Refusal(405, 0, "405: Method Not Allowed");
  }

  #create(channelId: string, via: "bot" | "webhook", authorId: string, raw: unknown): Answer {
    const thread = this.#threads.find(channelId);
    const right = thread === null ? "SEND_MESSAGES" : "SEND_MESSAGES_IN_THREADS";
    if (via === "bot" && !this.#may(right)) throw new Refusal(403, 50013, "Missing Permissions");
    if (thread !== null) this.#threads.write(thread);
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
      const original = this.messages.find(({ id }) => id === reference.message_id);
      if (original !== undefined && original.channelId !== channelId) {
        const problem = {
          path: ["message_reference"],
          code: "REPLIES_CANNOT_REFERENCE_OTHER_CHANNEL",
          message: "Cannot reply to a message in a different channel",
        };
        throw new Refusal(400, 50035, "Invalid Form Body", invalidForm([problem]));
      }
      if (original !== undefined) replyTo = reference.message_id;
      else if (reference.fail_if_not_exists !== false) {
        const problem = {
          path: ["message_reference"],
          code: "REPLIES_UNKNOWN_MESSAGE",
          message: "Unknown message",
        };
        throw new Refusal(400, 50035, "Invalid Form Body", invalidForm([problem]));
      }
    }
    const sent = (raw as { [attached]?: Files })[attached] ?? [];
    if (via === "bot" && sent.length > 0 && !this.#may("ATTACH_FILES"))
      throw new Refusal(403, 50013, "Missing Permissions");
    if (sent.some(({ data }) => data.length > maxFileBytes))
      throw new Refusal(413, 40005, "Request entity too large");
    if (String(body.content ?? "").trim() === "" && embeds.length === 0 && sent.length === 0) {
      throw new Refusal(400, 50006, "Cannot send an empty message");
    }
    const nonce = body.nonce === undefined ? null : String(body.nonce);
    if (via === "bot" && body.enforce_nonce === true && nonce !== null) {
      const since = this.#now() - (this.#options.nonceWindowMs ?? 180_000);
      const known = this.messages.find(
        (message) =>
          message.nonce === nonce &&
          message.channelId === channelId &&
          message.authorId === authorId &&
          message.sentAtMs > since,
      );
      if (known !== undefined) return ok(this.#record(known));
    }
    return ok(this.#record(this.#store(channelId, via, authorId, body, nonce, replyTo, sent)));
  }

  #edit(message: DiscordMessage, authorId: string, raw: unknown): Answer {
    if (message.authorId !== authorId)
      throw new Refusal(403, 50005, "Cannot edit a message authored by another user");
    const thread = this.#threads.find(message.channelId);
    if (thread !== null) this.#threads.edit(thread);
    const body = formBody(raw);
    if (typeof body.content === "string") message.content = body.content;
    if (Array.isArray(body.embeds)) message.embeds = body.embeds as DiscordEmbed[];
    if (body.components !== undefined) message.buttons = buttonsIn(body);
    const sent = (raw as { [attached]?: Files })[attached] ?? [];
    if (sent.length > 0 && !this.#may("ATTACH_FILES")) throw new Refusal(403, 50013, "Missing Permissions");
    if (Array.isArray(body.attachments))
      message.files = sent.filter(({ name }) =>
        (body.attachments as readonly { filename?: string }[]).some(({ filename }) => filename === name),
      );
    message.edits += 1;
    message.text = readable(message);
    this.#messages.changed();
    return ok(this.#record(message));
  }

  #store(
    channelId: string,
    via: "bot" | "webhook",
    authorId: string,
    body: Record<string, unknown>,
    nonce: string | null = null,
    replyTo: string | null = null,
    files: Files = [],
  ): DiscordMessage {
    const now = this.#now();
    this.#counter += 1n;
    const content = String(body.content ?? "");
    const pings = pinged(content, body.allowed_mentions);
    const inThread = this.#threads.find(channelId) !== null;
    const everyone = pings.everyone && !inThread && this.#may("MENTION_EVERYONE");
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
      buttons: buttonsIn(body),
      pings: { users: pings.users, roles: this.roleMentionable ? pings.roles : [], everyone },
      edits: 0,
      files,
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
    const listed = inside.map((message) => this.#record(message));
    const thread = this.#threads.find(channelId);
    if (thread !== null && (after === null || BigInt(thread.id) >= BigInt(after))) {
      const original = this.messages.find(({ id }) => id === thread.id);
      listed.unshift(this.#threads.starter(thread, original ? this.#record(original) : null, this.#now()));
    }
    const page = after === null ? listed.slice(-limit) : listed.slice(0, limit);
    return ok(page.toReversed());
  }

  #find(channelId: string, id: string): DiscordMessage {
    const message = this.messages.find((one) => one.id === id && one.channelId === channelId);
    if (message === undefined) throw new Refusal(404, 10008, "Unknown Message");
    return message;
  }

  #may(permission: DiscordPermission): boolean {
    return this.permissions.has("ADMINISTRATOR") || this.permissions.has(permission);
  }

  #record(message: DiscordMessage): object {
    return wireMessage(message, this.botId, this.#now());
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
    const type = id === this.channelId ? this.channelType : 0;
    return { id, type, guild_id: this.guildId, name, permission_overwrites: [] };
  }
}

function buttonsIn({ components }: Record<string, unknown>): DiscordButton[] {
  const rows = (components ?? []) as readonly { readonly components: readonly DiscordButton[] }[];
  return rows.flatMap((row) => row.components);
}

type Files = readonly { readonly name: string; readonly data: Buffer }[];
/** The largest upload to a server without boosts, bytes. */
const maxFileBytes = 10 * 1024 * 1024;
const attached = Symbol("files of a form");

async function filesIn(form: FormData): Promise<Files> {
  const files: { name: string; data: Buffer }[] = [];
  for (const [, part] of form) {
    if (typeof part !== "string")
      files.push({ name: part.name, data: Buffer.from(await part.arrayBuffer()) });
  }
  return files;
}

/** Beside the body, as Discord has them. */
function withFiles(body: unknown, files: Files): unknown {
  return files.length === 0 ? body : Object.assign(body as object, { [attached]: files });
}
