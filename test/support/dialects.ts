/** The answers of the services behind channels: what they demand of a request, and their words when it is not so. */
import { createHmac } from "node:crypto";
import { z } from "zod";
import type { Asked, Dialect, Reply } from "./service.ts";

const wrong = (status: number, body: object | string): Reply => ({ status, body });

/** A receiver that keeps to Standard Webhooks: the signature has to hold over exactly these bytes. */
export function webhookDialect(secret: string): Dialect {
  return ({ method, headers, text }, take) => {
    if (method !== "POST") return wrong(405, "POST only");
    const id = String(headers["webhook-id"]);
    const signed = createHmac("sha256", secret).update(`${id}.${headers["webhook-timestamp"]}.${text}`);
    if (headers["webhook-signature"] !== `v1,${signed.digest("base64")}`)
      return wrong(401, "signature mismatch");
    if (headers["idempotency-key"] !== id) return wrong(400, "no idempotency key");
    take(text);
    return { status: 202, body: "taken" };
  };
}

const telegramBody = z.strictObject({
  chat_id: z.union([z.int(), z.string()]),
  message_thread_id: z.int().optional(),
  text: z.string().min(1).max(4096),
  disable_notification: z.boolean().optional(),
  link_preview_options: z.strictObject({ is_disabled: z.boolean() }).optional(),
  reply_parameters: z
    .strictObject({ message_id: z.int(), allow_sending_without_reply: z.boolean().optional() })
    .optional(),
});

/** As Telegram takes it in a form: what is no text is JSON. */
const telegramDocument = z.strictObject({
  chat_id: z.string(),
  message_thread_id: z.string().optional(),
  caption: z.string().max(1024).optional(),
  disable_notification: z.enum(["true", "false"]).optional(),
  reply_parameters: z.string().optional(),
  document: z.string().min(1),
});

/** @param documents false: nobody may send documents to the chat */
export function telegramDialect(token: string, chatId: number, documents = true): Dialect {
  let last = 100;
  return ({ path, json: parsed, form }, take) => {
    const json = form ?? parsed;
    const [, given, method] = /^\/bot([^/]+)\/(\w+)$/.exec(path) ?? [];
    if (given !== token) return wrong(404, { ok: false, error_code: 404, description: "Not Found" });
    if (method === "getMe")
      return { status: 200, body: { ok: true, result: { id: 1, is_bot: true, username: "watch_bot" } } };
    const { chat_id } = json as { chat_id?: unknown };
    if (String(chat_id) !== String(chatId))
      return wrong(400, { ok: false, error_code: 400, description: "Bad Request: chat not found" });
    if (method === "getChat")
      return { status: 200, body: { ok: true, result: { id: chatId, title: "Alerts" } } };
    const bad = (description: string) =>
      wrong(400, { ok: false, error_code: 400, description: `Bad Request: ${description}` });
    if (method === "sendDocument") {
      const sent = telegramDocument.safeParse(json);
      if (form === undefined || !sent.success) return bad("there is no document in the request");
      if (!documents) return bad("not enough rights to send documents to the chat");
      take(`${sent.data.caption}\n${sent.data.document}`.replaceAll("\u200b", ""));
      return { status: 200, body: { ok: true, result: { message_id: ++last } } };
    }
    const body = telegramBody.safeParse(json);
    if (!body.success) return bad(body.error.message);
    take(body.data.text.replaceAll("\u200b", ""));
    return { status: 200, body: { ok: true, result: { message_id: ++last } } };
  };
}

const ntfyBody = z.strictObject({
  topic: z.string(),
  title: z.string().max(1024),
  message: z.string(),
  priority: z.int().min(1).max(5),
  tags: z.array(z.string()),
  click: z.url().optional(),
});

export function ntfyDialect(token: string, topic: string): Dialect {
  return ({ method, path, headers, json }, take) => {
    if (headers.authorization !== `Bearer ${token}`)
      return wrong(401, { code: 40101, http: 401, error: "unauthorized" });
    if (method === "GET")
      return path === `/${topic}/auth`
        ? { status: 200, body: { success: true } }
        : wrong(404, "page not found");
    const body = ntfyBody.safeParse(json);
    if (path !== "/" || !body.success)
      return wrong(400, {
        code: 40024,
        http: 400,
        error: "invalid request: request body must be valid JSON",
      });
    if (Buffer.byteLength(body.data.message) > 4096)
      return wrong(413, { code: 41301, http: 413, error: "message too large" });
    if (body.data.topic !== topic) return wrong(403, { code: 40301, http: 403, error: "forbidden" });
    take(`${body.data.title}\n${body.data.message}`);
    return { status: 200, body: { id: "xE73Iyuabi", event: "message", topic } };
  };
}

const pagerdutyBody = z.strictObject({
  routing_key: z.string().length(32),
  event_action: z.enum(["trigger", "acknowledge", "resolve"]),
  dedup_key: z.string().min(1).max(255),
  client: z.string().optional(),
  payload: z
    .strictObject({
      summary: z.string().min(1).max(1024),
      source: z.string().min(1),
      severity: z.enum(["critical", "warning", "error", "info"]),
      timestamp: z.iso.datetime().optional(),
      component: z.string().optional(),
      group: z.string().optional(),
      class: z.string().optional(),
      custom_details: z.record(z.string(), z.string()).optional(),
    })
    .optional(),
  links: z.array(z.strictObject({ href: z.url(), text: z.string() })).optional(),
});

