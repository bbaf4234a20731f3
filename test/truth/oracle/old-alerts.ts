/**
 * Alerts that rest on positions that are too old. After an outage positions are read at once, as prices are: nothing new is told by the
 * old ones in the seconds before that.
 */
import type { Observation } from "../../../src/domain/observation.ts";
import type { Outcome } from "../scenario.ts";
import { areOld, oldAfterMs, type Reads, statesAge } from "./age.ts";
import type { Finding } from "./finding.ts";
import { type Life, livesOf } from "./lives.ts";
import { predicates } from "./rules/index.ts";
import { Terms } from "./terms.ts";

/** A longer time without prices than so many of their intervals is an outage for certain. */
const intervals = 6;
/** The least time that positions have to be read in once there are prices again, ms. */
const patienceMs = 4_500;
const judged = new Map(predicates.map((one) => [one.rule, one]));
/** They rest on old positions by their own words. */
const byOld = /\(?positions as of .* old\)?/;

export function judgeOldAlerts(outcome: Outcome): readonly Finding[] {
  const terms = new Terms(outcome.sections);
  return livesOf(outcome.log).flatMap((life) => {
    const returns = returnsOf(life, intervals * terms.pricesMs);
    const reads = { toldMs: new Map<string, number>(), readMs: new Map<string, number>() };
    let next = 0;
    return life.changes.flatMap(({ kind, alert, atMs, committedMs }): Finding[] => {
      for (; next < life.told.length; next++) {
        const { observation } = life.told[next]!;
        if (observation !== null && observation.atMs > atMs) break;
        note(reads, observation);
      }
      const { rule, subject, summary, event } = alert;
      const predicate = judged.get(rule);
      if ((kind !== "fired" && kind !== "rose") || event || predicate === undefined) return [];
      if (predicate.onlyNamesPositions) return [];
      // A text without any figure tells nothing by the positions.
      const isByOld =
        /[$%]/.test(`${summary} ${alert.description}`) &&
        statesAge(predicate, subject) &&
        areOld(reads, subject, atMs, oldAfterMs(outcome, committedMs));
      if (!isByOld && !byOld.test(summary)) return [];
      const backMs = returns.find((ms) => ms <= atMs && atMs < ms + patienceMs);
      if (backMs === undefined) return [];
      return [
        {
          ...{ check: "soundness", rule, subject, atMs: committedMs },
          expected: `positions that are read first: prices came again ${atMs - backMs} ms before`,
          seen: summary,
        },
      ];
    });
  });
}

/** Takes in what was read; null: nothing is known of a time. */
function note(
  { toldMs, readMs }: Reads & { readonly toldMs: Map<string, number>; readonly readMs: Map<string, number> },
  observation: Observation | null,
): void {
  if (observation === null || (observation.kind === "watching" && !observation.reloaded))
    for (const times of [toldMs, readMs]) times.clear();
  if (observation?.kind !== "accounts") return;
  const { wallet, pdaIndex, subaccounts, told, atMs } = observation;
  const index = `${wallet}/${pdaIndex}.`;
  if (told === undefined) readMs.set(index, atMs);
  for (const { subaccount } of subaccounts)
    if (told === undefined || told.includes(subaccount)) toldMs.set(index + subaccount, atMs);
}

/**
 * The times at which prices came again after a longer time than `gapMs`, by the daemon's clock. A stream that stands brings nothing while no
 * price moves.
 */
function returnsOf({ told }: Life, gapMs: number): readonly number[] {
  const returns: number[] = [];
  let lastMs = Number.POSITIVE_INFINITY;
  let stands = false;
  for (const { observation } of told) {
    // Nobody knows whether prices came meanwhile.
    if (observation === null) lastMs = Number.POSITIVE_INFINITY;
    else if (observation.kind === "daemon") stands = observation.figures.streamConnected;
    else if (observation.kind === "prices") {
      const isQuiet = observation.live === true && stands;
      if (!isQuiet && observation.atMs - lastMs > gapMs) returns.push(observation.atMs);
      lastMs = observation.atMs;
    }
  }
  return returns;
}
