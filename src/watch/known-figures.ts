/**
 * Which of the figures that a rule reads are known at one moment. Whoever waits for some of them has a reason to look again
 * when this text changes, and none when a figure that was known all the while has moved.
 */
import type { Env, EventRule, Facts, Read } from "../rules/index.ts";

type Reading = Pick<EventRule, "reads" | "staleAfterMs">;

/** Equal texts: the same figures are known. `env` says of what and when. */
export function knownFigures({ reads, staleAfterMs }: Reading, env: Env): string {
  let known = "";
  for (const read of reads) {
    const facts = factsOf(read, env);
    if (!facts) {
      known += "-";
      continue;
    }
    known += facts.values[read.field] === undefined ? "?" : "!";
    for (const source of read.sources) {
      const seenMs = facts.seenMs[source] ?? Number.NEGATIVE_INFINITY;
      known += env.nowMs - seenMs > staleAfterMs[source] ? "s" : "f";
    }
  }
  return known;
}

function factsOf({ scope, symbol }: Read, env: Env): Facts | undefined {
  return symbol === null ? env[scope] : env.markets(symbol);
}