export function pagerdutyDialect(routingKey: string): Dialect {
  return ({ path, json, text }, take) => {
    if (path !== "/v2/enqueue") return wrong(404, "Not Found");
    const body = pagerdutyBody.safeParse(json);
    const invalid = (error: string) =>
      wrong(400, { status: "invalid event", message: "Event object is invalid", errors: [error] });
    if (!body.success) return invalid("Length of 'routing_key' is incorrect (should be 32 characters)");
    if (body.data.event_action === "trigger" && body.data.payload === undefined)
      return invalid("'payload' is missing or blank");
    if (body.data.routing_key !== routingKey) return invalid("Invalid routing key");
    take(text);
    return {
      status: 202,
      body: { status: "success", message: "Event processed", dedup_key: body.data.dedup_key },
    };
  };
}

const alertmanagerBody = z.array(
  z.strictObject({
    labels: z
      .record(z.string().regex(/^[A-Za-z_]\w*$/), z.string())
      .refine((labels) => "alertname" in labels),
    annotations: z.record(z.string().regex(/^[A-Za-z_]\w*$/), z.string()),
    startsAt: z.iso.datetime(),
    endsAt: z.iso.datetime(),
  }),
);

export function alertmanagerDialect(user: string, password: string): Dialect {
  const expected = `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
  return ({ method, path, headers, json, text }, take) => {
    if (headers.authorization !== expected) return wrong(401, "Unauthorized");
    if (method === "GET" && path === "/api/v2/status")
      return { status: 200, body: { versionInfo: { version: "0.28.1" } } };
    if (path !== "/api/v2/alerts") return wrong(404, { code: 404, message: `path ${path} was not found` });
    const body = alertmanagerBody.safeParse(json);
    if (!body.success) return wrong(400, body.error.message);
    if (body.data.some(({ startsAt, endsAt }) => endsAt < startsAt))
      return wrong(400, "start time must be before end time");
    take(text);
    return { status: 200 };
  };
}

const block = z.union([
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
const slackBody = z.strictObject({
  channel: z.string().optional(),
  text: z.string().min(1).max(40_000),
  attachments: z.array(z.strictObject({ color: z.string(), blocks: z.array(block).max(50) })).optional(),
  unfurl_links: z.boolean().optional(),
  unfurl_media: z.boolean().optional(),
  thread_ts: z.string().optional(),
  reply_broadcast: z.boolean().optional(),
});

/** Characters of all blocks, and of the text: beyond, Slack refuses the message, whatever its pages say (bolt-js #2509). */
const mostInBlocks = 12_000;
const mostInText = 4_000;

function tooLong({ text, attachments = [] }: z.infer<typeof slackBody>): string | null {
  if (text.length > mostInText) return "msg_too_long";
  const texts = attachments.flatMap(({ blocks }) => blocks.map((one) => JSON.stringify(one)));
  return texts.join("").length > mostInBlocks ? "msg_blocks_too_long" : null;
}

/** @param refuseBlocks answers the dressed form with invalid_blocks, as Slack does when it dislikes something in it */
export function slackDialect(token: string, channel: string, refuseBlocks = false): Dialect {
  let last = 0;
  const no = (error: string): Reply => ({ status: 200, body: { ok: false, error } });
  return ({ path, headers, json }, take) => {
    if (headers.authorization !== `Bearer ${token}`) return no("invalid_auth");
    if (path === "/api/auth.test") return { status: 200, body: { ok: true, user: "watch" } };
    if (path !== "/api/chat.postMessage") return no("unknown_method");
    const body = slackBody.safeParse(json);
    if (!body.success) return no("invalid_arguments");
    if (body.data.channel !== channel) return no("channel_not_found");
    if (refuseBlocks && body.data.attachments !== undefined) return no("invalid_blocks");
    const long = tooLong(body.data);
    if (long !== null) return no(long);
    take(plain(body.data));
    return { status: 200, body: { ok: true, ts: `1763696478.${String(++last).padStart(6, "0")}` } };
  };
}

/** An incoming webhook: words instead of JSON. */
export function slackWebhookDialect(secretPath: string): Dialect {
  return ({ path, json }, take) => {
    if (path !== secretPath) return wrong(404, "no_service");
    if (Object.keys(json as object).length === 0) return wrong(400, "no_text");
    const body = slackBody.omit({ channel: true }).safeParse(json);
    if (!body.success) return wrong(400, "invalid_payload");
    const long = tooLong(body.data);
    if (long !== null) return wrong(400, long);
    take(plain(body.data));
    return { status: 200, body: "ok" };
  };
}

/** The text that a person reads: Slack's marks undone. */
function plain({ text, attachments = [] }: Pick<z.infer<typeof slackBody>, "text" | "attachments">): string {
  const blocks = attachments.flatMap((one) => one.blocks);
  const texts = blocks.map((one) =>
    one.type === "section" ? one.text.text : one.elements.map((e) => e.text).join(" "),
  );
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
