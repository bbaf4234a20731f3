/**
 * Alerts that rest on positions that are too old. After an outage positions are read at once, as prices are: nothing new is told by the
 * old ones in the seconds before that.
 */
import type { Outcome } from "../scenario.ts";
import type { Finding } from "./finding.ts";
import { type Life, livesOf } from "./lives.ts";
import { Terms } from "./terms.ts";

/** A longer time without prices than so many of their intervals is an outage for certain. */
const intervals = 6;
/** The least time that positions have to be read in once there are prices again, ms. */
const patienceMs = 4_500;
const byOld = /\(?positions as of .* old\)?/;

export function judgeOldAlerts(outcome: Outcome): readonly Finding[] {
  const terms = new Terms(outcome.sections);
  return livesOf(outcome.log).flatMap((life) => {
    const returns = returnsOf(life, intervals * terms.pricesMs);
    return life.changes.flatMap(({ kind, alert, atMs, committedMs }): Finding[] => {
      const { rule, subject, summary, event } = alert;
      if ((kind !== "fired" && kind !== "rose") || event || !byOld.test(summary)) return [];
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
