/** A channel of a Slack workspace: the Web API's methods that a bot calls, as strict as Slack, and what stands in the channel. */
import { z } from "zod";
import { wrong } from "./dialects.ts";
import type { Asked, Dialect, Reply } from "./service.ts";
import type { SlackEnvelope, SlackSockets } from "./slack-sockets.ts";
import { Watched } from "./wait.ts";

const button = z.strictObject({
  type: z.literal("button"),
  action_id: z.string().min(1).max(255),
  text: z.strictObject({ type: z.literal("plain_text"), text: z.string().min(1).max(75) }),
  style: z.enum(["primary", "danger"]).optional(),
});
const block = z.union([
  z.strictObject({
    type: z.literal("actions"),
    elements: z
      .array(button)
      .min(1)
      .max(25)
      .refine((all) => new Set(all.map(({ action_id }) => action_id)).size === all.length),
  }),
  z.strictObject({
    type: z.literal("section"),
    text: z.strictObject({ type: z.literal("mrkdwn"), text: z.string().min(1).max(3000) }),
  }),
  z.strictObject({
    type: z.literal("context"),
    elements: z
      .array(z.strictObject({ type: z.literal("mrkdwn"), text: z.string().min(1).max(3000) }))
      .max(10),
  }),
]);
const attachments = z.array(z.strictObject({ color: z.string(), blocks: z.array(block).max(50) }));
const postBody = z.strictObject({
  channel: z.string().optional(),
  text: z.string().min(1).max(40_000),
  attachments: attachments.optional(),
  unfurl_links: z.boolean().optional(),
  unfurl_media: z.boolean().optional(),
  thread_ts: z.string().optional(),
  reply_broadcast: z.boolean().optional(),
});
const updateBody = z.strictObject({
  channel: z.string(),
  ts: z.string(),
  text: z.string().min(1).max(40_000),
  attachments: attachments.optional(),
  parse: z.enum(["none", "full"]).optional(),
});
const ephemeralBody = z.strictObject({
  channel: z.string(),
  user: z.string(),
  text: z.string().min(1).max(4_000),
  thread_ts: z.string().optional(),
});

export interface SlackPerson {
  readonly id: string;
  readonly username: string;
}

/** A text that one person sees. */
export type SlackEphemeral = z.infer<typeof ephemeralBody>;

/** Characters of all blocks, and of the text: beyond, Slack refuses the message, whatever its pages say (bolt-js #2509). */
const maxInBlocks = 12_000;
const maxInText = 4_000;

type Content = Pick<z.infer<typeof postBody>, "text" | "attachments">;

function tooLong({ text, attachments = [] }: Content): string | null {
  if (text.length > maxInText) return "msg_too_long";
  const texts = attachments.flatMap(({ blocks }) => blocks.map((one) => JSON.stringify(one)));
  return texts.join("").length > maxInBlocks ? "msg_blocks_too_long" : null;
}

export interface SlackMessage {
  readonly ts: string;
  /** The text that a person reads now. */
  text: string;
  readonly threadTs: string | null;
  /** It stands in the channel too. */
  readonly broadcast: boolean;
  edits: number;
  buttons: readonly { readonly label: string; readonly id: string }[];
}

export interface SlackOptions {
  readonly token: string;
  readonly channel: string;
  /** Answers the dressed form with invalid_blocks, as Slack does when it dislikes something in it. */
  readonly refuseBlocks?: boolean;
  /** Socket Mode, with the app's token. */
  readonly appToken?: string;
  readonly sockets?: SlackSockets;
}

const no = (error: string): Reply => ({ status: 200, body: { ok: false, error } });

export class SlackChannel {
  readonly #options: SlackOptions;
  readonly messages = new Watched<SlackMessage>();
  readonly ephemerals = new Watched<SlackEphemeral>();
  /** Connections are refused with this. */
  socketsRefused: string | null = null;
  /** Edits are refused with this. */
  frozen: string | null = null;
  /** Threads take nothing. */
  threadsLocked = false;
  readonly #shown = new Map<string, Content>();
  #last = 0;

  constructor(options: SlackOptions) {
    this.#options = options;
  }

  readonly dialect: Dialect = ({ path, headers, json }, take) => {
    const { token, appToken } = this.#options;
    if (path === "/api/apps.connections.open")
      return this.#open(headers.authorization === `Bearer ${appToken}`);
    if (headers.authorization !== `Bearer ${token}`) return no("invalid_auth");
    if (path === "/api/chat.postEphemeral") return this.#show(json);
    if (path === "/api/auth.test") return { status: 200, body: { ok: true, user: "watch" } };
    if (path === "/api/chat.postMessage") return this.#post(json, take);
    if (path === "/api/chat.update") return this.#update(json, take);
    return no("unknown_method");
  };

  /** Somebody deletes a message. */
  delete(ts: string): void {
    const { items } = this.messages;
    items.splice(
      items.findIndex((one) => one.ts === ts),
      1,
    );
  }

