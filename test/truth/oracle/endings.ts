/** Reasons for which alerts about positions and accounts ended, where it was not a recovery. */
import { type Alert, isTaking } from "../../../src/domain/alerts/alert.ts";
import type { Outcome } from "../scenario.ts";
import { Clear } from "./clear.ts";
import { durationMs } from "./duration.ts";
import type { Finding } from "./finding.ts";
import { isTold, type Life, livesOf } from "./lives.ts";
import { fundingRateHigh } from "./rules/funding.ts";
import { predicates } from "./rules/index.ts";
import { accountLiquidationNear, liquidationNear } from "./rules/liquidation.ts";
import { accountLiquidatable, marginHigh, ordersMayBeCancelled } from "./rules/margin.ts";
import { accountsBorneMs } from "./stretched.ts";
import { Terms } from "./terms.ts";
import type { AccountTruth, BreakerTruth } from "./truth.ts";
import { accountOf, symbolOf, walletOf } from "./view.ts";

type Change = Life["changes"][number];

/** A position that was there, and then was not, or was another one. */
interface Loss {
  readonly atMs: number;
  readonly sequence: number;
  /** The exchange took it. */
  readonly taken: boolean;
}

/** By which clocks may differ, ms. */
const clockMs = 60_000;
/** Times of the daemon are whole, ms. */
const roundedMs = 1;
/** An answer is under way for so long, ms. */
const readingMs = 5_000;
/** A loss may come to be known so late, ms. */
const unseenMs = 125_000;
/** Rules that cannot be judged without the account. */
const ofAccounts: ReadonlySet<string> = new Set(
  [
    ...[liquidationNear, accountLiquidationNear, marginHigh, ordersMayBeCancelled, accountLiquidatable],
    fundingRateHigh,
  ].map(({ rule }) => rule),
);
/** An end waits for its reason for so long at most, ms. */
const waitsMs = 65_000;
/** The daemon may have been down for so long before what it reads first, ms. */
const maxStopMs = 300_000;
/** A commit may hang for so long, ms. */
const hangsMs = 8_000;
/** A standstill stretches the time between two observations to more than this, ms. */
const stillMs = 2_000;
/** Rules that a changed configuration changes. */
const reloadedRules: ReadonlySet<string> = new Set(["MarginHigh", "DatabaseLarge"]);
/** Histories that were readable for so long before a loss tell of it in time, ms. */
const heardMs = 30_000;

export function judgeEndings(outcome: Outcome): readonly Finding[] {
  const { truth, log } = outcome;
  const clear = new Clear(outcome);
  const terms = new Terms(outcome.sections);
  const borneMs = accountsBorneMs(log, terms);
  const findings: Finding[] = [];
  const lives = livesOf(log);
  const changes = lives.flatMap((life) => life.changes.map((one) => ({ ...one, life })));
  const fired = new Map(
    changes.flatMap((one) => (one.kind === "fired" ? [[one.alert.id, one.committedMs]] : [])),
  );
  for (const change of changes) {
    const { kind, alert, committedMs, latestMs } = change;
    const { rule, subject, ending } = alert;
    const wallet = walletOf(subject);
    if (kind !== "ended" || alert.event || !subject.includes("/") || !truth.accounts.has(accountOf(subject)))
      continue;
    const isClear = (fromMs: number): boolean => clear.all(fromMs, latestMs, wallet);
    const expected =
      problemOfNone(change, fired.get(alert.id), truth.accounts.get(accountOf(subject))!) ??
      problemOf(change, outcome, terms, isClear) ??
      problemOfLater(change, fired.get(alert.id), outcome, terms, isClear) ??
      problemOfAge(change, change.life, borneMs, truth.accounts.get(accountOf(subject))!);
    if (expected !== null)
      findings.push({
        ...{ check: "false resolve", rule, subject, atMs: committedMs, expected },
        seen: `alert ${alert.id} ended as ${ending}: ${alert.summary}`,
      });
  }
  return findings;
}

/** The age of the positions that a text rests on, by its own words, ms. */
function agedMs({ summary }: Alert): number {
  return durationMs(/\(positions as of .*, ([\dhms ]+) old\)$/.exec(summary)?.[1] ?? "0s");
}

