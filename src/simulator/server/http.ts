/**
 * The contract over HTTP. Routes, bounds and refusals come from the table of endpoints; what is answered comes from
 * `answers/`. Errors are `{ "error": … }`: a code where the session or the request as such is refused (with a `message`
 * beside it that says what is wrong with the request), prose elsewhere.
 *
 *   request ─► log ─► fault? ─► rate limit ─► route (404, 405) ─► session (401) ─► body (400, 413) ─► arguments (400) ─► answer
 */
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import { allEndpoints, createRouter, decodeRequest, type Endpoint } from "../../contract/index.ts";
import type { Clock } from "../../domain/clock.ts";
import { BadCursor } from "../journal.ts";
import type { World } from "../state.ts";
import { NotFound } from "./answers/context.ts";
import type { Answers } from "./answers/index.ts";
import { altered, type Fault, type Faults } from "./faults.ts";
import { answerBeside, isBeside } from "./outside-contract.ts";
import { errorReply, type Reply, requestRefused } from "./reply.ts";
import { bodyOf, type ReadBody, readBody } from "./request-body.ts";
import type { RequestLog } from "./request-log.ts";
import { Refusal, type Session, type Sessions } from "./sessions.ts";

export interface HttpParts {
  readonly world: World;
  readonly sessions: Sessions;
  readonly answers: Answers;
  readonly faults: Faults;
  readonly log: RequestLog;
  /** Real time, for delays. */
  readonly clock: Clock;
  /** Brings the world up to the present and tells it, simulated ms. */
  readonly present: () => number;
  /** Most requests a second of simulated time; null: any number. */
  readonly requestsPerSecond: number | null;
  /** Answers what stands under `/sim/`. */
  readonly control: (request: ControlRequest) => Promise<Reply>;
  /** Answers the chain's JSON-RPC, at `/rpc`. Undefined: nothing is to be answered. */
  readonly rpc: (body: unknown) => Promise<unknown>;
}

export interface ControlRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: unknown;
}

interface Head {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  /** By lower-case names. */
  readonly headers: IncomingHttpHeaders;
}

/** A request from this process. */
export interface Asking extends Head {
  readonly body: string | null;
}

/** The answer to it. */
export interface Told {
  readonly status: number;
  /** By lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** False: the connection ends in the middle of the body, behind this part. */
  readonly whole: boolean;
}

/** A request, however it came. */
interface Incoming extends Head {
  /** Reads the body, once. */
  readonly body: () => Promise<ReadBody>;
}

/** The end of a request. Null: the connection ends without an answer. */
type Outcome = {
  readonly reply: Reply;
  /** Simulated time of the answer, ms. */
  readonly atMs: number;
  /** False: it breaks off in the middle of its body. */
  readonly whole: boolean;
} | null;

export interface HttpServer {
  readonly server: Server;
  /** A request from this process, without a connection. @returns null where one would end without an answer */
  ask(request: Asking): Promise<Told | null>;
  /** Requests that a fault keeps waiting on purpose. */
  held(): number;
}

