/** Advises on actions for accounts, by their current figures and rules. Changes nothing. */

import { readsMargin, readsProfit } from "../../advice/account-judgement.ts";
import { adviceLine } from "../../advice/advice-line.ts";
import type { AmountsOptions } from "../../advice/amounts.ts";
import { clearOf } from "../../advice/clear.ts";
import { BadQuestion } from "../../advice/question.ts";
import { type AdviceSettings, usualAdvice } from "../../advice/settings.ts";
import type { Situation } from "../../advice/situation.ts";
import { depositTo, reduceTo } from "../../advice/suppose.ts";
import { whatIf } from "../../advice/what-if.ts";
import type { Advice, Alert } from "../../domain/alerts/alert.ts";
import type { WhatIfOutcome, WhatIfQuestion } from "../../domain/what-if.ts";
import { type ConditionRule, type Env, type Suppose, Unknown } from "../../rules/index.ts";
import type { AccountEntry } from "../../state/accounts/account-entry.ts";
import { dailyMoveOf } from "../../state/markets/daily-move.ts";
import { seenMsOf } from "../../state/shown-figures.ts";
import { newFacts } from "../../state/subjects.ts";
import type { WatchedPair } from "../../state/wallets/watched.ts";
import type { World } from "../../state/world.ts";
import type { WatchSettings } from "../settings.ts";
import { companionsOf } from "./hedged.ts";
import { situationOf } from "./situations.ts";

/** The assumed further move against a position if the volatility of its market is unknown, a fraction of its mark. */
const unknownHeadroom = 0.02;
/** Upper limit of a further move: no price falls to 0. */
const maxHeadroom = 0.99;

/** Maximum accounts of a wallet with lines in one alert. */
const maxLines = 3;
/** Maximum accounts examined in one tick: each takes 2 to 5 ms, and alerts must leave at once. */
const maxAccounts = 100;

type Condition = Parameters<Suppose["deposit"]>[1];
const notValued = new Unknown("missing", "markets", "the account cannot be valued now");

type AdvisorSettings = Pick<WatchSettings, "pairs" | "scheduleMs" | "advice" | "timezone" | "ruleSet">;

export class Advisor implements Suppose {
  readonly #world: World;
  readonly #pairs: readonly WatchedPair[];
  readonly #advice: AdviceSettings;
  readonly #timezone: string;
  readonly #rules: ReadonlyMap<string, ConditionRule>;
  /** Lines of this tick, by account. */
  readonly #lines = new Map<string, Omit<Advice, "account"> | null>();
  /** Maximum age of an order book that is used, ms. */
  readonly #bookAgeMs: number;