/** An end for which nothing of its kind happened. @param firedMs undefined: not known */
function problemOfNone(
  { alert, latestMs }: Change,
  firedMs: number | undefined,
  states: readonly AccountTruth[],
): string | null {
  const { rule, subject, ending, sinceMs, dataAtMs } = alert;
  if (ending === "noLongerWatched") return "another end: it is watched as before";
  if (ending === "ruleChanged")
    return reloadedRules.has(rule) ? null : "another end: the rule is the same as before";
  if (ending !== "closed" && ending !== "flipped") return null;
  const symbol = symbolOf(subject);
  const fromMs = Math.min(sinceMs, firedMs ?? sinceMs, dataAtMs - agedMs(alert)) - unseenMs;
  const isIn = ({ ofMs }: AccountTruth): boolean => ofMs >= fromMs && ofMs <= latestMs;
  if (symbol === "") {
    // The last state before is still that of the beginning.
    const before = states.findLast(({ ofMs }) => ofMs < fromMs);
    const all = [...(before ? [before] : []), ...states.filter(isIn)];
    return all.some(({ positions }) => positions.length === 0)
      ? null
      : "another end: the account was not closed";
  }
  const losses = lossesOf(states, symbol, []).filter(({ atMs }) => atMs >= fromMs && atMs <= latestMs);
  return losses.length > 0 ? null : "another end: the position was not closed";
}

/** @param isClear true if histories could be read from a time to the end of the alert */
function problemOf(
  { alert, latestMs }: Change,
  { truth }: Outcome,
  terms: Terms,
  isClear: (fromMs: number) => boolean,
): string | null {
  const { rule, subject, ending, sinceMs } = alert;
  const [account, symbol] = [accountOf(subject), symbolOf(subject)];
  const fromMs = sinceMs - clockMs;
  const breakers = truth
    .breakers(walletOf(subject))
    .filter((one) => one.account === account && (symbol === "" || one.symbol === symbol))
    .filter(({ atMs }) => atMs >= fromMs && atMs <= latestMs + roundedMs);
  const takings = breakers.filter(takes);
  const word = ending === "deleveraged" ? "adl" : "liquidation";
  if (isTaking(ending) && !takings.some(({ by }) => by === word))
    return `another end: there was no ${word} of it`;
  if (symbol === "") return null;
  const losses = lossesOf(truth.accounts.get(account)!, symbol, breakers).filter(
    ({ atMs }) => atMs >= fromMs && atMs <= latestMs,
  );
  const [loss] = losses;
  // Where there are several, it may be of any of them, and it may be of a position that came after the last one.
  if (loss === undefined || losses.length > 1) return null;
  if (isHeldAfter(truth.accounts.get(account)!, symbol, loss.atMs, latestMs)) return null;
  if (ending === "closed" || ending === "flipped")
    return loss.taken && isClear(loss.atMs - heardMs) ? "word that the exchange took it" : null;
  if (!isTaking(ending) || loss.taken) return null;
  // One answer tells of both.
  if (takings.some(({ atMs }) => loss.atMs - atMs <= 2 * terms.accountsMs)) return null;
  const predicate = predicates.find((one) => one.rule === rule);
  // By what was taken of it before it may have recovered, and that ends as taken, too.
  if (!predicate || takings[0]!.atMs + terms.of(rule, predicate).keepMs.least <= loss.atMs) return null;
  return "that it was closed: the exchange took some of it, and its trader closed the rest";
}

/**
 * The same of a position that was there when the alert fired, and beyond doubt the only one, where others of its name followed it.
 * @param firedMs undefined: not known
 */
function problemOfLater(
  { alert, latestMs }: Change,
  firedMs: number | undefined,
  { truth }: Outcome,
  terms: Terms,
  isClear: (fromMs: number) => boolean,
): string | null {
  const { subject, ending, firedAtMs, dataAtMs } = alert;
  const [account, symbol] = [accountOf(subject), symbolOf(subject)];
  if (symbol === "" || firedMs === undefined) return null;
  const states = truth.accounts.get(account)!;
  const seenMs = 2 * terms.accountsMs + readingMs;
  const fromMs = firedMs - Math.max(0, firedAtMs - dataAtMs) - seenMs;
  const before = states.findLastIndex(({ ofMs }) => ofMs < fromMs);
  const then = states.filter(({ ofMs }, index) => index >= before && ofMs <= firedMs);
  const sequences = new Set(then.flatMap((state) => sequenceIn(state, symbol) ?? []));
  const [own] = sequences;
  if (own === undefined || sequences.size > 1) return null;
  const breakers = truth
    .breakers(walletOf(subject))
    .filter((one) => one.account === account && one.symbol === symbol && takes(one));
  const losses = lossesOf(states, symbol, breakers).filter(({ atMs }) => atMs <= latestMs);
  const loss = losses.find(({ sequence, atMs }) => sequence === own && atMs > fromMs);
  const later = breakers.find(({ atMs }) => loss !== undefined && atMs > loss.atMs);
  if (loss === undefined || later === undefined || later.atMs > latestMs) return null;
  // Between two answers nobody saw that there were two.
  if (later.atMs < loss.atMs + seenMs || !isClear(loss.atMs - heardMs)) return null;
  if (isTaking(ending) && !breakers.some(({ atMs }) => atMs > fromMs && atMs <= loss.atMs))
    return "that it was closed: the exchange took a later position of its name";
  if ((ending === "closed" || ending === "flipped") && loss.taken) return "word that the exchange took it";
  return null;
}

