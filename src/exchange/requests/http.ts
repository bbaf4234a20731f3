/**
 * One request to the exchange and its answer, as text: connections, time limits, size limits. The caller (call.ts)
 * interprets the text, and decides on repeats and refusals.
 *
 * Connections are kept alive and shared by all wallets. Each request has one limit for everything (connecting, waiting,
 * reading), measured by the injected clock; undici's own limits on connect, headers and body apply in real time as
 * well.
 * Each answer with a `Date` also measures the exchange's clock.
 */
import type { IncomingHttpHeaders } from "node:http";
import { type Dispatcher, Pool } from "undici";
import { writeJson } from "../../contract/json.ts";
import type { Clock } from "../../domain/clock.ts";
import { isLoopbackHost } from "../../domain/loopback.ts";
import { ExchangeTime, MAX_OFFSET_MS } from "../exchange-time.ts";
import { retryAfterMs } from "./retry-after.ts";

export interface HttpOptions {
  /** As configured: origin, optionally with a path before `/v1`. */
  readonly baseUrl: string;
  /** The machine's clock, uncorrected: the exchange's time is measured against it. */
  readonly clock: Clock;
  /** The version of perpwatch, for the client-identity header. */
  readonly version: string;
  /** Maximum connections. Default 64. */
  readonly connections?: number;
  /** Sends requests. Default: a separate pool of connections. */
  readonly dispatcher?: HttpDispatcher;
  /** Maximum body of an answer, bytes. Default 16 MiB. */
  readonly maxBytes?: number;
  /** Real-time limits of one connection, ms. Defaults 5 000, 30 000, 30 000. */
  readonly connectMs?: number;
  readonly headersMs?: number;
  readonly bodyMs?: number;
  /**
   * Called if the exchange's time is too far from ours to be accepted, with our wall clock minus the exchange's, ms.
   */
  readonly onTimeRefused?: ((offsetMs: number) => void) | undefined;
}

/** Sends requests and passes their answers to undici's callbacks: a pool of connections, or a test double. */
export interface HttpDispatcher {
  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): unknown;
  /** Fails all requests under way. */
  destroy(): Promise<void>;
}

export interface HttpRequest {
  readonly method: "GET" | "POST";
  /** Path and query, percent-encoded, appended to the base URL. */
  readonly target: string;
  /** JSON value; null: no body. */
  readonly body: unknown;
  readonly bearer: string | null;
  /** Limit for the whole exchange of this request, ms. */
  readonly limitMs: number;
  readonly signal?: AbortSignal | undefined;
}

export interface HttpAnswer {
  readonly status: number;
  readonly text: string;
  readonly retryAfterMs: number | null;
}

/** There was no complete answer. `sent` is false if the request certainly did not reach the exchange. */
export class HttpFailure extends Error {
  override readonly name = "HttpFailure";
  readonly kind: "unreachable" | "timeout" | "tooLarge";
  readonly sent: boolean;
  constructor(kind: HttpFailure["kind"], message: string, sent: boolean, cause?: unknown) {
    super(message, { cause });
    this.kind = kind;
    this.sent = sent;
  }
}

export interface Http {
  /** @throws {HttpFailure}; the signal's reason when the caller gives up first */
  send(request: HttpRequest): Promise<HttpAnswer>;
  /** The exchange's clock. */
  readonly time: ExchangeTime;
  /** Our wall clock minus the exchange's, ms. */
  readonly offsetMs: number;
  /** Requests under way. */
  readonly inFlight: number;
  /** Ends all connections; requests under way fail. */
  close(): Promise<void>;
}

export function createHttp(options: HttpOptions): Http {
  const { clock } = options;
  const base = new URL(options.baseUrl);
  const prefix = base.pathname.replace(/\/+$/, "");
  const maxBytes = options.maxBytes ?? 16 * 1_048_576;
  const connectMs = options.connectMs ?? 5_000;
  const pool: HttpDispatcher =
    options.dispatcher ??
    new Pool(base.origin, {
      connections: options.connections ?? 64,
      pipelining: 1,
      connect: { timeout: connectMs },
      headersTimeout: options.headersMs ?? 30_000,
      bodyTimeout: options.bodyMs ?? 30_000,
      // Longer than the usual schedules, so that one connection serves many polls; a shorter hint of the server is used.
      keepAliveTimeout: 30_000,
      maxResponseSize: maxBytes,
    });
  // The time of a simulator on this machine may have any offset.
  const maxOffsetMs = isLoopbackHost(base.hostname) ? Number.POSITIVE_INFINITY : MAX_OFFSET_MS;
  const time = new ExchangeTime(clock, maxOffsetMs, options.onTimeRefused);
  const plain = {
    accept: "application/json",
    "accept-encoding": "identity",
    "user-agent": `perpwatch/${options.version}`,
    "x-phoenix-client": `language=typescript;sdk=perpwatch;version=${options.version}`,
  };
  let inFlight = 0;

  function send(request: HttpRequest): Promise<HttpAnswer> {
    const { signal } = request;
    if (signal?.aborted) return Promise.reject(signal.reason);
    const headers: Record<string, string> = { ...plain };
    if (request.bearer !== null) headers.authorization = `Bearer ${request.bearer}`;
    if (request.body !== null) headers["content-type"] = "application/json";
    return new Promise((resolve, reject) => {
      const sentMs = clock.elapsedMs();
      const end = (): boolean => {
        if (!reading.finish()) return false;
        inFlight--;
        cancelLimit();
        signal?.removeEventListener("abort", onAbort);
        return true;
      };
      const reading = new Reading(
        (status, { date, age, "retry-after": wait }, text) => {
          if (!end()) return;
          // A cached answer has an old time.
          if (typeof date === "string" && (age === undefined || age === "0")) {
            time.sample(sentMs, reading.startedMs, date);
          }
          const waitMs = typeof wait === "string" ? retryAfterMs(wait, time.nowMs()) : null;
          resolve({ status, text, retryAfterMs: waitMs });
        },
        (error) => {
          if (end()) reject(failure(error, maxBytes, connectMs));
        },
        clock,
      );
      const cancelLimit = clock.after(request.limitMs, () => {
        // The rest of a limit differs each time; the same failure needs the same text, so that it is logged once.
        if (end()) reject(new HttpFailure("timeout", "no whole answer in time", reading.sent));
        reading.abort();
      });
      const onAbort = () => {
        if (end()) reject(signal?.reason);
        reading.abort();
      };
      signal?.addEventListener("abort", onAbort, { once: true });
      inFlight++;
      pool.dispatch(
        {
          path: prefix + request.target,
          method: request.method,
          headers,
          body: request.body === null ? null : writeJson(request.body),
        },
        reading,
      );
    });
  }

  return {
    send,
    time,
    get offsetMs() {
      return time.offsetMs;
    },
    get inFlight() {
      return inFlight;
    },
    close: () => pool.destroy(),
  };
}

