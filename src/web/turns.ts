/**
 * Queries that read much of the database, one at a time: such a read holds up the daemon while it runs, so between two of
 * them everything else has its turn, for four times as long as the read took.
 */
import type { FastifyRequest } from "fastify";
import type { Clock } from "../domain/clock.ts";
import { Refused } from "./refused.ts";

const maxWaiting = 16;
const restShare = 4;
const maxRestMs = 2_000;

/** Answers a request by a query. @throws {Refused} when too many wait, or the asker has gone */
export type Turns = <T>(request: FastifyRequest, query: () => Promise<T>) => Promise<T>;

/** Lets every query run at once. */
export const allAtOnce: Turns = (_request, query) => query();

export function oneAtATime(clock: Clock): Turns {
  let last: Promise<unknown> = Promise.resolve();
  let present = 0;
  return async (request, query) => {
    if (present > maxWaiting)
      throw new Refused(429, `${maxWaiting} such requests wait already; ask again when they are answered`);
    present++;
    let tookMs = 0;
    const own = last.then(async () => {
      await new Promise((next) => setImmediate(next));
      if (request.raw.socket.destroyed) throw new Refused(499, "nobody waits for this any more");
      const beginMs = clock.elapsedMs();
      try {
        return await query();
      } finally {
        tookMs = clock.elapsedMs() - beginMs;
      }
    });
    last = own
      .catch(() => {})
      .then(async () => {
        present--;
        const restMs = Math.min(maxRestMs, tookMs * restShare);
        if (restMs >= 1) await clock.sleep(restMs);
      });
    return own;
  };
}