export function createHttp(parts: HttpParts): HttpServer {
  const { world, sessions, answers, faults, log, clock } = parts;
  const router = createRouter(allEndpoints);
  const limiter = createLimiter(parts.requestsPerSecond);
  const { requestsPerSecond } = parts;
  // Authenticated callers get more, for all sessions of the host together.
  const forSessions = createLimiter(requestsPerSecond === null ? null : requestsPerSecond * SESSION_FACTOR);
  const date = httpDates();
  let held = 0;

  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    const { method = "GET", url = "/", headers } = request;
    const body = () => readBody(request);
    const finish = (outcome: Outcome): void => {
      if (outcome === null) request.socket.destroy();
      else if (outcome.whole) send(response, outcome);
      else breakOff(request, response, outcome);
    };
    void outcomeOf({ method, target: url, headers, body })
      .then(finish)
      .catch((error: unknown) => {
        if (response.headersSent) response.destroy();
        else send(response, bug(error));
      });
  });

  /** A bug here must not look like a refusal: it is loud in the answer, and the server lives. */
  function bug(error: unknown): NonNullable<Outcome> {
    const text = `simulator bug: ${error instanceof Error ? error.message : error}`;
    return { reply: errorReply(500, text), atMs: parts.present(), whole: true };
  }

  async function ask({ body, ...request }: Asking): Promise<Told | null> {
    const read = async () => bodyOf(body);
    const outcome = await outcomeOf({ ...request, body: read }).catch(bug);
    if (outcome === null) return null;
    const { reply, atMs, whole } = outcome;
    const text = reply.text ?? "";
    const headers = Object.entries(headersOf(reply, atMs)).map(([name, value]) => [
      name.toLowerCase(),
      String(value),
    ]);
    return {
      status: reply.status,
      headers: Object.fromEntries(headers),
      text: whole ? text : text.slice(0, Math.floor(text.length / 2)),
      whole,
    };
  }

  async function outcomeOf(request: Incoming): Promise<Outcome> {
    const { method, target } = request;
    const mark = target.indexOf("?");
    const path = mark === -1 ? target : target.slice(0, mark);
    const query = mark === -1 ? "" : target.slice(mark + 1);
    const atMs = parts.present();
    if (path.startsWith("/sim/") || path === "/sim") {
      if (isFromPage(request.headers))
        return { reply: errorReply(403, "Control calls are not taken from web pages"), atMs, whole: true };
      const read = await request.body();
      if ("refused" in read) return { reply: read.refused, atMs, whole: true };
      const params = new URLSearchParams(query);
      const reply = await parts.control({ method, path, query: params, body: read.body });
      return { reply, atMs: parts.present(), whole: true };
    }
    const asked = { atMs, method, path, query, status: 0 };
    log.note(asked);
    const fault = faults.take(method, path);
    if (fault && fault.delayMs > 0) {
      held += 1;
      await clock.sleep(fault.delayMs).finally(() => {
        held -= 1;
      });
    }
    if (fault?.drop === "request") return null;
    let reply = fault && replaces(fault) ? faultReply(fault) : await answer(request, path, query);
    if (fault?.drop === "reply") return null;
    if (fault && reply.text !== null && !replaces(fault))
      reply = { ...reply, text: altered(reply.text, fault) };
    asked.status = reply.status;
    return { reply, atMs: parts.present(), whole: fault?.drop !== "body" };
  }

  async function isSession(bearer: string): Promise<boolean> {
    return sessions.authorize(bearer).then(
      () => true,
      () => false,
    );
  }

  async function answer(request: Incoming, path: string, query: string): Promise<Reply> {
    const { method } = request;
    const nowMs = parts.present();
    const bearer = request.headers.authorization;
    const known = requestsPerSecond !== null && bearer !== undefined && (await isSession(bearer));
    const waitMs = (known ? forSessions : limiter)(nowMs);
    if (waitMs > 0)
      return errorReply(429, "rate_limited", { "Retry-After": String(Math.ceil(waitMs / 1000)) });
    if (path === "/rpc") return answerRpc(request);
    if (isBeside(path)) return besideReply(request, path);
    const match = router.match(method, path);
    if (match.kind === "unknown") return errorReply(404, `No such path: ${path.slice(0, 200)}`);
    if (match.kind === "otherMethod") {
      return errorReply(405, `${method} is not possible here`, { Allow: match.allow.join(", ") });
    }
    const { endpoint } = match;
    try {
      const session =
        endpoint.session === "required" ? await sessions.authorize(request.headers.authorization) : null;
      if (session) admit(endpoint, session);
      const read = method === "POST" ? await request.body() : { body: undefined };
      if ("refused" in read) return read.refused;
      const asked = decodeRequest(
        endpoint,
        query === ""
          ? { path: match.path, body: read.body }
          : {
              path: match.path,
              query: new URLSearchParams(query),
              body: read.body,
            },
        nowMs,
      );
      if (!asked.ok) return requestRefused(400, asked.problem.code, asked.problem.message);
      const context = { world, sessions, nowMs, headers: request.headers, session };
      const text = answers.text(endpoint.name, asked.args, context);
      const body = typeof text === "string" ? text : await text;
      return body === null ? { status: 204, text: null } : { status: 200, text: body };
    } catch (error) {
      return refused(endpoint, error);
    }
  }

  async function answerRpc(request: Incoming): Promise<Reply> {
    const { method } = request;
    if (method !== "POST") return errorReply(405, `${method} is not possible here`, { Allow: "POST" });
    const read = await request.body();
    if ("refused" in read) return read.refused;
    const answer = await parts.rpc(read.body);
    return answer === undefined ? { status: 204, text: null } : { status: 200, text: JSON.stringify(answer) };
  }

  /** The reply of a route beside the contract. */
  async function besideReply(request: Incoming, path: string): Promise<Reply> {
    try {
      const { status, body } = await answerBeside(world, {
        method: request.method,
        path,
        session: () => sessions.authorize(request.headers.authorization),
        body: async () => {
          const read = await request.body();
          if ("refused" in read) throw new Refusal(read.refused.status, "invalid_request");
          return read.body;
        },
      });
      return { status, text: JSON.stringify(body) };
    } catch (error) {
      if (error instanceof Refusal) return errorReply(error.status, error.code);
      throw error;
    }
  }

  function send(response: ServerResponse, { reply, atMs }: NonNullable<Outcome>): void {
    const { status, text } = reply;
    response.sendDate = false;
    const all = headersOf(reply, atMs);
    response.writeHead(status, all);
    if (text === null) response.end();
    // Most of it is ASCII, which goes out in one piece with the headers, without being looked at again.
    else response.end(text, all["Content-Length"] === text.length ? "latin1" : "utf8");
  }

  function headersOf({ text, headers }: Reply, atMs: number): Record<string, string | number> {
    const all: Record<string, string | number> = { Date: date(atMs), ...headers };
    if (text !== null) {
      all["Content-Type"] = "application/json";
      all["Content-Length"] = Buffer.byteLength(text);
    }
    return all;
  }

  /** Promises the whole body, sends half of it and hangs up. */
  function breakOff(
    request: IncomingMessage,
    response: ServerResponse,
    { reply, atMs }: NonNullable<Outcome>,
  ): void {
    const text = reply.text ?? "{}";
    response.sendDate = false;
    response.writeHead(reply.status, {
      Date: date(atMs),
      "Content-Type": "application/json",
      "Content-Length": Buffer.byteLength(text),
    });
    response.write(text.slice(0, Math.floor(text.length / 2)), () => request.socket.destroy());
  }

  return { server, ask, held: () => held };
}

