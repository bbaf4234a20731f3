/**
 * The local API behind two doors: a Unix socket for its owner, who may change things, and a TCP listener (loopback unless
 * configured otherwise) where everything can be read and nothing changed: the page, its JSON, metrics, health.
 */
import type { AddressInfo } from "node:net";
import type { FastifyInstance } from "fastify";
import { type Clock, systemClock } from "../domain/clock.ts";
import type { DashboardSource } from "../domain/ports.ts";
import { addressTrouble } from "./address.ts";
import { serveApi } from "./api.ts";
import { DashboardError } from "./errors.ts";
import { serveHealth } from "./health.ts";
import { type DashboardLog, silentLog } from "./log.ts";
import { createMetrics, serveMetrics } from "./metrics.ts";
import { buildPage, servePage } from "./page/page.ts";
import { createServer, hostsFor } from "./server.ts";
import { listenOnSocket } from "./socket.ts";
import { allAtOnce, oneAtATime } from "./turns.ts";

/** The time for which `stop` lets answers that are under way finish, ms. */
const drainMs = 1_000;

export interface DashboardOptions {
  /** The address of the page; port 0: a free one. Null: only the socket. */
  readonly listen: { readonly host: string; readonly port: number } | null;
  readonly socketPath: string;
  readonly source: DashboardSource;
  readonly log?: DashboardLog;
  readonly clock?: Clock;
}

export interface Dashboard {
  /**
   * @returns where the page is: `http://127.0.0.1:8787`, or null without one
   * @throws {DashboardError} when another daemon has the socket, or an address cannot be had; nothing is left open
   */
  start(signal: AbortSignal): Promise<{ readonly url: string | null }>;
  /** Bounded, repeatable, fine when unstarted, never rejects. */
  stop(): Promise<void>;
}

export function createDashboard(options: DashboardOptions): Dashboard {
  const { listen, socketPath, source, log = silentLog, clock = systemClock() } = options;
  const servers: FastifyInstance[] = [];

  async function stop(): Promise<void> {
    await Promise.all(servers.splice(0).map((server) => close(server, clock, log)));
  }

  async function open(signal: AbortSignal): Promise<string | null> {
    signal.throwIfAborted();
    const metrics = createMetrics(source, clock);
    const page = await buildPage();
    const build = async (door: { readonly readOnly: boolean; readonly host: string | null }) => {
      const hosts = door.host === null ? null : hostsFor(door.host);
      const limits = door.readOnly ? { clock, log } : null;
      const app = createServer({ log, readOnly: door.readOnly, hosts, limits });
      servers.push(app);
      // Commands of the owner wait for nobody.
      const turns = door.readOnly ? oneAtATime(clock) : allAtOnce;
      serveApi(app, { source, clock, changes: !door.readOnly, turns, kept: door.readOnly });
      serveHealth(app, source, door.readOnly ? clock : null);
      serveMetrics(app, metrics, door.readOnly ? clock : null);
      servePage(app, page);
      await app.ready();
      return app;
    };
    const local = await build({ readOnly: false, host: null });
    await listenOnSocket(local.server, socketPath);
    signal.throwIfAborted();
    if (!listen) return null;
    const open = await build({ readOnly: true, host: listen.host });
    const url = await listenOnTcp(open, listen);
    signal.throwIfAborted();
    return url;
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
    stop,
  };
}

async function listenOnTcp(
  app: FastifyInstance,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<string> {
  try {
    await app.listen({ host, port });
  } catch (error) {
    throw new DashboardError("address", `dashboard.listen ${host}:${port}: ${addressTrouble(error)}`, {
      cause: error,
    });
  }
  const address = app.server.address() as AddressInfo;
  return `http://${host.includes(":") ? `[${host}]` : host}:${address.port}`;
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
