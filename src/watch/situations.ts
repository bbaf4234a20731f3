/** The accounts of a wallet as they are now, with the rules that judge them: what is asked about as it would be. */
import { BadQuestion } from "../advice/question.ts";
import type { JudgedPosition, JudgedRule, Situation } from "../advice/situation.ts";
import { whatIf } from "../advice/what-if.ts";
import type { WhatIfOutcome, WhatIfQuestion } from "../domain/what-if.ts";
import type { AccountEntry } from "./accounts.ts";
import type { Markets } from "./markets.ts";
import { hasSpot } from "./spot-collateral.ts";
import { dailyMoveOf } from "./stake.ts";
import { seenMsOf } from "./status.ts";
import type { SubjectNode } from "./subjects.ts";
import type { World } from "./world.ts";

export function whatIfOf(
  { wallets, accounts, markets }: World,
  question: WhatIfQuestion,
  atMs: number,
): WhatIfOutcome {
  const { wallet } = question;
  if (!wallets.has(wallet)) return { kind: "noWallet" };
  const own = accounts.ofWallet(wallet);
  if (own.length === 0) return { kind: "unread", problem: `no account of ${wallet} was read yet` };
  const situations: Situation[] = [];
  for (const account of own) {
    const situation = situationOf(account, markets, atMs);
    if (situation === undefined)
      return {
        kind: "unread",
        problem: `a price or the terms of a market of ${account.name} are not known now`,
      };
    situations.push(situation);
  }
  const seenMs = new Map(own.map(({ name, node }) => [name, seenMsOf(node.facts)]));
  try {
    const answers = whatIf({
      situations,
      seenMs: (name) => seenMs.get(name) ?? null,
      feeOf: (symbol) => markets.entries.get(symbol)?.config?.takerFee ?? 0,
      headroomOf: (symbol) => headroomOf(markets, symbol),
      question,
    });
    return { kind: "done", answer: { wallet, atMs, accounts: answers } };
  } catch (error) {
    if (error instanceof BadQuestion) return { kind: "wrong", problem: error.message };
    throw error;
  }
}

/** Share of a daily move that what clears an account has to leave. */
const headroomMoves = 0.5;
/** The same where a market's volatility is not known, a fraction of its mark. */
const unknownHeadroom = 0.02;

function headroomOf(markets: Markets, symbol: string): number {
  const daily = dailyMoveOf(markets.entries.get(symbol)?.facts);
  return Number.isNaN(daily) ? unknownHeadroom : Math.min(0.99, daily * headroomMoves);
}

/** @returns undefined where the account's figures cannot be computed now: a price, terms of a market or its state are not known */
export function situationOf(account: AccountEntry, markets: Markets, nowMs: number): Situation | undefined {
  const { risk, node, name, assessed, given, state } = account;
  if (!assessed || given || (hasSpot(state) && risk.spot === undefined)) return undefined;
  const positions = [...account.positions].map(([symbol, entry]): [string, JudgedPosition] => [
    symbol,
    { ...judged(entry.node), state: entry.state },
  ]);
  return {
    name,
    nowMs,
    risk,
    markets: markets.risk,
    marks: markets.markTicks,
    rates: markets.rates,
    trader: judged(node),
    positions: new Map(positions),
  };
}

function judged(node: SubjectNode): Pick<Situation["trader"], "name" | "env" | "rules"> {
  const rules = node.plan.map(({ rule }, index): JudgedRule => {
    const instance = node.instance(index);
    return { rule, windows: instance.windows, severity: instance.alert?.alert.severity ?? null };
  });
  return { name: node.name, env: node.env, rules };
}