  constructor(
    world: World,
    { pairs = [], scheduleMs, advice = usualAdvice, timezone, ruleSet }: AdvisorSettings,
  ) {
    this.#world = world;
    this.#pairs = pairs;
    this.#advice = advice;
    this.#timezone = timezone;
    this.#rules = new Map(
      ruleSet.conditions
        .filter((rule) => readsMargin(rule) || readsProfit(rule))
        .map((rule) => [rule.name, rule]),
    );
    this.#bookAgeMs = 3 * scheduleMs.orderbook;
    world.supposing = this;
  }

  deposit(env: Env, condition: Condition): number | Unknown {
    const situation = this.#around(env);
    return situation instanceof Unknown ? situation : depositTo(situation, env, condition);
  }

  reduce(env: Env, condition: Condition): number | Unknown {
    const situation = this.#around(env);
    const symbol = String(env.position?.values.symbol ?? "");
    return situation instanceof Unknown
      ? situation
      : reduceTo(situation, symbol, this.#feeOf(symbol), env, condition);
  }

  /** Returns the account of a subject, for advice. */
  #around({ trader, nowMs }: Env): Situation | Unknown {
    const subject = this.#world.nodes.get(String(trader?.values.name ?? ""))?.subject;
    const account = subject?.scope === "trader" ? this.#world.accounts.get(subject) : undefined;
    return (account && situationOf(account, this.#world, nowMs)) ?? notValued;
  }

  /** Resets the cache: accounts and prices may have changed. */
  begin(): void {
    this.#lines.clear();
  }

  /** Returns lines about the accounts in danger for a warning or critical alert about them; none for other alerts. */
  about({ rule: name, subject: of, wallet, severity }: Alert, atMs: number): readonly Advice[] {
    const rule = this.#rules.get(name);
    if (rule === undefined || wallet === null || severity === "info") return [];
    if (this.#advice.order.length === 0) return [];
    // No advice is given for a followed trader's account.
    if (this.#world.wallet(wallet)?.labels.watch === "whale") return [];
    const { staleAfterMs } = rule;
    const lines: Advice[] = [];
    for (const account of this.#world.accounts.ofWallet(wallet)) {
      if (of !== wallet && of !== account.name && !of.startsWith(`${account.name}/`)) continue;
      const { traderState, markets } = account.node.facts.seenMs;
      if (!(atMs - (traderState ?? Number.NaN) <= staleAfterMs.traderState)) continue;
      if (!(atMs - (markets ?? Number.NaN) <= staleAfterMs.markets)) continue;
      const line = this.#lineOf(account, atMs);
      if (line !== null) lines.push({ account: account.name, ...line });
    }
    if (lines.length <= maxLines) return lines;
    const more = `${lines.length - maxLines} more accounts are in danger.`;
    return [...lines.slice(0, maxLines), { account: wallet, line: more }];
  }

  #lineOf(account: AccountEntry, atMs: number): Omit<Advice, "account"> | null {
    const known = this.#lines.get(account.name);
    if (known !== undefined) return known;
    if (this.#lines.size >= maxAccounts) return null;
    const situation = situationOf(account, this.#world, atMs);
    const clear =
      situation === undefined ? null : clearOf(situation, situation, this.#optionsOf(account, atMs));
    const { markets = atMs } = account.node.facts.seenMs;
    const { maintenanceMargin, effectiveCollateral } = account.node.facts.values;
    const shortUsd = Number(maintenanceMargin ?? Number.NaN) - Number(effectiveCollateral ?? Number.NaN);
    const line = situation && clear ? adviceLine(situation, clear, markets, this.#timezone, shortUsd) : null;
    this.#lines.set(account.name, line);
    return line;
  }

  whatIf(question: WhatIfQuestion, atMs: number): WhatIfOutcome {
    const { wallets, accounts } = this.#world;
    const { wallet } = question;
    if (!wallets.has(wallet)) return { kind: "noWallet" };
    const own = new Map(accounts.ofWallet(wallet).map((account) => [account.name, account]));
    if (own.size === 0) return { kind: "unread", problem: `no account of ${wallet} was read yet` };
    const situations: Situation[] = [];
    for (const account of own.values()) {
      const situation = situationOf(account, this.#world, atMs);
      if (situation === undefined)
        return {
          kind: "unread",
          problem: `a price or the terms of a market of ${account.name} are not known now`,
        };
      situations.push(situation);
    }
    try {
      const answers = whatIf({
        situations,
        seenMs: (name) => seenMsOf(own.get(name)!.node.facts),
        feeOf: this.#feeOf,
        optionsOf: (name) => this.#optionsOf(own.get(name)!, atMs),
        question,
      });
      return { kind: "done", answer: { wallet, atMs, accounts: answers } };
    } catch (error) {
      if (error instanceof BadQuestion) return { kind: "wrong", problem: error.message };
      throw error;
    }
  }

  #optionsOf(account: AccountEntry, atMs: number): AmountsOptions {
    const world = this.#world;
    const situation = (other: AccountEntry) => situationOf(other, world, atMs);
    return {
      headroomOf: this.#headroomOf,
      feeOf: this.#feeOf,
      companionsOf: (symbol) => companionsOf(account, symbol, this.#pairs, world, situation),
      depthOf: (symbol, trade) => {
        const { values, seenMs } = world.markets.entries.get(symbol)?.facts ?? newFacts();
        const depth = trade === "sell" ? values.bidDepth50Bps : values.askDepth50Bps;
        const isFresh = atMs - (seenMs.orderbook ?? Number.NEGATIVE_INFINITY) <= this.#bookAgeMs;
        return isFresh && typeof depth === "number" ? depth : null;
      },
      order: this.#advice.order,
      siblings: this.#siblings(account).flatMap((other) => situation(other) ?? []),
    };
  }

  /** Returns the accounts of the same wallet and PDA index: the exchange moves collateral between these. */
  #siblings(account: AccountEntry): readonly AccountEntry[] {
    const { wallet, pdaIndex } = account.ref;
    return this.#world.accounts
      .ofWallet(wallet)
      .filter((other) => other !== account && other.ref.pdaIndex === pdaIndex);
  }

  readonly #feeOf = (symbol: string): number =>
    this.#world.markets.entries.get(symbol)?.config?.takerFee ?? 0;

  readonly #headroomOf = (symbol: string): number => {
    const daily = dailyMoveOf(this.#world.markets.entries.get(symbol)?.facts);
    return Number.isNaN(daily) ? unknownHeadroom : Math.min(maxHeadroom, daily * this.#advice.headroom);
  };
}