  /** Somebody presses a button. @param over the number of a connection; left out: the newest */
  press(message: SlackMessage, label: string, { id, username }: SlackPerson, over?: number): SlackEnvelope {
    const { id: action_id } = message.buttons.find((one) => one.label === label)!;
    const container = {
      type: "message_attachment",
      message_ts: message.ts,
      channel_id: this.#options.channel,
    };
    const thread = message.threadTs === null ? {} : { thread_ts: message.threadTs };
    return this.#options.sockets!.send(
      {
        ...{ type: "block_actions", api_app_id: "A1", team: { id: "T1", domain: "desk" }, container },
        user: { id, username, name: username, team_id: "T1" },
        channel: { id: this.#options.channel, name: "alerts" },
        message: { type: "message", ts: message.ts, text: message.text, ...thread },
        actions: [{ type: "button", action_id, block_id: "b1", action_ts: "1763696479.000001" }],
        ...{ trigger_id: "1.2.3", response_url: "https://hooks.slack.example/actions/T1/1/secret" },
      },
      over,
    );
  }

  #open(isKnown: boolean): Reply {
    const { sockets } = this.#options;
    if (!isKnown || sockets === undefined) return no("invalid_auth");
    if (this.socketsRefused !== null) return no(this.socketsRefused);
    return { status: 200, body: { ok: true, url: sockets.address() } };
  }

  #show(json: unknown): Reply {
    const body = ephemeralBody.safeParse(json);
    if (!body.success) return no("invalid_arguments");
    if (body.data.channel !== this.#options.channel) return no("channel_not_found");
    this.ephemerals.add(body.data);
    return { status: 200, body: { ok: true, message_ts: "1763696480.000001" } };
  }

  #problem(body: Content & { readonly channel?: string | undefined }): string | null {
    const { channel, refuseBlocks = false } = this.#options;
    if (body.channel !== channel) return "channel_not_found";
    if (refuseBlocks && body.attachments !== undefined && body.attachments.length > 0)
      return "invalid_blocks";
    return tooLong(body);
  }

  #post(json: unknown, take: (text: string) => void): Reply {
    const body = postBody.safeParse(json);
    if (!body.success) return no("invalid_arguments");
    const problem = this.#problem(body.data);
    if (problem !== null) return no(problem);
    const { thread_ts: threadTs = null, reply_broadcast: broadcast = false } = body.data;
    if (threadTs !== null && this.threadsLocked) return no("restricted_action_thread_locked");
    const ts = `1763696478.${String(++this.#last).padStart(6, "0")}`;
    const text = plain(body.data);
    take(text);
    this.#shown.set(ts, body.data);
    this.messages.add({ ts, text, threadTs, broadcast, edits: 0, buttons: buttonsOf(body.data) });
    return { status: 200, body: { ok: true, channel: body.data.channel, ts } };
  }

  #update(json: unknown, take: (text: string) => void): Reply {
    const body = updateBody.safeParse(json);
    if (!body.success) return no("invalid_arguments");
    if (this.frozen !== null) return no(this.frozen);
    const problem = this.#problem(body.data);
    if (problem !== null) return no(problem);
    const message = this.messages.items.find(({ ts }) => ts === body.data.ts);
    if (message === undefined) return no("message_not_found");
    // Fields that an edit leaves out stay as they were.
    const kept = this.#shown.get(message.ts)?.attachments;
    const content = { text: body.data.text, attachments: body.data.attachments ?? kept };
    this.#shown.set(message.ts, content);
    message.text = plain(content);
    message.buttons = buttonsOf(content);
    message.edits++;
    take(message.text);
    this.messages.changed();
    return { status: 200, body: { ok: true, channel: body.data.channel, ts: message.ts } };
  }
}

/** @param refuseBlocks answers the dressed form with invalid_blocks */
export function slackDialect(token: string, channel: string, refuseBlocks = false): Dialect {
  return new SlackChannel({ token, channel, refuseBlocks }).dialect;
}

/** An incoming webhook: words instead of JSON. */
export function slackWebhookDialect(secretPath: string): Dialect {
  return ({ path, json }, take) => {
    if (path !== secretPath) return wrong(404, "no_service");
    if (Object.keys(json as object).length === 0) return wrong(400, "no_text");
    const body = postBody.omit({ channel: true }).safeParse(json);
    if (!body.success) return wrong(400, "invalid_payload");
    const long = tooLong(body.data);
    if (long !== null) return wrong(400, long);
    take(plain(body.data));
    return { status: 200, body: "ok" };
  };
}

function buttonsOf({ attachments = [] }: Content): SlackMessage["buttons"] {
  const elements = attachments
    .flatMap(({ blocks }) => blocks)
    .flatMap((one) => (one.type === "actions" ? one.elements : []));
  return elements.map(({ text, action_id }) => ({ label: text.text, id: action_id }));
}

/** The text that a person reads: Slack's marks undone. */
function plain({ text, attachments = [] }: Content): string {
  const blocks = attachments.flatMap((one) => one.blocks);
  const texts = blocks.flatMap((one) => {
    if (one.type === "actions") return [];
    return one.type === "section" ? one.text.text : one.elements.map((e) => e.text).join(" ");
  });
  return [text, ...texts]
    .join("\n")
    .replaceAll("\u200b", "")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");
}

/** True if a request to Slack would post something. */
export const slackSends = ({ path, json }: Asked): boolean =>
  !path.endsWith("auth.test") && Object.keys((json as object | undefined) ?? {}).length > 0;
