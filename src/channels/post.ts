/**
 * One HTTP request of a channel: within its deadline, never repeated, with a classified result. The meaning of a status
 * is the same for most services; a channel whose service differs handles its cases before `verdict`.
 */
import { Agent, type Dispatcher, request } from "undici";
import { errorCode } from "../domain/error-code.ts";
import type { Secret } from "../domain/text/hidden-secrets.ts";
import type { ProbeResult, SendResult } from "./channel.ts";
import { formBytes } from "./form.ts";
import { shorten, withoutSecrets } from "./message/text.ts";

/** Enough for an error text; not for a page. */
const defaultAnswerBytes = 65_536;
/** For services whose answer repeats the message in escaped form, with the message it replies to, bytes. */
export const largeAnswerBytes = 1_048_576;
/** Maximum wait that a service may request, ms: a day. */
const maxWaitMs = 86_400_000;

export interface Answer {
  readonly kind: "answer";
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  /** Set if the body was not received completely; the status is known. Left out: the body is complete. */
  readonly cut?: NoAnswer;
}

/** No answer came. */
export interface NoAnswer {
  readonly kind: "none";
  readonly failure: "unreachable" | "timeout";
  /** For people. Contains no secret. */
  readonly detail: string;
}

export interface PosterOptions {
  /** The service's name for people: "Slack", "the webhook". */
  readonly who: string;
  /** Removed from every detail. */
  readonly secrets: readonly Secret[];
  /** Limit of a whole request, ms. */
  readonly timeoutMs: number;
  /** Maximum number of bytes read of an answer. Default: 65,536. */
  readonly maxAnswerBytes?: number;
}

export interface Call {
  readonly method?: "GET" | "POST";
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Text is sent as is, a form as multipart, anything else as JSON. */
  readonly body?: string | object;
}

/** Sends requests to one service over its own connections. */
export class Poster {
  readonly #options: PosterOptions;
  #agent: Agent | undefined;

  constructor(options: PosterOptions) {
    this.#options = options;
  }

  /**
   * Rejects only with the reason of an aborted signal. Redirects are not followed, so that a secret does not reach
   * another server.
   */
  async call(call: Call, signal: AbortSignal): Promise<Answer | NoAnswer> {
    signal.throwIfAborted();
    const { timeoutMs, maxAnswerBytes = defaultAnswerBytes } = this.#options;
    this.#agent ??= new Agent({ connections: 2, connect: { timeout: timeoutMs }, pipelining: 1 });
    const controller = new AbortController();
    const abort = () => controller.abort();
    signal.addEventListener("abort", abort, { once: true });
    const timer = setTimeout(abort, timeoutMs);
    try {
      const sent = await encoded(call.body);
      const { statusCode, headers, body } = await request(call.url, {
        method: (call.method ?? "POST") satisfies Dispatcher.HttpMethod,
        headers: {
          "user-agent": "perpwatch",
          ...(sent === null ? {} : { "content-type": sent.type }),
          ...call.headers,
        },
        body: sent === null ? null : sent.body,
        signal: controller.signal,
        dispatcher: this.#agent,
      });
      let text = "";
      let bytes = 0;
      // A character may be split between two chunks.
      const decoder = new TextDecoder();
      const answer = { kind: "answer", status: statusCode, headers } as const;
      try {
        for await (const chunk of body as AsyncIterable<Uint8Array>) {
          text += decoder.decode(chunk, { stream: true });
          bytes += chunk.length;
          if (bytes > maxAnswerBytes) return { ...answer, text };
        }
        text += decoder.decode();
      } catch (error) {
        signal.throwIfAborted();
        return { ...answer, text, cut: this.#none(error, controller.signal.aborted) };
      }
      return { ...answer, text };
    } catch (error) {
      signal.throwIfAborted();
      return this.#none(error, controller.signal.aborted);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
    }
  }

  #none(error: unknown, late: boolean): NoAnswer {
    const { who, timeoutMs } = this.#options;
    if (late) {
      const detail = `${who} did not answer within ${timeoutMs / 1_000} s`;
      return { kind: "none", failure: "timeout", detail };
    }
    const code = errorCode(error);
    const failure = code !== null && /TIMEOUT/.test(code) ? "timeout" : "unreachable";
    const verb = failure === "timeout" ? "did not answer" : "cannot be reached";
    return { kind: "none", failure, detail: `${who} ${verb}${code === null ? "" : ` (${code})`}` };
  }

