/**
 * The local API on two listeners: a Unix socket for its owner, and TCP for browsers and programs. TCP requests need a
 * session or a token unless the configuration permits reading without login. Serves the page, its JSON, metrics and
 * health.
 */
import type { IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { Server as TlsServer } from "node:tls";
import type { FastifyInstance } from "fastify";
import { type Clock, systemClock } from "../domain/clock.ts";
import type { AccessStore, DashboardSource } from "../domain/ports.ts";
import { Access } from "./access/access.ts";
import { isKnown } from "./access/credential.ts";
import { LoginThrottle } from "./access/login-throttle.ts";
import { PasswordChecker } from "./access/password-checker.ts";
import { serveAccess, serveSession } from "./access/routes.ts";
import { addressTrouble } from "./address.ts";
import { serveApi } from "./api.ts";
import { createAuthorizer } from "./authorizer.ts";
import { DashboardError } from "./errors.ts";
import { runAtOnce, runOneAtATime } from "./limits/query-runner.ts";
import { type DashboardLog, silentLog } from "./log.ts";
import { serveHealth } from "./metrics/health.ts";
import { createMetrics, serveMetrics } from "./metrics/metrics.ts";
import { buildPage, servePage } from "./page/page.ts";
import { createServer } from "./server.ts";
import { hasSameNames, isLoopback, type ListenSettings } from "./settings.ts";
import { listenOnSocket } from "./socket.ts";

/** Time for which `stop` waits for running answers, ms. */
const drainMs = 1_000;
/** Interval of retries if the page's address is not available, ms. */
const pageAgainMs = 30_000;

export interface DashboardOptions {
  /** Listener of the page; port 0 selects a free one. Null: only the socket. */
  readonly listen: ListenSettings | null;
  readonly socketPath: string;
  readonly source: DashboardSource;
  /** Stores sessions and tokens. */
  readonly store: AccessStore;
  readonly log?: DashboardLog;
  readonly clock?: Clock;
  /** The machine's clock, for lifetimes of sessions and tokens; default: `clock`. */
  readonly machine?: Clock;
}

export interface Dashboard {
  /**
   * Starts the listeners. If the page's address is not available now, the page opens later; the socket does not wait
   * for it.
   * @returns the page's URL: `http://127.0.0.1:8787`, or null without one
   * @throws {DashboardError} if another daemon has the socket; nothing is left open
   */
  start(signal: AbortSignal): Promise<{ readonly url: string | null }>;
  /** Creates a one-time link to the page, or returns the page's URL if it needs no login. Null: there is no page. */
  link(): PageLink | null;
  /** Applies the settings that can change at runtime: certificate, password, names. Others apply after a restart. */
  reload(listen: ListenSettings | null): void;
  /** Ends within a bounded time, may be called repeatedly and before `start`, and never rejects. */
  stop(): Promise<void>;
}

export interface PageLink {
  readonly url: string;
  /** Null: no login is needed. */
  readonly expiresMs: number | null;
}

export function createDashboard(options: DashboardOptions): Dashboard {
  const { listen, socketPath, source, store, log = silentLog, clock = systemClock() } = options;
  const machine = options.machine ?? clock;
  const servers: FastifyInstance[] = [];
  const access = new Access({ store, clock: machine, log });
  let page: {
    readonly app: FastifyInstance;
    readonly port: number;
    readonly settings: ListenSettings;
  } | null = null;

  let isStopped = false;
  let cancelAgain = (): void => {};

  async function stop(): Promise<void> {
    isStopped = true;
    cancelAgain();
    page = null;
    await Promise.all(servers.splice(0).map((server) => close(server, clock, log)));
  }

  function link(): PageLink | null {
    if (page === null) return null;
    const url = pageUrl(page.settings, page.port);
    if (page.settings.login === "never") return { url, expiresMs: null };
    const { secret, expiresMs } = access.newLink();
    return { url: `${url}/#login=${secret}`, expiresMs };
  }

  async function open(signal: AbortSignal): Promise<string | null> {
    signal.throwIfAborted();
    await access.load();
    const metrics = createMetrics(source, clock);
    const document = await buildPage();
    const serve = async (app: FastifyInstance, isOwners: boolean) => {
      servers.push(app);
      // The owner's commands are not queued.
      const runQuery = isOwners ? runAtOnce : runOneAtATime(clock);
      const answerClock = isOwners ? null : clock;
      serveApi(app, { source, clock, runQuery, cached: !isOwners });
      serveHealth(app, source, answerClock);
      serveMetrics(app, metrics, answerClock);
      servePage(app, document);
    };
    const local = createServer({ log, authorize: null, limits: null });
    await serve(local, true);
    serveAccess(local, { access, link });
    await local.ready();
    await listenOnSocket(local.server, socketPath);
    signal.throwIfAborted();
    if (listen === null) return null;
    const throttle = new LoginThrottle(machine, log);
    const parts = { settings: () => page?.settings ?? listen, access, throttle };
    const openPage = async (): Promise<string> => {
      const known = (request: IncomingMessage) => isKnown(request, access);
      const isKnownAddress = (address: string) => throttle.isKnown(address);
      const limits = { clock, log, isKnown: known, isKnownAddress, tls: listen.tls };
      const app = createServer({ log, authorize: createAuthorizer(parts), limits });
      await serve(app, false);
      serveSession(app, { ...parts, passwords: new PasswordChecker(throttle) });
      await app.ready();
      const port = await listenOnTcp(app, listen);
      page = { app, port, settings: listen };
      return pageUrl(listen, port);
    };
    const url = await openPage().catch((error: unknown) => {
      if (!(error instanceof DashboardError)) throw error;
      log.error(
        {},
        `${error.message}; the monitoring goes on, and the page opens once its address can be had`,
      );
      again(openPage);
      return null;
    });
    signal.throwIfAborted();
    return url;
  }

  function again(openPage: () => Promise<string>): void {
    cancelAgain = machine.after(pageAgainMs, async () => {
      const before = servers.length;
      try {
        log.info({ url: await openPage() }, "the page is open");
        if (isStopped) await stop();
      } catch (error) {
        if (!(error instanceof DashboardError)) log.error({ err: error }, "the page cannot be opened");
        await Promise.all(servers.splice(before).map((server) => close(server, clock, log)));
        if (!isStopped) again(openPage);
      }
    });
  }

  return {
    async start(signal) {
      try {
        const url = await open(signal);
        log.info({ socket: socketPath, url }, "the local API is open");
        return { url };
      } catch (error) {
        await stop();
        throw error;
      }
    },
    link,
    reload(next) {
      if (page === null || next === null) return;
      const { settings, app } = page;
      const tls = settings.tls && (next.tls ?? settings.tls);
      if (tls !== null && app.server instanceof TlsServer) app.server.setSecureContext(tls);
      const { passwordHash } = next;
      const { allowedHosts } = hasSameNames(settings, next) ? next : settings;
      page = { ...page, settings: { ...settings, tls, passwordHash, allowedHosts } };
    },
    stop,
  };
}

/** The page's URL for browsers. */
function pageUrl(listen: ListenSettings, port: number): string {
  const { host, tls, behindProxy, allowedHosts } = listen;
  const [name = host] = isLoopback(host) && !behindProxy ? [] : allowedHosts;
  if (behindProxy) return `https://${urlHost(name)}`;
  return `${tls === null ? "http" : "https"}://${urlHost(name)}:${port}`;
}

function urlHost(name: string): string {
  return name.includes(":") ? `[${name}]` : name;
}

async function listenOnTcp(app: FastifyInstance, { host, port }: ListenSettings): Promise<number> {
  try {
    await app.listen({ host, port });
  } catch (error) {
    throw new DashboardError("address", `dashboard.listen ${host}:${port}: ${addressTrouble(error)}`, {
      cause: error,
    });
  }
  return (app.server.address() as AddressInfo).port;
}

async function close(server: FastifyInstance, clock: Clock, log: DashboardLog): Promise<void> {
  const cancel = clock.after(drainMs, () => server.server.closeAllConnections());
  try {
    await server.close();
  } catch (error) {
    log.warn({ err: error }, "the local API did not close cleanly");
  } finally {
    cancel();
  }
}
