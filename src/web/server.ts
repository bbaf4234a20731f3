/**
 * Creates an HTTP server with the common parts of all answers: JSON with errors as `{ error }`, limits, restrictive
 * headers, and authorization before any route on the TCP listener.
 */
import { type Server, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import fastify, {
  type ConnectionError,
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from "fastify";
import { type Authorizer, ownerCaller } from "./authorizer.ts";
import { answerHeaders, jsonType } from "./headers.ts";
import { type LimitOptions, limitedServer } from "./limits/limits.ts";
import type { DashboardLog } from "./log.ts";
import { Refused } from "./refused.ts";
import { toWire } from "./wire.ts";

const maxBodyBytes = 65_536;

export interface ServerOptions {
  readonly log: DashboardLog;
  /** Null: all requests are the owner's, with all rights. */
  readonly authorize: Authorizer | null;
  /** Null: all requests are the owner's. */
  readonly limits: LimitOptions | null;
}

export function createServer({ log, authorize, limits }: ServerOptions): FastifyInstance {
  const app = fastify<Server>({
    logger: false,
    bodyLimit: maxBodyBytes,
    // A slow client holds a connection, not the daemon.
    requestTimeout: 10_000,
    connectionTimeout: 0,
    keepAliveTimeout: 15_000,
    routerOptions: { maxParamLength: 200 },
    frameworkErrors: (_error, request, reply) => refuseMalformed(request, reply, authorize),
    clientErrorHandler: answerNoHttp,
    ...(limits === null ? {} : { serverFactory: (answer) => limitedServer(answer, limits) }),
  });
  app.setReplySerializer((payload) => toWire(payload));

  app.decorateRequest("caller");
  app.addHook("onRequest", async (request, reply) => {
    reply.headers(answerHeaders);
    request.caller = authorize === null ? ownerCaller : authorize(request, reply);
  });
  app.addHook("onResponse", async (request, reply) => {
    // A refused request has no caller.
    if (request.caller?.by !== "token" || request.method === "GET" || request.method === "HEAD") return;
    const { method, caller } = request;
    log.info(
      { by: caller.name, method, path: request.url.split("?")[0], status: reply.statusCode },
      "a program acted over the local address",
    );
  });

  app.setNotFoundHandler((request, reply) => {
    reply.code(404).send({ error: `there is no ${request.method} ${request.url.split("?")[0]} here` });
  });

  app.setErrorHandler((error: FastifyError | Refused, request, reply) => {
    if (error instanceof Refused)
      return reply.code(error.status).send({ error: error.message, ...error.facts });
    const status = error.statusCode ?? 500;
    if (status < 500) return reply.code(status).send({ error: error.message });
    log.warn(
      { err: error, method: request.method, path: request.url.split("?")[0] },
      "a local request failed",
    );
    return reply.code(status).send({ error: "the daemon failed to answer this; its log says why" });
  });
  return app;
}

/** Answers a request with a malformed path. No route and no hook runs, so it is authorized here. */
function refuseMalformed(request: FastifyRequest, reply: FastifyReply, authorize: Authorizer | null): void {
  reply.headers(answerHeaders).type(jsonType);
  let refused = new Refused(400, "the path of this request is malformed");
  try {
    authorize?.(request, reply);
  } catch (error) {
    refused = error instanceof Refused ? error : new Refused(500, "the daemon failed to answer this");
  }
  reply.code(refused.status).send(JSON.stringify({ error: refused.message, ...refused.facts }));
}

/** Answers data that is not a valid request, and closes the connection. */
function answerNoHttp(error: ConnectionError, socket: Socket): void {
  if (error.code !== "ECONNRESET" && socket.writable) {
    const [status, message] =
      error.code === "ERR_HTTP_REQUEST_TIMEOUT"
        ? [408, "this request did not come to its end in time"]
        : error.code === "HPE_HEADER_OVERFLOW"
          ? [431, "the headers of this request are too large"]
          : [400, "this is no request of HTTP/1.1"];
    const body = JSON.stringify({ error: message });
    const headers = {
      ...answerHeaders,
      ...{ "content-type": jsonType, "content-length": body.length, connection: "close" },
    };
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("")}\r\n${body}`);
  }
  socket.destroy(error);
}
