/**
 * Authorizes the requests of the TCP listener. Each request passes these checks before any route:
 *
 *   known Host? (421) ─► own site? (403) ─► identify caller ─► sufficient rights? (401, 403) ─► route (404) ─► answer
 *
 * The first check prevents DNS rebinding: a foreign page whose name resolves to 127.0.0.1 still sends its own name in
 * `Host`. The second keeps foreign pages, which cannot read answers, from causing work or actions. Routes are closed by
 * default.
 */
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Rights } from "../domain/access.ts";
import type { Access } from "./access/access.ts";
import { addressGroup, clientAddress } from "./access/client-address.ts";
import { credentialOf } from "./access/credential.ts";
import type { LoginThrottle } from "./access/login-throttle.ts";
import { Refused } from "./refused.ts";
import { hostTest, isLocal, isSecure, type ListenSettings } from "./settings.ts";

export interface Caller {
  readonly by: "owner" | "session" | "token" | "anyone";
  /** Name of the token, for tokens. */
  readonly name: string | null;
  /** Null: no rights. */
  readonly rights: Rights | null;
}

/**
 * `open`: for everybody. `local`: for everybody on this machine. Left out: GET needs the right to read, other methods
 * the right to act.
 */
export type RouteAccess = "open" | "local";

declare module "fastify" {
  interface FastifyContextConfig {
    readonly access?: RouteAccess;
    /** True: requests without a credential are answered for every `Host`, as anonymous. */
    readonly anyHost?: boolean;
  }
  interface FastifyRequest {
    caller: Caller;
  }
}

export const ownerCaller: Caller = { by: "owner", name: null, rights: "act" };
const anonymous: Caller = { by: "anyone", name: null, rights: null };
const anonymousReader: Caller = { by: "anyone", name: null, rights: "read" };

/** Returns the caller of a request. @throws {Refused} if it is not authorized */
export type Authorizer = (request: FastifyRequest, reply: FastifyReply) => Caller;

export interface AuthorizerOptions {
  /** The current settings. */
  readonly settings: () => ListenSettings;
  readonly access: Access;
  readonly throttle: LoginThrottle;
}

export function createAuthorizer({ settings, access, throttle }: AuthorizerOptions): Authorizer {
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
    if (!isOurs) return anonymous;
    const caller = identify(request, now);
    if (caller.by === "session" || caller.by === "token")
      throttle.markKnown(addressGroup(clientAddress(request.raw, now.behindProxy)));
    if (caller.by === "session" && changes(request) && !isFromOwnPage(request))
      throw new Refused(403, "the browser does not say which page asks this; use a current one");
    checkRights(request, reply, caller, now);
    return caller;
  };

  function identify(request: FastifyRequest, now: ListenSettings): Caller {
    const credential = credentialOf(request.raw);
    if (credential.kind === "token") {
      const token = access.find(credential.secret, "token");
      if (token !== null) return { by: "token", name: token.name, rights: token.rights };
      const address = clientAddress(request.raw, now.behindProxy);
      throttle.failed(addressGroup(address), address, "token");
      throw new Refused(
        401,
        "this token is not valid: it was revoked, has expired, or never was one; perpwatch token new NAME makes one",
      );
    }
    for (const secret of credential.secrets) {
      const session = access.find(secret, "session");
      if (session !== null) return { by: "session", name: null, rights: session.rights };
    }
    return now.login === "never" && !isForwarded(request) ? anonymousReader : anonymous;
  }

  function checkRights(
    request: FastifyRequest,
    reply: FastifyReply,
    caller: Caller,
    now: ListenSettings,
  ): void {
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

/** Returns true if headers show that a proxy forwarded the request. */
function isForwarded({ headers }: FastifyRequest): boolean {
  return ["x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "forwarded", "via"].some(
    (name) => headers[name] !== undefined,
  );
}

/** Returns true if a page of another site caused the request. Links to our page are allowed. */
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

/** Behind a proxy `Host` may differ from the browser's; the origin's name has to be one of ours then. */
function isOwnOrigin(origin: string, host: string, now: ListenSettings): boolean {
  if (!now.behindProxy)
    return origin.toLowerCase() === `${isSecure(now) ? "https" : "http"}://${host}`.toLowerCase();
  if (!URL.canParse(origin)) return false;
  const { protocol, hostname } = new URL(origin);
  return protocol === "https:" && hostTest(now)(hostname.replace(/^\[(.*)\]$/, "$1"));
}

/** Every current browser sends one of these headers. */
function isFromOwnPage({ headers }: FastifyRequest): boolean {
  return headers.origin !== undefined || headers["sec-fetch-site"] === "same-origin";
}

/** `[::1]:8787` → `::1`, `LocalHost.:80` → `localhost`. */
export function hostName(host: string): string {
  const bracketed = /^\[([^\]]*)\](?::\d+)?$/.exec(host);
  const name = bracketed ? bracketed[1]! : host.replace(/:\d+$/, "");
  return name.toLowerCase().replace(/\.$/, "");
}
