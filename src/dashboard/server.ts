/**
 * One HTTP server with what every answer of ours has in common: JSON with errors as `{ error }`, bounds, headers that
 * leave a browser no room, and a door before any route where others than its owner can reach it.
 */
import type { Server } from "node:http";
import fastify, { type FastifyError, type FastifyInstance } from "fastify";
import { type Door, owner } from "./door.ts";
import { type LimitOptions, limitedServer } from "./limits.ts";
import type { DashboardLog } from "./log.ts";
import { Refused } from "./refused.ts";
import { toWire } from "./wire.ts";

const mostBodyBytes = 65_536;

export interface ServerOptions {
  readonly log: DashboardLog;
  /** Null: only its owner asks, who may do everything. */
  readonly door: Door | null;
  /** Null: only its owner asks. */
  readonly limits: LimitOptions | null;
}

const headers = {
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
};

export function createServer({ log, door, limits }: ServerOptions): FastifyInstance {
  const app = fastify<Server>({
    logger: false,
    bodyLimit: mostBodyBytes,
    // A client that dawdles holds a connection, not the daemon.
    requestTimeout: 10_000,
    connectionTimeout: 0,
    keepAliveTimeout: 15_000,
    routerOptions: { maxParamLength: 200 },
    ...(limits === null ? {} : { serverFactory: (answer) => limitedServer(answer, limits) }),
  });
  app.setReplySerializer((payload) => toWire(payload));

  app.decorateRequest("caller");
  app.addHook("onRequest", async (request, reply) => {
    reply.headers(headers);
    request.caller = door === null ? owner : door(request, reply);
  });
  app.addHook("onResponse", async (request, reply) => {
    // A request that was refused at the door has none.
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
