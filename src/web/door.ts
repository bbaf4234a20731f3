/**
 * The door of the listener that others can reach. Each request passes these, before any route:
 *
 *   Host is ours? (421) ─► not for another site? (403) ─► who asks? ─► may it? (401, 403) ─► route (404) ─► answer
 *
 * The first is against DNS rebinding: a page from elsewhere whose name suddenly means 127.0.0.1 still says its own name
 * in `Host`. The second keeps pages from elsewhere, which could not read an answer, from making the daemon work or act for one.
 * A route is closed unless it says otherwise.
 */
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Rights } from "../domain/access.ts";
import type { Access } from "./access/access.ts";
import { addressGroup, clientAddress } from "./access/client-address.ts";
import { credentialOf } from "./access/credential.ts";
import type { SlowDown } from "./access/slow-down.ts";
import { Refused } from "./refused.ts";
import { hostTest, isLocal, isSecure, type ListenSettings } from "./settings.ts";

export interface Caller {
  readonly by: "owner" | "session" | "token" | "anyone";
  /** A token's. */
  readonly name: string | null;
  /** Null: none. */
  readonly rights: Rights | null;
}

/** `open`: to anybody. `local`: to anybody on this machine. Left out: GET needs the right to read, all else to act. */
export type RouteAccess = "open" | "local";

declare module "fastify" {
  interface FastifyContextConfig {
    readonly access?: RouteAccess;
    /** Answers under any name to those who bring no credential, as to strangers. */
    readonly anyHost?: boolean;
  }
  interface FastifyRequest {
    caller: Caller;
  }
}

export const owner: Caller = { by: "owner", name: null, rights: "act" };
const stranger: Caller = { by: "anyone", name: null, rights: null };
const reader: Caller = { by: "anyone", name: null, rights: "read" };

/** Lets a request in. @throws {Refused} */
export type Door = (request: FastifyRequest, reply: FastifyReply) => Caller;

export interface DoorOptions {
  /** Those in force now. */
  readonly settings: () => ListenSettings;
  readonly access: Access;
  readonly slowDown: SlowDown;
}

export function createDoor({ settings, access, slowDown }: DoorOptions): Door {
  return (request, reply) => {
    const now = settings();
    const isOurs = hostTest(now)(hostName(request.headers.host ?? ""));
    if (!isOurs && (request.routeOptions.config.anyHost !== true || hasCredential(request)))
      throw new Refused(
        421,
        "this server is not called that; use the address that perpwatch printed at its start, or add the name to dashboard.allowedHosts",
      );
    if (isForAnotherSite(request, now))
      throw new Refused(
        403,
        "another site made the browser ask this; open the page of perpwatch itself, or ask without a browser",
      );
    if (!isOurs) return stranger;
    const caller = identify(request, now);
    if (caller.by === "session" || caller.by === "token")
      slowDown.know(addressGroup(clientAddress(request.raw, now.behindProxy)));
    if (caller.by === "session" && changes(request) && !isFromOwnPage(request))
      throw new Refused(403, "the browser does not say which page asks this; use a current one");
    admit(request, reply, caller, now);
    return caller;
  };

  function identify(request: FastifyRequest, now: ListenSettings): Caller {
    const credential = credentialOf(request.raw);
    if (credential.kind === "token") {
      const token = access.find(credential.secret, "token");
      if (token !== null) return { by: "token", name: token.name, rights: token.rights };
      const address = clientAddress(request.raw, now.behindProxy);
      slowDown.failed(addressGroup(address), address, "token");
      throw new Refused(
        401,
        "this token is not valid: it was revoked, has expired, or never was one; perpwatch token new NAME makes one",
      );
    }
    for (const secret of credential.secrets) {
      const session = access.find(secret, "session");
      if (session !== null) return { by: "session", name: null, rights: session.rights };
    }
    return now.login === "never" && !isForwarded(request) ? reader : stranger;
  }

  function admit(request: FastifyRequest, reply: FastifyReply, caller: Caller, now: ListenSettings): void {
    const { access: needs } = request.routeOptions.config;
    if (needs === "open" || caller.rights === "act") return;
    if (needs === "local" && isLocal(now) && !isForwarded(request)) return;
    if (caller.rights === "read" && !changes(request)) return;
    if (caller.by === "token")
      throw new Refused(
        403,
        `the token ${caller.name} may only read; perpwatch token new NAME --rights act makes one that may act`,
      );
    if (caller.rights === "read")
      throw new Refused(
        403,
        "here one can only read; use the perpwatch command, or a token with the right to act",
      );
    reply.header("www-authenticate", "Bearer");
    if (now.login === "never")
      throw new Refused(
        401,
        "this came through a proxy, and dashboard.login is never: set dashboard.behindProxy: true and dashboard.login: always",
      );
    throw new Refused(
      401,
      "this needs a login: perpwatch page makes a link for a browser, perpwatch token new NAME a token for a program (Authorization: Bearer TOKEN)",
      { password: now.passwordHash !== null },
    );
  }
}

function hasCredential({ headers }: FastifyRequest): boolean {
  return headers.authorization !== undefined || headers.cookie !== undefined;
}

function changes({ method }: FastifyRequest): boolean {
  return method !== "GET" && method !== "HEAD";
}

/** A proxy says that it passed this on. */
function isForwarded({ headers }: FastifyRequest): boolean {
  return ["x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "forwarded", "via"].some(
    (name) => headers[name] !== undefined,
  );
}

/** Returns true if a page of another site makes the browser ask. A link to our page is followed. */
function isForAnotherSite(request: FastifyRequest, now: ListenSettings): boolean {
  const { headers, url } = request;
  const site = headers["sec-fetch-site"];
  if (!changes(request)) {
    if (site !== "cross-site") return false;
    return headers["sec-fetch-mode"] !== "navigate" || url.split("?")[0] !== "/";
  }
  if (site !== undefined && site !== "same-origin" && site !== "none") return true;
  return headers.origin !== undefined && !isOwnOrigin(headers.origin, headers.host ?? "", now);
}

/** Behind a proxy `Host` may be another than the browser's: the name has to be one of ours there. */
function isOwnOrigin(origin: string, host: string, now: ListenSettings): boolean {
  if (!now.behindProxy)
    return origin.toLowerCase() === `${isSecure(now) ? "https" : "http"}://${host}`.toLowerCase();
  if (!URL.canParse(origin)) return false;
  const { protocol, hostname } = new URL(origin);
  return protocol === "https:" && hostTest(now)(hostname.replace(/^\[(.*)\]$/, "$1"));
}

/** Any browser of today says one of these. */
function isFromOwnPage({ headers }: FastifyRequest): boolean {
  return headers.origin !== undefined || headers["sec-fetch-site"] === "same-origin";
}

/** `[::1]:8787` → `::1`, `LocalHost.:80` → `localhost`. */
export function hostName(host: string): string {
  const bracketed = /^\[([^\]]*)\](?::\d+)?$/.exec(host);
  const name = bracketed ? bracketed[1]! : host.replace(/:\d+$/, "");
  return name.toLowerCase().replace(/\.$/, "");
}
