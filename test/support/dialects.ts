/** The answers of the services behind channels: what they demand of a request, and their words when it is not so. */
import { createHmac } from "node:crypto";
import { z } from "zod";
import type { Dialect, Reply } from "./service.ts";

export const wrong = (status: number, body: object | string): Reply => ({ status, body });

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
