/** Judges a hypothetical account against the real one: near its marks, and after a further adverse move. */
import { type Severity, severityRank } from "../domain/alerts/alert.ts";
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

/** Figures of an account and of a position that show how near liquidation is. Sizes and prices alone do not. */
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

/** Returns true if a rule reads the margin of an account, or the distance to liquidation of the account or a position. */
export function readsMargin(rule: ConditionRule): boolean {
  let reads = known.get(rule);
  if (reads === undefined) {
    const text = textOf(rule);
    reads =
      // The result of a rule with hypothetical amounts has no meaning for a hypothetical account.
      !supposing.test(text) &&
      rule.reads.some(
        ({ scope, field }) =>
          marginFields[scope]?.has(field) ||
          // A read of a list does not name the members that it needs.
          (scope === "trader" && field === "positions" && ofListed.test(text)),
      );
    known.set(rule, reads);
  }
  return reads;
}

const profitFields: ReadonlySet<string> = new Set(["pnl", "pnlToday", "lossToday", "highWaterMark"]);

/** Returns true if a rule reads the profit of a wallet. */
export function readsProfit({ reads }: ConditionRule): boolean {
  return reads.some(({ scope, field }) => scope === "wallet" && profitFields.has(field));
}

function textOf({ value, levels }: ConditionRule): string {
  return [value?.text, ...levels.flatMap(({ when, resolveWhen }) => [when.text, resolveWhen?.text])].join(
    "\n",
  );
}

/**
 * The adverse move of the marks until a person has acted, a fraction: an amount that is just enough at the present marks is not enough
 * a moment later. No move in a market whose tick is far coarser.
 */
const slip = 0.001;

export class AccountJudgement {
  /** The levels that hold now, by rule and subject. An active alert holds its level until it resolves. */
  readonly firing: ReadonlyMap<string, Severity>;
  /** There is an active alert that cannot be judged. */
  readonly isUnknown: boolean;
  readonly risk: AccountRisk;
  readonly marks: MarkTicks;
  /** Marks slightly against the account as it is: trades fill there, and a change has to be enough there as well. */
  readonly near: MarkTicks;
  /** Marks after the adverse move against the account as it is. */
  readonly further: MarkTicks;
  readonly #situation: Situation;
  /** The levels that begin at the further marks for the account as it is. */
  #begun: ReadonlyMap<string, Level> | undefined;

  /** @param headroomOf the adverse move of a market that has to be withstood, a fraction of its mark */
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
   * Returns true if, for a changed account, none of the levels that fire now holds and all are on target, at the marks and at the near
   * ones, and none begins at the further marks.
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

  /** Returns true if, for a changed account, no critical level holds that holds now. Lower levels and further marks are not checked. */
  isLessThanCritical(supposed: AccountRisk): boolean {
    const wanted = (rule: ConditionRule, subject: string) =>
      this.firing.get(keyOf({ rule, subject })) === "critical";
    for (const { after } of this.#about(supposed, wanted))
      if (rankOf(after) >= severityRank.critical) return false;
    return true;
  }

  /** Returns true if the exchange allows withdrawals from a changed account, and no rule about its margin holds then or begins further on. */
  isSafe(supposed: AccountRisk): boolean {
    const now = new Outlook(this.#situation, { risk: supposed, marks: this.marks });
    if (isBelowWithdrawals(now)) return false;
    if (isBelowWithdrawals(new Outlook(this.#situation, { risk: supposed, marks: this.near }))) return false;
    for (const { after } of now.conclusions(readsMargin, this.#standing)) if (!isOver(after)) return false;
    const there = new Outlook(this.#situation, { risk: supposed, marks: this.further });
    for (const { after } of there.conclusions(readsMargin, fromNothing)) if (!isOver(after)) return false;
    return true;
  }

  /** Returns true if no rule about the margin of a changed account holds at a higher level than without the change. */
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
   * The conclusions at the near marks and at the marks: for some rules, such as one about a margin that shrinks with the price, a move
   * against the positions is favourable.
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

/** A level that cannot be judged has the highest rank. */
function rankOf(level: Level): number {
  if (level === null || level === "gone") return -1;
  return level === "unknown" ? Number.POSITIVE_INFINITY : severityRank[level];
}

function keyOf({ rule, subject }: { readonly rule: ConditionRule; readonly subject: string }): string {
  return `${rule.name}\n${subject}`;
}
