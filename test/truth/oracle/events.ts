/**
 * Rules about events: each event is told once, by an alert with its figures, soon after it could be read; and no alert tells of
 * what did not happen.
 */
import type { AlertChange } from "../../../src/domain/alerts/alert.ts";
import type { Event } from "../../../src/domain/event.ts";
import type { Outcome } from "../scenario.ts";
import { claimProblem } from "./claim.ts";
import { Clear } from "./clear.ts";
import { garbledWithin } from "./daemon/troubles.ts";
import { eventRowProblems } from "./details.ts";
import type { Finding } from "./finding.ts";
import { type EventPublisher, type Happened, happenedIn, ruleOfType } from "./happened.ts";
import { isTold, type Life, livesOf } from "./lives.ts";
import { changesOfMarkets, marketRule, unknownLists } from "./market-changes.ts";
import { areUnknown, changedRights, rightsRules } from "./rights.ts";
import { unknownFigures } from "./rules/event-figures.ts";
import { Terms } from "./terms.ts";
import { unclaimed } from "./unclaimed.ts";

/** Beside two intervals, ms. */
const slackMs = 5_000;
/** After a start the past is read first. */
const firstReadMs = 40_000;

/** With no trouble for so long, everything is read as often as it is configured, ms. */
const settledMs = 125_000;
/** Figures that a rule about an event reads are waited for, ms. */
const figuresMs = 65_000;

export const eventRules: ReadonlySet<string> = new Set([
  "UnusualWithdrawal",
  "Liquidated",
  "AutoDeleveraged",
  "WhaleLiquidated",
  "Announcement",
  marketRule,
  ...rightsRules,
  ...Object.values(ruleOfType),
]);

function problemsOf(
  { rule, claims, rows = {} }: Happened,
  { alert, details }: AlertChange,
): readonly string[] {
  const own = claims(alert);
  const all = [...own, ...unknownFigures(rule, alert.subject, alert)];
  return [...own.flatMap(claimProblem), ...unclaimed(alert, all), ...eventRowProblems(rows, details)];
}

/** The kind of event by which the daemon learns of what a rule tells; others are notifications. */
const kindOfRule: Readonly<Record<string, Event["kind"]>> = {
  UnusualWithdrawal: "collateral",
  Liquidated: "liquidation",
  AutoDeleveraged: "liquidation",
  WhaleLiquidated: "liquidation",
};

/** Events of which the daemon was told, with the time of that, ms; not those from before it watched. */
function observedIn(lives: readonly Life[]): readonly (readonly [Event, number])[] {
  const found = new Map<string, readonly [Event, number]>();
  for (const { observation, committedMs } of lives.flatMap(({ told }) => told).filter(isTold))
    if (observation.kind === "events")
      for (const event of observation.events) {
        const key = `${event.kind}:${event.key}`;
        if (!event.backfilled && !found.has(key)) found.set(key, [event, committedMs]);
      }
  return [...found.values()];
}

/** The true time at which the daemon was told of each event first, ms; absent: it never was. */
function toldTimes(
  happened: readonly Happened[],
  observed: readonly (readonly [Event, number])[],
): readonly (number | undefined)[] {
  const left = Map.groupBy(observed, ([{ kind }]) => kind);
  const times: number[] = [];
  // Several of one second are told apart by their very times, and else by their order.
  for (const exactly of [true, false])
    for (const [index, { rule, isIn, atMs }] of happened.entries()) {
      const some = left.get(kindOfRule[rule] ?? "notification") ?? [];
      const at = some.findIndex(
        ([one, ms]) =>
          ms >= atMs && (!exactly || one.happenedMs === atMs) && isIn(publisherOf(one), one.happenedMs),
      );
      if (times[index] !== undefined || at < 0) continue;
      times[index] = some[at]![1];
      some.splice(at, 1);
    }
  return times;
}

/** An event as an alert about it would name it. */
function publisherOf({ kind, key, wallet, pdaIndex, subaccount, symbol }: Event): EventPublisher {
  const place = [`${wallet}`, ...(pdaIndex === null ? [] : [`${pdaIndex}.${subaccount ?? 0}`])];
  const subject = [...place, ...(symbol === null ? [] : [symbol])].join("/");
  return { subject, eventKey: `${kind}:${key}`, summary: "" };
}

