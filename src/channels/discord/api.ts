/**
 * Makes single requests to Discord's REST API through discord.js, within seconds and without retries.
 *
 * By default, discord.js sleeps during rate limits, repeats server errors at once, waits a minute for an unresponsive
 * server, and drops its token after one 401. Here this is turned off or undone:
 *
 *  - requests use our own transport, which reads the whole body within the time limit;
 *  - rate limits are stored here, by the injected clock, and returned as "not before"; discord.js never sees them;
 *  - the token is set anew before every request.
 */
import type { DiscordAPIError, REST } from "discord.js";
import { Agent } from "undici";
import type { SendFailure } from "../../domain/alerts/delivery.ts";
import type { Clock } from "../../domain/clock.ts";
import { errorCode } from "../../domain/error-code.ts";
import { withoutSecrets } from "../message/text.ts";
import { boundedWaitMs } from "../post.ts";
import { RateLimited, RateMemory } from "./rate-memory.ts";
import { responseOf, sendRequest, TooLong, type TransportInit } from "./transport.ts";

/** Maximum duration of one request, ms: connection, wait, and the whole answer. */
export const requestTimeoutMs = 3_000;

export interface ApiProblem {
  readonly kind: "problem";
  readonly failure: SendFailure;
  /** Null when no answer came. */
  readonly status: number | null;
  /** Discord's error code (50035, 10003, …); null if there is none. */
  readonly code: number | null;
  /** For people. Contains no secret. */
  readonly detail: string;
  /** Wait before the next attempt, if Discord stated one. */
  readonly afterMs: number | null;
  /** Set if the answer cannot be read, so the request may have succeeded. Left out: it failed, or there was no answer. */
  readonly unconfirmed?: true;
}

export type ApiAnswer = { readonly kind: "ok"; readonly data: unknown } | ApiProblem;

export interface ApiOptions {
  readonly apiUrl?: string | undefined;
  /** Null for webhooks, whose URL is their authorization. */
  readonly token: string | null;
  /** Removed from every detail. */
  readonly secrets: readonly string[];
  readonly clock: Clock;
}

export interface SentFile {
  readonly name: string;
  readonly data: Buffer;
  readonly contentType: string;
}

export interface ApiCall {
  readonly method: "GET" | "POST" | "PATCH" | "PUT";
  readonly route: `/${string}`;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: object;
  readonly file?: SentFile | undefined;
  /** Default `requestTimeoutMs`. */
  readonly timeoutMs?: number;
}

class ServerError extends Error {
  readonly status: number;
  readonly retryAfterMs: number | null;
  constructor(status: number, retryAfterMs: number | null) {
    super(`answered ${status}`);
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }
}

export class DiscordApi {
  readonly #options: ApiOptions;
  readonly #rates: RateMemory;
  #rest: REST | undefined;
  #agent: Agent | undefined;

  constructor(options: ApiOptions) {
    this.#options = options;
    this.#rates = new RateMemory(options.clock);
  }

