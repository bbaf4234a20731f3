/** Compares two backtests of the same time. */
import type { BacktestReport, ReportedAlert } from "./report.ts";

/** Alerts of one subject that begin this far apart are different alerts. */
const nearMs = 3_600_000;
/** Smaller differences of times are ignored. */
const sameMs = 1_000;

export interface Pair {
  readonly a: ReportedAlert;
  readonly b: ReportedAlert;
  /** Positive: b fired later. */
  readonly laterMs: number;
}

export interface Comparison {
  readonly onlyA: readonly ReportedAlert[];
  readonly onlyB: readonly ReportedAlert[];
  /** In both, but at another time, another level or with another ending. */
  readonly different: readonly Pair[];
  readonly same: number;
}

export function compareRuns(a: BacktestReport, b: BacktestReport): Comparison {
  const unpairedB = new Set(b.alerts);
  const pairs: Pair[] = [];
  const onlyA = new Set(a.alerts);
  const names = (report: BacktestReport) => new Set(report.rules.map(({ rule }) => rule));
  const [ofA, ofB] = [names(a), names(b)];
  const pair = (fits: (one: ReportedAlert, other: ReportedAlert) => boolean): void => {
    for (const one of onlyA) {
      let best: ReportedAlert | null = null;
      for (const other of unpairedB) {
        if (one.subject !== other.subject || one.event !== other.event || !fits(one, other)) continue;
        if (!overlap(one, other)) continue;
        if (best === null || distance(one, other) < distance(one, best)) best = other;
      }
      if (best === null) continue;
      unpairedB.delete(best);
      onlyA.delete(one);
      pairs.push({ a: one, b: best, laterMs: best.firedAtMs - one.firedAtMs });
    }
  };
  pair((one, other) => one.rule === other.rule);
  // A rule with another name in the other set.
  pair((one, other) => !ofB.has(one.rule) && !ofA.has(other.rule));
  const isSame = ({ a: one, b: other, laterMs }: Pair) =>
    Math.abs(laterMs) < sameMs &&
    one.severity === other.severity &&
    one.ending === other.ending &&
    Math.abs((one.endedAtMs ?? 0) - (other.endedAtMs ?? 0)) < sameMs;
  return {
    onlyA: [...onlyA],
    onlyB: [...unpairedB],
    different: pairs.filter((one) => !isSame(one)).sort((x, y) => x.a.firedAtMs - y.a.firedAtMs),
    same: pairs.filter(isSame).length,
  };
}

function overlap(a: ReportedAlert, b: ReportedAlert): boolean {
  const end = ({ endedAtMs }: ReportedAlert) => endedAtMs ?? Number.POSITIVE_INFINITY;
  return (a.firedAtMs <= end(b) && b.firedAtMs <= end(a)) || distance(a, b) < nearMs;
}

function distance(a: ReportedAlert, b: ReportedAlert): number {
  return Math.abs(a.firedAtMs - b.firedAtMs);
}
