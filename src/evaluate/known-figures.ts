/**
 * The known figures among those that a rule reads, as a text. A change of this text is the reason to judge again; a change of a
 * figure that was known before is not.
 */
import {
  type ConditionRule,
  type Env,
  type EventRule,
  type Facts,
  type Read,
  Unknown,
} from "../rules/index.ts";

type Reading = Pick<EventRule, "reads" | "staleAfterMs">;

/** Equal texts: the same figures are known. `env` gives the subject and the time. */
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

/** Returns why the texts of a rule cannot be rendered: a source has not answered since the start; null: they can. */
export function unreadFigure({ shows }: Pick<ConditionRule, "shows">, env: Env): Unknown | null {
  for (const read of shows) {
    const facts = factsOf(read, env);
    // A subject that does not exist has no figures.
    if (!facts || facts.values[read.field] !== undefined) continue;
    for (const source of read.sources) {
      if (facts.seenMs[source] !== undefined) continue;
      const path = `${read.symbol === null ? read.scope : `market("${read.symbol}")`}.${read.field}`;
      return new Unknown(
        "missing",
        source,
        `${path}, which its text names, was not seen yet: nothing from ${source}`,
      );
    }
  }
  return null;
}

function factsOf({ scope, symbol }: Read, env: Env): Facts | undefined {
  return symbol === null ? env[scope] : env.markets(symbol);
}
