/**
 * Queries that read much of the database, one at a time: such a read holds up the daemon while it runs, so between two of
 * them everything else has its turn.
 */
import type { FastifyRequest } from "fastify";
import { Refused } from "./server.ts";

const maxWaiting = 16;

/** Answers a request by a query. @throws {Refused} when too many wait, or the asker has gone */
export type Turns = <T>(request: FastifyRequest, query: () => Promise<T>) => Promise<T>;

/** Lets every query run at once. */
export const allAtOnce: Turns = (_request, query) => query();

export function oneAtATime(): Turns {
  let last: Promise<unknown> = Promise.resolve();
  let present = 0;
  return async (request, query) => {
    if (present > maxWaiting)
      throw new Refused(429, `${maxWaiting} such requests wait already; ask again when they are answered`);
    present++;
    const own = last.then(async () => {
      await new Promise((next) => setImmediate(next));
      if (request.raw.socket.destroyed) throw new Refused(499, "nobody waits for this any more");
      return query();
    });
    last = own.catch(() => {}).finally(() => present--);
    return own;
  };
}