  /** Makes one request. Rejects only with the reason of an aborted signal. */
  async call(call: ApiCall, signal: AbortSignal): Promise<ApiAnswer> {
    signal.throwIfAborted();
    const library = await import("discord.js");
    signal.throwIfAborted();
    this.#rest ??= this.#newRest(library.REST);
    const { token } = this.#options;
    if (token !== null) this.#rest.setToken(token);
    // discord.js leaves its listener on the signal, so it gets a signal that lives as long as the request.
    const controller = new AbortController();
    const abort = () => controller.abort();
    signal.addEventListener("abort", abort, { once: true });
    const timeoutMs = call.timeoutMs ?? requestTimeoutMs;
    const timer = setTimeout(abort, timeoutMs);
    try {
      const data = await this.#rest.request({
        method: call.method as never,
        fullRoute: call.route,
        auth: token !== null,
        signal: controller.signal,
        ...(call.query === undefined ? {} : { query: new URLSearchParams(call.query) }),
        ...(call.body === undefined ? {} : { body: call.body }),
        ...(call.file === undefined ? {} : { files: [call.file] }),
      });
      return { kind: "ok", data };
    } catch (error) {
      signal.throwIfAborted();
      return this.#problem(error, controller.signal.aborted ? timeoutMs : null, library);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
    }
  }

  async close(): Promise<void> {
    this.#rest?.clearHashSweeper();
    this.#rest?.clearHandlerSweeper();
    this.#rest = undefined;
    const agent = this.#agent;
    this.#agent = undefined;
    await agent?.destroy().catch(() => {});
  }

  #newRest(Rest: typeof REST): REST {
    this.#agent = new Agent({ connections: 2, connect: { timeout: requestTimeoutMs }, pipelining: 1 });
    const { apiUrl } = this.#options;
    return new Rest({
      version: "10",
      timeout: requestTimeoutMs,
      retries: 0,
      rejectOnRateLimit: () => true,
      // Its own counter of the bot's global limit uses a clock that cannot be injected.
      globalRequestsPerSecond: Number.POSITIVE_INFINITY,
      makeRequest: (url, init) => this.#transport(url, init as unknown as TransportInit),
      ...(apiUrl === undefined ? {} : { api: apiUrl.replace(/\/+$/, "") }),
    });
  }

  async #transport(url: string, init: TransportInit): Promise<Response> {
    const { pathname } = new URL(url);
    this.#rates.check(init.method, pathname);
    const { answer, body } = await sendRequest(url, init, this.#agent);
    this.#rates.note(init.method, pathname, answer.statusCode, answer.headers, body);
    if (answer.statusCode >= 500)
      throw new ServerError(answer.statusCode, seconds(answer.headers["retry-after"]));
    return responseOf(answer, body);
  }

  /** A name from Discord, safe to be shown. @throws {TypeError} if it is not a string */
  words(name: unknown): string {
    if (typeof name !== "string") throw new TypeError("a name is no text");
    return withoutSecrets(name, this.#options.secrets);
  }

  #problem(error: unknown, cutAfterMs: number | null, library: Library): ApiProblem {
    const safe = (text: string) => withoutSecrets(text, this.#options.secrets);
    const problem = (failure: SendFailure, detail: string, more: Partial<ApiProblem> = {}): ApiProblem => ({
      kind: "problem",
      failure,
      status: null,
      code: null,
      detail: safe(detail),
      afterMs: null,
      ...more,
    });
    if (cutAfterMs !== null)
      return problem("timeout", `Discord did not answer within ${cutAfterMs / 1_000} s`);
    if (error instanceof RateLimited) {
      const scope = error.global ? "for the whole bot" : "for this channel";
      const detail = `Discord's rate limit is reached ${scope}: wait ${error.afterMs} ms`;
      return problem("rate-limited", detail, { status: 429, afterMs: error.afterMs });
    }
    if (error instanceof library.RateLimitError) {
      const afterMs = Math.max(error.retryAfter, error.timeToReset, error.sublimitTimeout);
      return problem("rate-limited", `Discord's rate limit is reached: wait ${afterMs} ms`, {
        status: 429,
        afterMs,
      });
    }
    if (error instanceof ServerError) {
      const detail = `Discord answered ${error.status}`;
      return problem("server-error", detail, { status: error.status, afterMs: error.retryAfterMs });
    }
    if (error instanceof TooLong)
      return problem("server-error", "Discord's answer is too long", { unconfirmed: true });
    if (error instanceof library.DiscordAPIError) return problemOfAnswer(error, problem);
    if (error instanceof SyntaxError)
      return problem("server-error", "Discord's answer cannot be read", { unconfirmed: true });
    const code = errorCode(error);
    if (code !== null && /TIMEOUT|ETIMEDOUT/.test(code))
      return problem("timeout", `Discord did not answer (${code})`);
    return problem("unreachable", `Discord cannot be reached${code === null ? "" : ` (${code})`}`);
  }
}

type Library = typeof import("discord.js");

function problemOfAnswer(
  error: DiscordAPIError,
  problem: (failure: SendFailure, detail: string, more: Partial<ApiProblem>) => ApiProblem,
): ApiProblem {
  const code = typeof error.code === "number" && error.code > 0 ? error.code : null;
  const denied = error.status === 401 || error.status === 403;
  const detail = `Discord answered ${error.status}: ${error.message}${code === null ? "" : ` (${code})`}`;
  return problem(denied ? "authentication" : "rejected", detail, { status: error.status, code });
}

function seconds(header: string | string[] | undefined): number | null {
  const value = Number(header);
  return header !== undefined && Number.isFinite(value) && value >= 0 ? boundedWaitMs(value * 1_000) : null;
}
