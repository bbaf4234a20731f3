/** The part of a scenario's troubles that figures of the daemon are held against. */
import { noDataRule, unreachableRule } from "../../../../src/domain/alerts/built-in.ts";
import type { Outcome } from "../../scenario.ts";
import { livesOf } from "../lives.ts";
import type { Parts } from "../seen.ts";

/** The interval of figures, and how late they may be, ms. */
const figuresEveryMs = 6_500;
const ofNoData: ReadonlySet<string> = new Set([noDataRule, unreachableRule]);

export function noDataAlerts(outcome: Outcome): Parts["noDataAlerts"] {
  const { log } = outcome;
  // The daemon counts them when it takes its figures.
  const everyMs = figuresEveryMs + stalledMs(outcome);
  const steps = livesOf(log)
    .flatMap(({ changes }) => changes)
    .filter(({ kind, alert }) => ofNoData.has(alert.rule) && (kind === "fired" || kind === "ended"))
    .map(({ kind, atMs }) => ({ atMs, more: kind === "fired" ? 1 : -1 }));
  const sum = (until: (atMs: number) => boolean) =>
    steps.reduce((count, { atMs, more }) => (until(atMs) ? count + more : count), 0);
  return (nowMs) => {
    const counts = [
      sum((atMs) => atMs <= nowMs - everyMs),
      ...steps.flatMap(({ atMs }) =>
        atMs > nowMs - everyMs && atMs <= nowMs ? [sum((ms) => ms <= atMs), sum((ms) => ms < atMs)] : [],
      ),
    ];
    return { least: Math.min(...counts), most: Math.max(...counts) };
  };
}

export function valuesOff({ plan, log }: Outcome): Parts["valuesOff"] {
  const beginMs = log.entries[0]!.atMs;
  return (wallet, fromMs, toMs) =>
    plan.troubles.faults.flatMap((fault) =>
      fault.kind === "equityOff" &&
      fault.wallets.includes(wallet) &&
      beginMs + fault.fromMs <= toMs &&
      beginMs + fault.toMs >= fromMs
        ? [fault.share]
        : [],
    );
}

/** True if answers and frames were garbled at some moment from one true time to another. */
export function garbledWithin({ plan, log }: Outcome): Parts["isGarbled"] {
  const beginMs = log.entries[0]!.atMs;
  return (fromMs, toMs) =>
    plan.troubles.faults.some(
      (fault) => fault.kind === "garbled" && beginMs + fault.fromMs <= toMs && beginMs + fault.toMs >= fromMs,
    );
}

export function stalledMs({ log }: Outcome): number {
  return Math.max(0, ...log.of("stalled").map(({ ms }) => ms));
}