export function judgeEvents(outcome: Outcome): readonly Finding[] {
  const findings: Finding[] = [];
  const clear = new Clear(outcome);
  const terms = new Terms(outcome.sections);
  const lives = livesOf(outcome.log);
  const changes = lives.flatMap((life) => life.changes);
  // Before the market list was read a live notification that names an asset by its number is told without its market.
  const unlisted = new Set(
    lives.flatMap((life) => {
      const list = life.told.find(({ observation }) => observation?.kind === "marketConfig");
      const listedMs = list?.observation ? list.committedMs : Number.POSITIVE_INFINITY;
      return life.changes.filter(({ committedMs }) => committedMs < listedMs);
    }),
  );
  const unknown = unknownLists(outcome);
  const isGarbled = garbledWithin(outcome);
  const told = changes.filter(
    ({ kind, alert, atMs }) =>
      kind === "fired" &&
      alert.event &&
      eventRules.has(alert.rule) &&
      !(alert.rule === marketRule && unknown.some(({ fromMs, toMs }) => fromMs <= atMs && atMs <= toMs)) &&
      !(rightsRules.includes(alert.rule) && areUnknown(outcome, alert.subject, atMs)),
  );
  const left = new Set(told);
  const happened = [...happenedIn(outcome), ...changesOfMarkets(outcome), ...changedRights(outcome)];
  const publishers: (typeof told)[number][] = [];
  // Several events of one second: those whose very times are told come first, and of these those of which all is true.
  for (const [exactly, truly] of [
    [true, true],
    [true, false],
    [false, true],
    [false, false],
  ])
    for (const [index, { rule, isIn, atMs, claims }] of happened.entries()) {
      if (publishers[index]) continue;
      const one = [...left].find(
        ({ alert, happenedMs }) =>
          alert.rule === rule &&
          (!exactly || happenedMs === atMs) &&
          isIn(alert, happenedMs) &&
          (!truly || claims(alert).every((claim) => claimProblem(claim).length === 0)),
      );
      if (!one) continue;
      publishers[index] = one;
      left.delete(one);
    }
  const toldMs = toldTimes(happened, observedIn(lives));
  const mostMs = 2 * terms.historiesMs + slackMs;
  /** The time by which it is read at the latest, ms; null: no time was clear for so long. */
  const obtainableMs = ({ atMs, wallet }: Happened): number | null =>
    clear.all(atMs - settledMs, atMs + mostMs, wallet)
      ? atMs + mostMs
      : clear.after(atMs, mostMs + firstReadMs, wallet);
  for (const [index, event] of happened.entries()) {
    const common = { rule: event.rule, subject: event.subject };
    const found = publishers[index];
    if (found) {
      // A field that nobody can read is told as one that is not there.
      const isUnreadable = unlisted.has(found) || isGarbled(event.atMs - slackMs, found.committedMs);
      const problems = isUnreadable ? [] : problemsOf(event, found);
      if (problems.length > 0)
        findings.push({
          ...{ check: "soundness", ...common, atMs: found.committedMs },
          ...{ expected: problems.join("; "), seen: `${found.alert.summary} | ${found.alert.description}` },
        });
    }
    if (event.atMs < clear.watchedFromMs) continue;
    const readMs = event.isObserved ? event.atMs : obtainableMs(event);
    const dueMs = Math.min(
      readMs ?? Number.POSITIVE_INFINITY,
      (toldMs[index] ?? Number.POSITIVE_INFINITY) + figuresMs,
    );
    if (dueMs >= outcome.endMs || (found && found.committedMs <= dueMs)) continue;
    findings.push({
      ...{ check: "completeness", ...common, atMs: event.atMs },
      expected: `word of ${event.what} by ${new Date(dueMs).toISOString()}`,
      seen: found ? `alert ${found.alert.id} at ${new Date(found.committedMs).toISOString()}` : "nothing",
    });
  }
  for (const { alert, committedMs } of left)
    findings.push({
      ...{ check: "soundness", rule: alert.rule, subject: alert.subject, atMs: committedMs },
      ...{
        expected: "nothing: no such event is left to tell of",
        seen: `${alert.summary} (${alert.eventKey})`,
      },
    });
  return findings;
}
