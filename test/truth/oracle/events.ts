/**
 * Rules about events: each event is told once, by an alert with its figures, soon after it could be read; and no alert tells of
 * what did not happen.
 */
import type { AlertChange } from "../../../src/domain/alert.ts";
import type { Outcome } from "../scenario.ts";
import { claimProblem } from "./claim.ts";
import { Clear } from "./clear.ts";
import { garbledWithin } from "./daemon/troubles.ts";
import { eventRowProblems } from "./details.ts";
import type { Finding } from "./finding.ts";
import { type Happened, happenedIn, ruleOfType } from "./happened.ts";
import { livesOf } from "./lives.ts";
import { areUnknown, lostRights, rightsRules } from "./lost-rights.ts";
import { changesOfMarkets, marketRule, unknownLists } from "./market-changes.ts";
import { unknownFigures } from "./rules/event-figures.ts";
import { Terms } from "./terms.ts";
import { unclaimed } from "./unclaimed.ts";

/** Beside two intervals, ms. */
const slackMs = 5_000;
/** After a start the past is read first. */
const firstReadMs = 40_000;

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
  const happened = [...happenedIn(outcome), ...changesOfMarkets(outcome), ...lostRights(outcome)];
  const tellers: (typeof told)[number][] = [];
  // Several events of one second: those whose very times are told come first, and of these those of which all is true.
  for (const [exactly, truly] of [
    [true, true],
    [true, false],
    [false, true],
    [false, false],
  ])
    for (const [index, { rule, isIn, atMs, claims }] of happened.entries()) {
      if (tellers[index]) continue;
      const one = [...left].find(
        ({ alert, happenedMs }) =>
          alert.rule === rule &&
          (!exactly || happenedMs === atMs) &&
          isIn(alert, happenedMs) &&
          (!truly || claims(alert).every((claim) => claimProblem(claim).length === 0)),
      );
      if (!one) continue;
      tellers[index] = one;
      left.delete(one);
    }
  for (const [index, event] of happened.entries()) {
    const common = { rule: event.rule, subject: event.subject };
    const found = tellers[index];
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
    const dueMs = event.isObserved
      ? event.atMs
      : clear.after(event.atMs, 2 * terms.historiesMs + slackMs + firstReadMs, event.wallet);
    if (dueMs === null || (found && found.committedMs <= dueMs)) continue;
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