/** A recovery while the account was not read for so long that nobody knows what is in it. */
function problemOfAge(
  { alert, atMs, committedMs }: Change,
  life: Life,
  borneMs: number,
  states: readonly AccountTruth[],
): string | null {
  const { rule, subject, ending } = alert;
  if (ending !== "recovered" || !ofAccounts.has(rule)) return null;
  const account = accountOf(subject);
  let readMs: number | null = null;
  /** The newest reading of before an end may have begun to wait, by the daemon's clock, ms. */
  let formerMs = atMs - maxStopMs;
  let lastMs = Number.NEGATIVE_INFINITY;
  for (const one of life.told) {
    // Nobody knows what was read in a time that is not recorded.
    if (!isTold(one)) {
      readMs = one.toMs;
      continue;
    }
    const { observation } = one;
    if (observation.atMs > atMs) break;
    // In a standstill nothing grows older that the daemon could read.
    if (readMs !== null && observation.atMs - lastMs > stillMs) readMs += observation.atMs - lastMs;
    lastMs = Math.max(lastMs, observation.atMs);
    if (observation.kind === "watching") readMs ??= observation.atMs;
    if (observation.kind !== "accounts") continue;
    const { wallet, pdaIndex, told } = observation;
    const prefix = `${wallet}/${pdaIndex}.`;
    if (
      account.startsWith(prefix) &&
      (told === undefined || told.includes(Number(account.slice(prefix.length))))
    ) {
      readMs = observation.atMs;
      if (readMs <= atMs - unseenMs) formerMs = readMs;
    }
  }
  // A trade since then may be the reason for which an end waits.
  const fromMs = formerMs + (committedMs - atMs) - readingMs;
  const isStill = !states.some(
    (state, index) =>
      state.ofMs > fromMs && state.ofMs <= committedMs && isTradedIn(state, states[index - 1]),
  );
  const mostMs = borneMs + (isStill ? hangsMs : waitsMs);
  return readMs === null || atMs - readMs <= mostMs
    ? null
    : `another end, or none: ${account} was not read for ${atMs - readMs} ms`;
}

/** True if the positions of a state are others than those of the one before, or of other sizes. */
function isTradedIn({ positions }: AccountTruth, before: AccountTruth | undefined): boolean {
  const named = (all: AccountTruth["positions"] = []): string =>
    all.map(({ symbol, sequence, baseLots }) => `${symbol} ${sequence} ${baseLots}`).join("\n");
  return named(positions) !== named(before?.positions);
}

const takes = ({ by }: BreakerTruth): boolean => by === "liquidation" || by === "adl";

/** True if there was a position after a loss, up to a time. */
function isHeldAfter(states: readonly AccountTruth[], symbol: string, lossMs: number, toMs: number): boolean {
  const later = states.filter(({ ofMs }) => ofMs > lossMs && ofMs <= toMs);
  return later.some(({ positions }) => positions.some((one) => one.symbol === symbol));
}

function lossesOf(
  states: readonly AccountTruth[],
  symbol: string,
  breakers: readonly BreakerTruth[],
): readonly Loss[] {
  return states.flatMap((state, index) => {
    const before = sequenceIn(states[index - 1], symbol);
    if (before === undefined || sequenceIn(state, symbol) === before) return [];
    const here = breakers.filter(({ atMs }) => atMs === state.ofMs);
    return [{ atMs: state.ofMs, sequence: before, taken: here.some(takes) }];
  });
}

function sequenceIn(state: AccountTruth | undefined, symbol: string): number | undefined {
  return state?.positions.find((one) => one.symbol === symbol)?.sequence;
}