/**
 * Collects one answer from the pool's callbacks. The standard way (`pool.request`) creates a stream for each body,
 * which costs more than the rest of a small answer.
 */
class Reading implements Dispatcher.DispatchHandler {
  /** The arrival of the answer's head, by the monotonic clock. */
  startedMs = 0;
  /** True once a connection took the request: from then on it may have arrived. */
  sent = false;
  readonly #done: (status: number, headers: IncomingHttpHeaders, text: string) => void;
  readonly #failed: (error: unknown) => void;
  readonly #clock: Clock;
  #controller: Dispatcher.DispatchController | null = null;
  #aborted = false;
  #finished = false;
  #status = 0;
  #headers: IncomingHttpHeaders = {};
  #body: Buffer | null = null;
  #chunks: Buffer[] | null = null;

  constructor(
    done: (status: number, headers: IncomingHttpHeaders, text: string) => void,
    failed: (error: unknown) => void,
    clock: Clock,
  ) {
    this.#done = done;
    this.#failed = failed;
    this.#clock = clock;
  }

  /** @returns false if it was finished already: only the first outcome counts */
  finish(): boolean {
    const first = !this.#finished;
    this.#finished = true;
    return first;
  }

  /** Cancels the request, now or, if it still waits for a connection, as soon as it gets one. */
  abort(): void {
    this.#aborted = true;
    this.#controller?.abort(new Error("given up"));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#aborted) controller.abort(new Error("given up"));
    else this.sent = true;
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    this.startedMs = this.#clock.elapsedMs();
    this.#status = status;
    this.#headers = headers;
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#body === null) this.#body = chunk;
    else {
      this.#chunks ??= [this.#body];
      this.#chunks.push(chunk);
    }
  }

  onResponseEnd(): void {
    const bytes = this.#chunks === null ? this.#body : Buffer.concat(this.#chunks);
    this.#done(this.#status, this.#headers, bytes === null ? "" : textOf(bytes));
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#failed(error);
  }
}

/** Decodes UTF-8, without the byte order mark that some servers send. */
function textOf(bytes: Buffer): string {
  const marked = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  return bytes.toString("utf8", marked ? 3 : 0);
}

/** Failures in which no byte of the request can have arrived. */
const neverSent: ReadonlySet<string> = new Set([
  "UND_ERR_CONNECT_TIMEOUT",
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "ENETUNREACH",
  "EHOSTUNREACH",
]);

function failure(error: unknown, maxBytes: number, connectMs: number): HttpFailure {
  const { code, message } = summary(error);
  const sent = !neverSent.has(code) && !code.startsWith("ERR_TLS") && !code.includes("CERT");
  switch (code) {
    case "UND_ERR_CONNECT_TIMEOUT":
      return new HttpFailure("timeout", `no connection within ${connectMs} ms`, sent, error);
    case "UND_ERR_HEADERS_TIMEOUT":
    case "UND_ERR_BODY_TIMEOUT":
      return new HttpFailure("timeout", "no whole answer in time", sent, error);
    case "UND_ERR_RES_EXCEEDED_MAX_SIZE":
      return new HttpFailure("tooLarge", `answer larger than ${maxBytes} bytes`, sent, error);
    default:
      return new HttpFailure("unreachable", message, sent, error);
  }
}

/** The failures of several addresses are one error without a text. */
function summary(error: unknown): { code: string; message: string } {
  const first = error instanceof AggregateError ? (error.errors[0] as unknown) : error;
  const { code, message } = first as { code?: unknown; message?: unknown };
  return {
    code: typeof code === "string" ? code : "",
    message: typeof message === "string" && message !== "" ? message : String(code ?? "connection failed"),
  };
}
