/** A dashboard on a free port in its own folder, closed and removed at the end of the scope. */
import { mkdtempSync, rmSync } from "node:fs";
import { request } from "node:http";
import { request as requestOverTls } from "node:https";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import type { AccessEntry, Rights } from "../../src/domain/access.ts";
import { type Clock, systemClock } from "../../src/domain/clock.ts";
import type { AccessStore, DashboardSource } from "../../src/domain/ports.ts";
import { createDashboard, type ListenSettings } from "../../src/web/index.ts";
import { nowMs, source } from "./world.ts";

/** Fixed at the test world's time; its timers run. */
export const clock: Clock = { ...systemClock(), nowMs: () => nowMs };

export function temporaryFolder(): { readonly folder: string } & Disposable {
  const folder = mkdtempSync(path.join(tmpdir(), "perpwatch-"));
  return { folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) };
}

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  readonly json: () => unknown;
}

export interface Asking {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

/** A listener on a free port of this machine. */
export function listenWith(of: Partial<ListenSettings> = {}): ListenSettings {
  return {
    ...{ host: "127.0.0.1", port: 0, login: "always", passwordHash: null, tls: null },
    ...{ behindProxy: false, allowedHosts: [] },
    ...of,
  };
}

/** Stores sessions and tokens like the database, and can be made to fail. */
export function memoryStore(): AccessStore & {
  readonly entries: Map<string, AccessEntry>;
  /** Malformed rows. */
  odd: number;
  failing: Error | null;
  writes: number;
} {
  const entries = new Map<string, AccessEntry>();
  return {
    entries,
    odd: 0,
    failing: null,
    writes: 0,
    async accessEntries() {
      if (this.failing) throw this.failing;
      return [...entries.values(), ...Array<null>(this.odd).fill(null)];
    },
    async saveAccess(entry) {
      if (this.failing) throw this.failing;
      this.writes++;
      entries.set(entry.hash, entry);
    },
    async removeAccess(hash) {
      if (this.failing) throw this.failing;
      entries.delete(hash);
    },
  };
}

export interface OpenOptions {
  readonly listen?: Partial<ListenSettings>;
  readonly store?: ReturnType<typeof memoryStore>;
  /** Clock of session, link and token lifetimes, and of the login throttle. */
  readonly machine?: Clock;
  /** Clock of request limits, and of the time in answers. */
  readonly clock?: Clock;
}

export async function openDashboard(of: Partial<DashboardSource> = {}, options: OpenOptions = {}) {
  const { folder, [Symbol.dispose]: remove } = temporaryFolder();
  const socketPath = path.join(folder, "perpwatch.sock");
  const answers = source(of);
  const warnings: string[] = [];
  const logged: (object & { readonly message: string })[] = [];
  const log = {
    debug: () => {},
    info: (fields: object, message: string) => void logged.push({ ...fields, message }),
    warn: (fields: object, message: string) => {
      warnings.push(message);
      logged.push({ ...fields, message });
    },
    error: (fields: object, message: string) => void logged.push({ ...fields, message }),
  };
  const store = options.store ?? memoryStore();
  const listen = listenWith(options.listen);
  // Its own address differs from the printed one.
  const free = listen.behindProxy ? { port: await freePort() } : {};
  const dashboard = createDashboard({
    ...{ listen: { ...listen, ...free }, socketPath, source: answers, store, log },
    clock: options.clock ?? clock,
    ...(options.machine ? { machine: options.machine } : {}),
  });
  const { url } = await dashboard.start(new AbortController().signal);
  const port = free.port ?? Number(new URL(url ?? "").port);
  const overTcpWith = (ca: string | null, at: string, how: Asking = {}) =>
    ask({ host: "127.0.0.1", port, ...(ca !== null && { ca, servername: "localhost" }) }, at, how);
  const overTcp = (at: string, how?: Asking) => overTcpWith(listen.tls?.cert ?? null, at, how);
  const overSocket = (at: string, how: Asking = {}) => ask({ socketPath }, at, how);
  const post = (body: object) => ({ method: "POST", body: JSON.stringify(body) });
  return {
    ...{
      dashboard,
      socketPath,
      port,
      asked: answers.asked,
      warnings,
      logged,
      store,
      url: url ?? "",
      overTcp,
    },
    overSocket,
    /** As `overTcp`, trusting another certificate. */
    overTcpWith,
    /** Creates a token. */
    async token(rights: Rights, wish: object = {}): Promise<string> {
      const reply = await overSocket("/api/v1/access/tokens", post({ name: rights, rights, ...wish }));
      return (reply.json() as { token: string }).token;
    },
    /** Uses a one-time link like the page. @returns the headers of a logged-in browser */
    async logIn(): Promise<{ readonly cookie: string }> {
      const link = new URL(dashboard.link()!.url).hash.replace("#login=", "");
      const reply = await overTcp("/api/v1/session", { method: "POST", headers: { "perpwatch-link": link } });
      return { cookie: cookieOf(reply) };
    },
    async [Symbol.asyncDispose]() {
      await dashboard.stop();
      remove();
    },
  };
}

/** The same from a logged-in browser. */
export async function openLoggedIn(of: Partial<DashboardSource> = {}, options: OpenOptions = {}) {
  const daemon = await openDashboard(of, options);
  const session = await daemon.logIn();
  return {
    ...daemon,
    overTcp: (at: string, how: Asking = {}) =>
      daemon.overTcp(at, { ...how, headers: { ...session, ...how.headers } }),
  };
}

/** The cookie that a reply sets, as a browser sends it back. */
export function cookieOf(reply: Reply): string {
  const [set] = [reply.headers["set-cookie"] ?? []].flat();
  if (set === undefined) throw new Error(`no cookie, but ${reply.status} ${reply.text}`);
  return set.split(";")[0]!;
}

export function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer();
    server.listen({ host: "127.0.0.1", port: 0 }, () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

function ask(
  where:
    | { readonly host: string; readonly port: number; readonly ca?: string; readonly servername?: string }
    | { readonly socketPath: string },
  at: string,
  { method = "GET", headers = {}, body }: Asking,
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const sent = body === undefined ? headers : { "content-type": "application/json", ...headers };
    const send = "ca" in where ? requestOverTls : request;
    const outgoing = send({ ...where, path: at, method, headers: sent, agent: false }, (incoming) => {
      let text = "";
      incoming.setEncoding("utf8");
      incoming.on("data", (part: string) => {
        text += part;
      });
      incoming.on("error", reject);
      incoming.on("end", () =>
        resolve({
          ...{ status: incoming.statusCode ?? 0, headers: incoming.headers, text },
          json: () => JSON.parse(text) as unknown,
        }),
      );
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}
