/** For supervisors: is the process alive, and does it see every wallet. */
import type { FastifyInstance } from "fastify";
import type { DashboardSource } from "../domain/ports.ts";

export function serveHealth(app: FastifyInstance, source: Pick<DashboardSource, "ready">): void {
  app.get("/healthz", async () => ({ alive: true }));
  app.get("/readyz", async (_request, reply) => {
    const { ready, reasons } = source.ready();
    reply.code(ready ? 200 : 503);
    return { ready, reasons };
  });
}
