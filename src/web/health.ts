/** For supervisors: is the process alive, and does it see every wallet. */
import type { FastifyInstance } from "fastify";
import type { Clock } from "../domain/clock.ts";
import type { DashboardSource } from "../domain/ports.ts";
import { recent } from "./recent.ts";

/** The answer of `/healthz`, which costs nothing. */
export const alive = { alive: true } as const;

/** Probes call by an address. */
const open = { config: { access: "open", anyHost: true } } as const;

/** @param clock null: each answer is of its own moment; else it may be a second old */
export function serveHealth(
  app: FastifyInstance,
  source: Pick<DashboardSource, "ready">,
  clock: Clock | null,
): void {
  const look = clock === null ? async () => source.ready() : recent(clock, () => source.ready());
  app.get("/healthz", open, async () => alive);
  app.get("/readyz", open, async ({ caller }, reply) => {
    const { ready, reasons } = await look();
    reply.code(ready ? 200 : 503);
    // The reasons name wallets.
    return caller.rights === null ? { ready } : { ready, reasons };
  });
}
