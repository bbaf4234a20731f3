/**
 * Runs queries that read large parts of the database, one at a time. Such a query blocks the daemon, so after each one
 * the runner waits four times as long as it took.
 */
import type { FastifyRequest } from "fastify";
import type { Clock } from "../../domain/clock.ts";
import { Refused } from "../refused.ts";

const maxWaiting = 16;
const restShare = 4;
const maxRestMs = 2_000;

/** Runs the query of a request. @throws {Refused} if too many requests wait or the client has disconnected */
export type QueryRunner = <T>(request: FastifyRequest, query: () => Promise<T>) => Promise<T>;

/** Runs every query at once. */
export const runAtOnce: QueryRunner = (_request, query) => query();

export function runOneAtATime(clock: Clock): QueryRunner {
  let tail: Promise<unknown> = Promise.resolve();
  let active = 0;
  return async (request, query) => {
    if (active > maxWaiting)
      throw new Refused(429, `${maxWaiting} such requests wait already; ask again when they are answered`);
    active++;
    let tookMs = 0;
    const result = tail.then(async () => {
      await new Promise((next) => setImmediate(next));
      if (request.raw.socket.destroyed) throw new Refused(499, "nobody waits for this any more");
      const beginMs = clock.elapsedMs();
      try {
        return await query();
      } finally {
        tookMs = clock.elapsedMs() - beginMs;
      }
    });
    tail = result
      .catch(() => {})
      .then(async () => {
        active--;
        const restMs = Math.min(maxRestMs, tookMs * restShare);
        if (restMs >= 1) await clock.sleep(restMs);
      });
    return result;
  };
}