/**
 * True if a web page may have made a request: browsers state the origin of what changes something, and reach this machine under
 * another name where that name was made to lead here.
 */
function isFromPage({ origin, host }: IncomingHttpHeaders): boolean {
  return origin !== undefined || (host !== undefined && !ownHost.test(host));
}

const ownHost = /^(localhost|127(\.\d+){3}|\[::1\])(:\d+)?$/i;

/** True if a fault stands for the answer, rather than changing it or losing it. */
function replaces(fault: Fault): boolean {
  return fault.status !== null || fault.body !== undefined || fault.error !== null;
}

function faultReply(fault: Fault): Reply {
  const status = fault.status ?? (fault.error === null ? 200 : 500);
  const body = fault.body ?? { error: fault.error ?? `fault ${status}` };
  const headers = fault.retryAfter === null ? {} : { "Retry-After": fault.retryAfter };
  return { status, text: typeof body === "string" ? body : JSON.stringify(body), headers };
}

/** Sessions of services sign in and out, and nothing else that takes a session. @throws {Refusal} */
function admit(endpoint: Endpoint, session: Session): void {
  if (session.role === "service" && endpoint.group !== "auth") throw new Refusal(403, "user_only");
}

function refused(endpoint: Endpoint, error: unknown): Reply {
  if (error instanceof Refusal) return errorReply(error.status, error.code);
  if (error instanceof NotFound) {
    const { status, code, message } = error;
    return code === null ? errorReply(status, message) : requestRefused(status, code, message);
  }
  if (error instanceof BadCursor) return requestRefused(400, "invalid_cursor", error.message);
  throw new Error(`${endpoint.name}: ${error instanceof Error ? error.message : String(error)}`, {
    cause: error,
  });
}

/** Ceiling of callers with a session, as a multiple of that of anonymous callers. */
const SESSION_FACTOR = 2;

/** A bucket that holds one second's requests. @returns ms to wait, 0 when the request may pass */
function createLimiter(perSecond: number | null): (nowMs: number) => number {
  if (perSecond === null) return () => 0;
  let tokens = perSecond;
  let atMs = Number.NEGATIVE_INFINITY;
  return (nowMs) => {
    tokens = Math.min(perSecond, tokens + ((nowMs - atMs) / 1000) * perSecond);
    atMs = nowMs;
    if (tokens >= 1) {
      tokens -= 1;
      return 0;
    }
    return ((1 - tokens) / perSecond) * 1000;
  };
}

/** The `Date` header of a simulated time; made once a second. */
function httpDates(): (ms: number) => string {
  let second = Number.NaN;
  let text = "";
  return (ms) => {
    const now = Math.floor(ms / 1000);
    if (now !== second) {
      second = now;
      text = new Date(now * 1000).toUTCString();
    }
    return text;
  };
}