  /** A service's explanation of its refusal, fit to be shown. */
  words(text: string): string {
    return shorten(withoutSecrets(text, this.#options.secrets), 200);
  }

  /** `Slack answered 400: REASON`. */
  detail(answer: Answer, said: string = answer.text): string {
    const words = this.words(said);
    return `${this.#options.who} answered ${answer.status}${words === "" ? "" : `: ${words}`}`;
  }

  /**
   * Returns the result of a send for an answer.
   * @param receipt of the accepted message; null: the body does not confirm it, so an HTTP success does not count
   * @param said the service's error text, if it is a part of the body
   */
  verdict(answer: Answer | NoAnswer, receipt: string | null, said?: string): SendResult {
    if (answer.kind === "none") return { ...answer, kind: "retry", afterMs: null };
    const { status, headers } = answer;
    if (status >= 200 && status < 300) {
      if (receipt !== null) return { kind: "delivered", receipt: this.words(receipt) || "accepted" };
      if (answer.cut !== undefined) return this.verdict(answer.cut, null);
      const detail = `${this.#options.who} answered ${status} without confirming it: ${this.words(answer.text) || "nothing"}`;
      return { kind: "retry", failure: "server-error", detail, afterMs: null, unconfirmed: true };
    }
    const detail = this.detail(answer, said);
    if (status === 429)
      return { kind: "retry", failure: "rate-limited", detail, afterMs: retryAfterMs(headers) };
    if (status >= 500 || status === 408 || status === 425)
      return { kind: "retry", failure: "server-error", detail, afterMs: retryAfterMs(headers) };
    if (status === 401 || status === 403)
      return { kind: "refused", failure: "authentication", detail, channelBroken: true };
    // The address does not exist or has moved; every other message would be refused too.
    const channelBroken =
      status === 404 || status === 405 || status === 410 || (status >= 300 && status < 400);
    return { kind: "refused", failure: "rejected", detail, channelBroken };
  }

  async close(): Promise<void> {
    const agent = this.#agent;
    this.#agent = undefined;
    await agent?.destroy().catch(() => {});
  }
}

async function encoded(
  body: Call["body"],
): Promise<{ readonly type: string; readonly body: string | Buffer } | null> {
  if (body === undefined) return null;
  if (body instanceof FormData) {
    const { type, bytes } = await formBytes(body);
    return { type, body: bytes };
  }
  return { type: "application/json", body: typeof body === "string" ? body : JSON.stringify(body) };
}

/** The result for a digest sent to a service that accepts alerts only. */
export function digestRefused(who: string): SendResult {
  const detail = `${who} takes alerts, and no digest`;
  return { kind: "refused", failure: "rejected", detail, channelBroken: false };
}

/** Turns a failed send into a probe result. @param fix by the kind of failure */
export function probeFailure(
  result: Exclude<SendResult, { kind: "delivered" }>,
  fix: { readonly denied: string; readonly refused: string; readonly away: string },
): ProbeResult {
  const { failure, detail } = result;
  const fixText =
    failure === "authentication"
      ? fix.denied
      : failure === "rejected"
        ? fix.refused
        : failure === "unreachable" || failure === "timeout"
          ? fix.away
          : "wait; perpwatch tries again by itself";
  return { kind: "failed", failure, detail, fix: fixText };
}

/** The wait of `Retry-After`, in seconds or as a date; null if it cannot be read. */
function retryAfterMs(headers: Answer["headers"]): number | null {
  const header = headers["retry-after"];
  if (typeof header !== "string" || header.trim() === "") return null;
  const seconds = Number(header);
  if (Number.isFinite(seconds)) return seconds < 0 ? null : boundedWaitMs(seconds * 1_000);
  // A date is relative to the server's clock, which its Date header shows.
  const untilMs = Date.parse(header);
  const nowMs = Date.parse(typeof headers.date === "string" ? headers.date : "");
  return Number.isNaN(untilMs) || Number.isNaN(nowMs) ? null : boundedWaitMs(Math.max(0, untilMs - nowMs));
}

/** Rounds up a requested wait and limits it to a day, ms. */
export const boundedWaitMs = (ms: number): number => Math.min(Math.ceil(ms), maxWaitMs);

/** @returns the parsed text, or undefined if it is not JSON */
export function tryParseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns true for an HTML page, such as a captive portal's login page in place of the service's answer. */
export const isHtml = (text: string): boolean => /^\s*</.test(text);

/** Returns a string, or a number as a string; undefined for anything else, which may not be convertible to a string. */
export function textOrNumber(value: unknown): string | undefined {
  return typeof value === "string" || typeof value === "number" ? String(value) : undefined;
}
