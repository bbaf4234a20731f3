/**
 * One HTTP request of a channel: whole within its deadline, never repeated, and what came of it as a closed set. What the
 * status means for a message is the same for most services; where one differs, its channel says so before `verdictOf`.
 */
import { Agent, type Dispatcher, request } from "undici";
import { errorCode } from "../domain/error-code.ts";
import type { Secret } from "../domain/hidden-secrets.ts";
import type { ProbeResult, SendResult } from "./channel.ts";
import { formBytes } from "./form.ts";
import { shorten, withoutSecrets } from "./text.ts";

/** A service's words about a refusal, not a page. */
const usualAnswer = 65_536;
/** For services that repeat the message in their answer, in escapes, with the one that it replies to, bytes. */
export const largeAnswer = 1_048_576;
/** The longest wait that another side may ask for, ms: a day. */
const maxWaitMs = 86_400_000;

export interface Answer {
  readonly kind: "answer";
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  /** Its words broke off: what they would have said is not known, but the status is. Left out: they are whole. */
  readonly cut?: NoAnswer;
}

/** No answer came. */
export interface NoAnswer {
  readonly kind: "none";
  readonly failure: "unreachable" | "timeout";
  /** For people; holds no secret. */
  readonly detail: string;
}

export interface PosterOptions {
  /** As people call the other side: "Slack", "the webhook". */
  readonly who: string;
  /** Never to be found in a detail. */
  readonly secrets: readonly Secret[];
  /** One request, all in all, ms. */
  readonly timeoutMs: number;
  /** Maximum size read of an answer, bytes. Default: 65,536. */
  readonly largestAnswer?: number;
}

export interface Call {
  readonly method?: "GET" | "POST";
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A text is sent as it is, a form as multipart; anything else as JSON. */
  readonly body?: string | object;
}

/** Asks one service, over connections of its own. */
export class Poster {
  readonly #options: PosterOptions;
  #agent: Agent | undefined;

  constructor(options: PosterOptions) {
    this.#options = options;
  }

  /** Rejects only with the reason of an aborted signal. Redirections are not followed: a secret goes where it was meant to. */
  async call(call: Call, signal: AbortSignal): Promise<Answer | NoAnswer> {
    signal.throwIfAborted();
    const { timeoutMs, largestAnswer = usualAnswer } = this.#options;
    this.#agent ??= new Agent({ connections: 2, connect: { timeout: timeoutMs }, pipelining: 1 });
    const own = new AbortController();
    const abort = () => own.abort();
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
        signal: own.signal,
        dispatcher: this.#agent,
      });
      let text = "";
      let bytes = 0;
      // A character may lie in two parts.
      const decoder = new TextDecoder();
      const answer = { kind: "answer", status: statusCode, headers } as const;
      try {
        for await (const chunk of body as AsyncIterable<Uint8Array>) {
          text += decoder.decode(chunk, { stream: true });
          bytes += chunk.length;
          if (bytes > largestAnswer) return { ...answer, text };
        }
        text += decoder.decode();
      } catch (error) {
        signal.throwIfAborted();
        return { ...answer, text, cut: this.#none(error, own.signal.aborted) };
      }
      return { ...answer, text };
    } catch (error) {
      signal.throwIfAborted();
      return this.#none(error, own.signal.aborted);
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
    const how = failure === "timeout" ? "did not answer" : "cannot be reached";
    return { kind: "none", failure, detail: `${who} ${how}${code === null ? "" : ` (${code})`}` };
  }

  /** A service's explanation of its refusal, fit to be shown. */
  words(text: string): string {
    return shorten(withoutSecrets(text, this.#options.secrets), 200);
  }

  /** `answered 400: what it said`. */
  detail(answer: Answer, said: string = answer.text): string {
    const words = this.words(said);
    return `${this.#options.who} answered ${answer.status}${words === "" ? "" : `: ${words}`}`;
  }

  /**
   * The result that an answer means, for a message.
   * @param receipt of a message that was taken; null: the words do not confirm that, so a success of HTTP alone is none
   * @param said the service's own words, where its answer is more than words
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
    if (status === 429) return { kind: "retry", failure: "rate-limited", detail, afterMs: waitOf(headers) };
    if (status >= 500 || status === 408 || status === 425)
      return { kind: "retry", failure: "server-error", detail, afterMs: waitOf(headers) };
    if (status === 401 || status === 403)
      return { kind: "refused", failure: "authentication", detail, channelBroken: true };
    // Nothing stands at that address, or it stands somewhere else: no other message would fare better.
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

/** The refusal of a service that takes alerts and nothing else. */
export function noDigest(who: string): SendResult {
  const detail = `${who} takes alerts, and no digest`;
  return { kind: "refused", failure: "rejected", detail, channelBroken: false };
}

/** A failed send as a probe tells it. @param fix by what the failure is about */
export function probeFailure(
  result: Exclude<SendResult, { kind: "delivered" }>,
  fix: { readonly denied: string; readonly refused: string; readonly away: string },
): ProbeResult {
  const { failure, detail } = result;
  const how =
    failure === "authentication"
      ? fix.denied
      : failure === "rejected"
        ? fix.refused
        : failure === "unreachable" || failure === "timeout"
          ? fix.away
          : "wait; perpwatch tries again by itself";
  return { kind: "failed", failure, detail, fix: how };
}

/** `Retry-After`, in seconds or as a date; null where it says nothing that can be read. */
function waitOf(headers: Answer["headers"]): number | null {
  const header = headers["retry-after"];
  if (typeof header !== "string" || header.trim() === "") return null;
  const seconds = Number(header);
  if (Number.isFinite(seconds)) return seconds < 0 ? null : bounded(seconds * 1_000);
  // A date is by the other side's clock, which its own Date header tells.
  const untilMs = Date.parse(header);
  const nowMs = Date.parse(typeof headers.date === "string" ? headers.date : "");
  return Number.isNaN(untilMs) || Number.isNaN(nowMs) ? null : bounded(Math.max(0, untilMs - nowMs));
}

/** A wait that another side asks for, as it is kept to, ms. */
export const bounded = (ms: number): number => Math.min(Math.ceil(ms), maxWaitMs);

/** @returns the parsed text, or undefined where it is no JSON. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** True for a page for people, as a network that asks for a login puts in the place of a service's answer. */
export const isPage = (text: string): boolean => /^\s*</.test(text);

/** A text of an answer, or a number as one; undefined: it is neither, and may not even be turned into a text. */
export function textIn(value: unknown): string | undefined {
  return typeof value === "string" || typeof value === "number" ? String(value) : undefined;
}
