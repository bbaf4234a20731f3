/** Judges one account as it would be against how it stands: about its marks, and after a further adverse move. */
import { type Severity, severityRank } from "../domain/alert.ts";
import { adverseMarks } from "../margin/hypothetical.ts";
import type { AccountRisk, MarkTicks } from "../margin/model.ts";
import type { ConditionRule } from "../rules/index.ts";
import {
  type Conclusion,
  isBelowWithdrawals,
  Outlook,
  type Situation,
  type StandingLevel,
} from "./situation.ts";

type Level = Conclusion["after"];

/** Figures of an account and of a position that say how near liquidation is. Sizes alone do not, nor do prices. */
const marginFields: Readonly<Record<string, ReadonlySet<string>>> = {
  trader: new Set([
    ...["equity", "freeCollateral", "marginRatio", "leverage", "riskState", "riskTier"],
    ...[
      "initialMargin",
      "maintenanceMargin",
      "cancelMargin",
      "moveToLiquidation",
      "adverseMoveToLiquidation",
    ],
  ]),
  position: new Set(["liquidationDistance", "initialMargin", "maintenanceMargin", "leverage"]),
};
const ofListed = /\.(liquidationDistance|initialMargin|maintenanceMargin|leverage)\b/;
const supposing = /\b(depositTo|reduceTo)\(/;

const known = new WeakMap<ConditionRule, boolean>();

/** Returns true if a rule is about the margin of an account, or how far it or a position of it is from liquidation. */
export function readsMargin(rule: ConditionRule): boolean {
  let reads = known.get(rule);
  if (reads === undefined) {
    const text = textOf(rule);
    reads =
      // A rule that supposes amounts itself says nothing of an account that is only supposed.
      !supposing.test(text) &&
      rule.reads.some(
        ({ scope, field }) =>
          marginFields[scope]?.has(field) ||
          // A read of a list does not say which members it needs.
          (scope === "trader" && field === "positions" && ofListed.test(text)),
      );
    known.set(rule, reads);
  }
  return reads;
}

const profitFields: ReadonlySet<string> = new Set(["pnl", "pnlToday", "lossToday", "highWaterMark"]);

/** Returns true if a rule is about the profit of a wallet. */
export function readsProfit({ reads }: ConditionRule): boolean {
  return reads.some(({ scope, field }) => scope === "wallet" && profitFields.has(field));
}

function textOf({ value, levels }: ConditionRule): string {
  return [value?.text, ...levels.flatMap(({ when, resolveWhen }) => [when.text, resolveWhen?.text])].join(
    "\n",
  );
}

/**
 * The adverse move of the marks while a person acts, a fraction: an amount that is just enough at the marks is too little a moment
 * later. No move in a market whose ticks are far coarser.
 */
const slip = 0.001;

export class AccountJudgement {
  /** The levels that hold now, by rule and subject; an alert that stands holds its level until it resolves. */
  readonly firing: ReadonlyMap<string, Severity>;
  /** An alert stands that cannot be judged. */
  readonly isUnknown: boolean;
  readonly risk: AccountRisk;
  readonly marks: MarkTicks;
  /** The marks a little against the account as it is: a trade fills there, and a change has to be enough there as well. */
  readonly near: MarkTicks;
  /** The marks after the adverse move against the account as it is. */
  readonly further: MarkTicks;
  readonly #situation: Situation;
  /** The levels that begin at the further marks as the account is. */
  #begun: ReadonlyMap<string, Level> | undefined;

  /** @param headroomOf the adverse move of a market that has to be survived, a fraction of its mark */
  constructor(
    situation: Situation,
    { risk, marks }: { readonly risk: AccountRisk; readonly marks: MarkTicks },
    headroomOf: (symbol: string) => number,
  ) {
    this.#situation = situation;
    this.risk = risk;
    this.marks = marks;
    this.near = adverseMarks(risk, marks, () => slip, true);
    this.further = adverseMarks(risk, marks, headroomOf);
    const firing = new Map<string, Severity>();
    let isUnknown = false;
    for (const one of new Outlook(situation, { risk, marks }).conclusions(readsMargin)) {
      if (one.after === "unknown") isUnknown ||= one.standing !== null;
      else if (one.after !== null && one.after !== "gone") firing.set(keyOf(one), one.after);
    }
    this.firing = firing;
    this.isUnknown = isUnknown;
  }

  /**
   * Returns true if of a changed account nothing holds that fires now and all of it is on target, at the marks and at the near ones, and
   * at the further marks none of it begins.
   */
  isClearOf(supposed: AccountRisk): boolean {
    const { firing, further } = this;
    const wanted = (rule: ConditionRule, subject: string) => firing.has(keyOf({ rule, subject }));
    for (const { after, isOnTarget } of this.#about(supposed, wanted))
      if (!isOver(after) || !isOnTarget) return false;
    const there = new Outlook(this.#situation, { risk: supposed, marks: further });
    for (const { after } of there.conclusions(wanted, fromNothing)) if (!isOver(after)) return false;
    return true;
  }

  /** Returns true if a critical level holds now. */
  get isCritical(): boolean {
    return [...this.firing.values()].includes("critical");
  }

  /** Returns true if of a changed account no critical level holds that does now. Nothing is said of lower ones, nor of further on. */
  isLessThanCritical(supposed: AccountRisk): boolean {
    const wanted = (rule: ConditionRule, subject: string) =>
      this.firing.get(keyOf({ rule, subject })) === "critical";
    for (const { after } of this.#about(supposed, wanted))
      if (rankOf(after) >= severityRank.critical) return false;
    return true;
  }

  /** Returns true if the exchange lets collateral out of an account so far, and no rule about its margin holds then, nor begins to further on. */
  isSafe(supposed: AccountRisk): boolean {
    const now = new Outlook(this.#situation, { risk: supposed, marks: this.marks });
    if (isBelowWithdrawals(now)) return false;
    if (isBelowWithdrawals(new Outlook(this.#situation, { risk: supposed, marks: this.near }))) return false;
    for (const { after } of now.conclusions(readsMargin, this.#standing)) if (!isOver(after)) return false;
    const there = new Outlook(this.#situation, { risk: supposed, marks: this.further });
    for (const { after } of there.conclusions(readsMargin, fromNothing)) if (!isOver(after)) return false;
    return true;
  }

  /** Returns true if no rule about the margin of a changed account holds at a higher level than it does without the change. */
  isUnharmedBy(supposed: AccountRisk): boolean {
    const { firing, marks, further } = this;
    const now = new Outlook(this.#situation, { risk: supposed, marks });
    for (const one of now.conclusions(readsMargin, this.#standing))
      if (rankOf(one.after) > rankOf(firing.get(keyOf(one)) ?? null)) return false;
    this.#begun ??= this.#beginning(this.risk);
    const there = new Outlook(this.#situation, { risk: supposed, marks: further });
    for (const one of there.conclusions(readsMargin, fromNothing))
      if (rankOf(one.after) > rankOf(this.#begun.get(keyOf(one)) ?? null)) return false;
    return true;
  }

  /**
   * The conclusions at the near marks and at the marks: a move against the positions can be one for a rule, such as that of a margin
   * which shrinks with the price.
   */
  *#about(
    supposed: AccountRisk,
    wanted: (rule: ConditionRule, subject: string) => boolean,
  ): Iterable<Conclusion> {
    for (const marks of [this.near, this.marks])
      yield* new Outlook(this.#situation, { risk: supposed, marks }).conclusions(wanted, this.#standing);
  }

  #beginning(risk: AccountRisk): ReadonlyMap<string, Level> {
    const there = new Outlook(this.#situation, { risk, marks: this.further });
    return new Map([...there.conclusions(readsMargin, fromNothing)].map((one) => [keyOf(one), one.after]));
  }

  readonly #standing: StandingLevel = (rule, subject) => this.firing.get(keyOf({ rule, subject })) ?? null;
}

const fromNothing: StandingLevel = () => null;

function isOver(level: Level): boolean {
  return level === null || level === "gone";
}

/** A level that cannot be judged ranks above all others. */
function rankOf(level: Level): number {
  if (level === null || level === "gone") return -1;
  return level === "unknown" ? Number.POSITIVE_INFINITY : severityRank[level];
}

function keyOf({ rule, subject }: { readonly rule: ConditionRule; readonly subject: string }): string {
  return `${rule.name}\n${subject}`;
}
