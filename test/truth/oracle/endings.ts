/** Reasons for which alerts about positions and accounts ended, where it was not a recovery. */
import { isTaking } from "../../../src/domain/alert.ts";
import type { Outcome } from "../scenario.ts";
import { Clear } from "./clear.ts";
import type { Finding } from "./finding.ts";
import { type Life, livesOf } from "./lives.ts";
import { predicates } from "./rules/index.ts";
import { Terms } from "./terms.ts";
import type { AccountTruth, BreakerTruth } from "./truth.ts";
import { accountOf, symbolOf, walletOf } from "./view.ts";

type Change = Life["changes"][number];

/** A position that was there, and then was not, or was another one. */
interface Loss {
  readonly atMs: number;
  /** The exchange took it. */
  readonly taken: boolean;
}

/** By which clocks may differ, ms. */
const clockMs = 60_000;
/** Times of the daemon are whole, ms. */
const roundedMs = 1;
/** Histories that were readable for so long before a loss tell of it in time, ms. */
const heardMs = 30_000;

export function judgeEndings(outcome: Outcome): readonly Finding[] {
  const { truth, log } = outcome;
  const clear = new Clear(outcome);
  const terms = new Terms(outcome.sections);
  const findings: Finding[] = [];
  for (const change of livesOf(log).flatMap((life) => life.changes)) {
    const { kind, alert, committedMs, latestMs } = change;
    const { rule, subject, ending } = alert;
    const wallet = walletOf(subject);
    if (kind !== "ended" || alert.event || !subject.includes("/") || !truth.accounts.has(accountOf(subject)))
      continue;
    const expected = problemOf(change, outcome, terms, (fromMs) => clear.all(fromMs, latestMs, wallet));
    if (expected !== null)
      findings.push({
        ...{ check: "false resolve", rule, subject, atMs: committedMs, expected },
        seen: `alert ${alert.id} ended as ${ending}: ${alert.summary}`,
      });
  }
  return findings;
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
  const heldIn = (state: AccountTruth | undefined) =>
    state?.positions.find((one) => one.symbol === symbol)?.sequence;
  return states.flatMap((state, index) => {
    const before = heldIn(states[index - 1]);
    if (before === undefined || heldIn(state) === before) return [];
    const here = breakers.filter(({ atMs }) => atMs === state.ofMs);
    return [{ atMs: state.ofMs, taken: here.some(takes) }];
  });
}
