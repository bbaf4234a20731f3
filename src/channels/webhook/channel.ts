/**
 * Posts a JSON document to any HTTP server. It is signed by the Standard Webhooks convention: `webhook-id`,
 * `webhook-timestamp`, and `webhook-signature` over both and the body. Every attempt has the same id and the same
 * bytes, and the id is in `Idempotency-Key` too, so a server that stores ids accepts the message once.
 */
import { createHmac } from "node:crypto";
import { z } from "zod";
import { type Capacity, lateAfterMs } from "../../domain/alerts/delivery.ts";
import type { Clock } from "../../domain/clock.ts";
import { printableJson } from "../../domain/text/escape.ts";
import { secretsOfAddress } from "../../domain/text/hidden-secrets.ts";
import { anyAddress, secretWord } from "../address.ts";
import type { Channel, ProbeResult } from "../channel.ts";
import { documentOf } from "../document.ts";
import type { CommandLine } from "../message/command-line.ts";
import { type Answer, Poster, probeFailure } from "../post.ts";

export const webhookSettings = z.strictObject({
  type: z.literal("webhook"),
  url: anyAddress,
  /** Key of the signature: text of at least 16 characters, or `whsec_` and base64. */
  secret: secretWord.min(16, "must have 16 characters and more").optional(),
});
export type WebhookSettings = z.infer<typeof webhookSettings>;

export interface WebhookDeps {
  readonly clock: Clock;
  readonly timezone: string;
  readonly commandLine: CommandLine;
}

const timeoutMs = 10_000;
/** Maximum alerts in one document; many servers accept at most 100 KB by default. */
export const webhookCapacity: Capacity = { apart: true, maxNamed: 50 };

export function createWebhook(name: string, settings: WebhookSettings, deps: WebhookDeps): Channel {
  const { url, secret } = settings;
  const { origin } = new URL(url);
  // Many webhook addresses act as passwords.
  const secrets = [...(secret === undefined ? [] : [secret]), ...secretsOfAddress(url)];
  const poster = new Poster({ who: `the webhook at ${origin}`, secrets, timeoutMs });

  const probe = async (signal: AbortSignal): Promise<ProbeResult> => {
    const answer = await poster.call({ method: "GET", url }, signal);
    const away = "check url, and that the program behind it runs";
    if (answer.kind === "none")
      return probeFailure({ ...answer, kind: "retry", afterMs: null }, { denied: away, refused: away, away });
    // The server may answer a GET in any way; without sending, only that it answers can be checked.
    return {
      kind: "ok",
      detail: `${origin} answers; whether it takes messages, channels test ${name} shows`,
    };
  };

  return {
    name,
    kind: "webhook",
    ...webhookCapacity,
    deadlineMs: timeoutMs + 1_000,
    start: probe,
    probe,
    stop: () => poster.close(),
    async send({ message, late }, signal) {
      const body = printableJson(JSON.stringify(documentOf(message, deps)));
      const timestamp = String(Math.floor(deps.clock.nowMs() / 1_000));
      const answer = await poster.call(
        {
          url,
          body,
          headers: {
            "idempotency-key": message.id,
            "webhook-id": message.id,
            "webhook-timestamp": timestamp,
            ...(secret === undefined
              ? {}
              : { "webhook-signature": signatureOf(secret, message.id, timestamp, body) }),
            ...(late !== undefined && late.heldMs > lateAfterMs
              ? { "perpwatch-late-ms": String(Math.round(late.heldMs)) }
              : {}),
          },
        },
        signal,
      );
      return poster.verdict(answer, answer.kind === "answer" ? receiptOf(answer) : "");
    },
  };
}

/** `v1,` and base64 of HMAC-SHA256 over `id.timestamp.body`. */
export function signatureOf(secret: string, id: string, timestamp: string, body: string): string {
  const key = secret.startsWith("whsec_") ? Buffer.from(secret.slice(6), "base64") : secret;
  return `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64")}`;
}

function receiptOf({ status, text }: Answer): string {
  return text.trim() === "" ? String(status) : `${status} ${text}`;
}
