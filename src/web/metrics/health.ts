/** Health checks for supervisors: `/healthz` (the process is alive) and `/readyz` (every wallet has fresh data). */
import type { FastifyInstance } from "fastify";
import type { Clock } from "../../domain/clock.ts";
import type { DashboardSource } from "../../domain/ports.ts";
import { cachedAnswer } from "../cached-answer.ts";

/** The answer of `/healthz`. */
export const alive = { alive: true } as const;

/** Probes use addresses rather than names. */
const open = { config: { access: "open", anyHost: true } } as const;

/** @param clock null: every answer is computed; else it may be a second old */
export function serveHealth(
  app: FastifyInstance,
  source: Pick<DashboardSource, "ready">,
  clock: Clock | null,
): void {
  const readiness = clock === null ? async () => source.ready() : cachedAnswer(clock, () => source.ready());
  app.get("/healthz", open, async () => alive);
  app.get("/readyz", open, async ({ caller }, reply) => {
    const { ready, reasons } = await readiness();
    reply.code(ready ? 200 : 503);
    // The reasons name wallets.
    return caller.rights === null ? { ready } : { ready, reasons };
  });
}
