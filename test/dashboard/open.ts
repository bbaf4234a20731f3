/** A dashboard on a free port and in a folder of its own, closed and removed at the end of the scope. */
import { mkdtempSync, rmSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { createDashboard } from "../../src/dashboard/index.ts";
import { type Clock, systemClock } from "../../src/domain/clock.ts";
import type { DashboardSource } from "../../src/domain/ports.ts";
import { nowMs, source } from "./world.ts";

/** Stands at the world's instant; its timers run. */
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

export async function openDashboard(of: Partial<DashboardSource> = {}) {
  const { folder, [Symbol.dispose]: remove } = temporaryFolder();
  const socketPath = path.join(folder, "perpwatch.sock");
  const answers = source(of);
  const warnings: string[] = [];
  const log = {
    debug: () => {},
    info: () => {},
    warn: (_fields: object, message: string) => void warnings.push(message),
  };
  const dashboard = createDashboard({
    ...{ listen: { host: "127.0.0.1", port: 0 }, socketPath, source: answers, log, clock },
  });
  const { url } = await dashboard.start(new AbortController().signal);
  const { hostname, port } = new URL(url ?? "");
  return {
    ...{ dashboard, socketPath, asked: answers.asked, warnings, url: url ?? "" },
    overTcp: (at: string, how: Asking = {}) => ask({ host: hostname, port: Number(port) }, at, how),
    overSocket: (at: string, how: Asking = {}) => ask({ socketPath }, at, how),
    async [Symbol.asyncDispose]() {
      await dashboard.stop();
      remove();
    },
  };
}

function ask(
  where: { readonly host: string; readonly port: number } | { readonly socketPath: string },
  at: string,
  { method = "GET", headers = {}, body }: Asking,
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const sent = body === undefined ? headers : { "content-type": "application/json", ...headers };
    const outgoing = request({ ...where, path: at, method, headers: sent, agent: false }, (incoming) => {
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
