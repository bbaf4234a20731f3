/** For supervisors: is the process alive, and does it see every wallet. */
import type { FastifyInstance } from "fastify";
import type { Clock } from "../domain/clock.ts";
import type { DashboardSource } from "../domain/ports.ts";
import { recent } from "./recent.ts";

/** The answer of `/healthz`, which costs nothing. */
export const alive = { alive: true } as const;

/** @param clock null: each answer is of its own moment; else it may be a second old */
export function serveHealth(
  app: FastifyInstance,
  source: Pick<DashboardSource, "ready">,
  clock: Clock | null,
): void {
  const look = clock === null ? async () => source.ready() : recent(clock, () => source.ready());
  app.get("/healthz", async () => alive);
  app.get("/readyz", async (_request, reply) => {
    const { ready, reasons } = await look();
    reply.code(ready ? 200 : 503);
    return { ready, reasons };
  });
}
