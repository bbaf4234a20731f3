/**
 * One HTTP server with what every answer of ours has in common: JSON with errors as `{ error }`, bounds, headers that
 * leave a browser no room, and, where browsers can reach it, three refusals before any route:
 *
 *   request ─► Host is ours? (421) ─► not for another site? (403) ─► GET or HEAD? (405) ─► route (404) ─► answer
 *
 * The first is against DNS rebinding: a page from elsewhere whose name suddenly means 127.0.0.1 still says its own name
 * in `Host`. The second keeps pages from elsewhere, which could not read an answer, from making the daemon work for one.
 */
import type { Server } from "node:http";
import fastify, { type FastifyError, type FastifyInstance, type FastifyRequest } from "fastify";
import { type LimitOptions, limitedServer } from "./limits.ts";
import type { DashboardLog } from "./log.ts";
import { toWire } from "./wire.ts";

const mostBodyBytes = 65_536;

export interface ServerOptions {
  readonly log: DashboardLog;
  /** Only GET and HEAD. */
  readonly readOnly: boolean;
  /** The names by which it may be called; null: any, for a listener that no browser reaches or that is meant for many. */
  readonly hosts: ((name: string) => boolean) | null;
  /** Null: only its owner asks. */
  readonly limits: LimitOptions | null;
}

/** A refusal that the asker can do something about. */
export class Refused extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.name = "Refused";
    this.status = status;
  }
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

export function createServer({ log, readOnly, hosts, limits }: ServerOptions): FastifyInstance {
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

  app.addHook("onRequest", async (request, reply) => {
    reply.headers(headers);
    if (hosts && !hosts(hostName(request.headers.host ?? ""))) {
      throw new Refused(
        421,
        "this server is not called that; use the address that perpwatch printed at its start",
      );
    }
    if (isForAnotherSite(request)) {
      throw new Refused(
        403,
        "another site made the browser ask this; open the page of perpwatch itself, or ask without a browser",
      );
    }
    if (readOnly && request.method !== "GET" && request.method !== "HEAD") {
      reply.header("allow", "GET, HEAD");
      throw new Refused(405, "this address is read-only; changes are made with the perpwatch command");
    }
  });

  app.setNotFoundHandler((request, reply) => {
    reply.code(404).send({ error: `there is no ${request.method} ${request.url.split("?")[0]} here` });
  });

  app.setErrorHandler((error: FastifyError | Refused, request, reply) => {
    if (error instanceof Refused) return reply.code(error.status).send({ error: error.message });
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

/** Returns true if a page of another site makes the browser ask. A link to our page is followed. */
function isForAnotherSite({ headers, url }: FastifyRequest): boolean {
  if (headers["sec-fetch-site"] !== "cross-site") return false;
  return headers["sec-fetch-mode"] !== "navigate" || url.split("?")[0] !== "/";
}

/** `[::1]:8787` → `::1`, `LocalHost.:80` → `localhost`. */
export function hostName(host: string): string {
  const bracketed = /^\[([^\]]*)\](?::\d+)?$/.exec(host);
  const name = bracketed ? bracketed[1]! : host.replace(/:\d+$/, "");
  return name.toLowerCase().replace(/\.$/, "");
}

const loopback = /^(localhost|::1|127\.\d{1,3}\.\d{1,3}\.\d{1,3})$/;

/**
 * The allowed names in `Host` when we listen at `host`. On loopback only loopback's own names; elsewhere the owner has
 * opened the page to others, under names that only he knows.
 */
export function hostsFor(host: string): ((name: string) => boolean) | null {
  return loopback.test(host.toLowerCase()) ? (name) => loopback.test(name) : null;
}
