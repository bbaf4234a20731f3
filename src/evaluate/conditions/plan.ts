/**
 * Judges the quiet rules of a subject, which nearly all rules are. Subjects with the same rules share one plan, rules with the same
 * sources share one check of their ages, and no state of a quiet rule is read. With thousands of accounts the cost is memory
 * access more than arithmetic.
 */
import type { Scope } from "../../domain/subject.ts";
import {
  type ConditionRule,
  type Env,
  freshUntilMs,
  type Input,
  nothingHolds,
  type WindowSpec,
} from "../../rules/index.ts";

/** The time until which the answers that several rules read are fresh; computed once per judgement of a subject. */
class Look {
  readonly #inputs: readonly Input[];
  #turn = -1;
  #untilMs = 0;

  constructor(inputs: readonly Input[]) {
    this.#inputs = inputs;
  }

  /** @param turn stays the same while one subject is judged and no data arrive */
  untilMs(env: Env, turn: number): number {
    if (turn !== this.#turn) {
      this.#untilMs = freshUntilMs(this.#inputs, env);
      this.#turn = turn;
    }
    return this.#untilMs;
  }
}

export interface Planned {
  readonly rule: ConditionRule;
  readonly look: Look;
  /** Sources whose arrival makes a judgement necessary, as a bit mask. */
  readonly sources: number;
  /** The result changes with time alone, or events leave its windows: it is never quiet. */
  readonly restless: boolean;
  readonly looksBack: boolean;
  /** It reads only windows of its own subject: while those stay the same, so does its result. */
  readonly looksBackOnly: boolean;
}

/** The rules of a subject, in order. */
export type Plan = readonly Planned[];

export const noPlan: Plan = [];

/** @returns true if a quiet rule stays quiet; otherwise it has to be judged */
export function staysQuiet({ rule, look }: Planned, env: Env, turn: number): boolean {
  if (look.untilMs(env, turn) < env.nowMs) return false;
  env.allFresh = true;
  const quiet = nothingHolds(rule, env);
  env.allFresh = false;
  return quiet;
}

/** Creates plans; equal plans are shared. */
export class Plans {
  readonly #planned = new Map<ConditionRule, Planned>();
  readonly #places = new Map<ConditionRule, number>();
  readonly #plans = new Map<string, Plan>();

  /** @param sourcesOf see `Planned` */
  constructor(rules: readonly ConditionRule[], sourcesOf: (rule: ConditionRule) => number) {
    const looks = new Map<string, Look>();
    for (const [place, rule] of rules.entries()) {
      const { inputs, windows, readsNow } = rule;
      const key = JSON.stringify(inputs.map((one) => [one.owner, one.sources, one.staleAfterMs]));
      const look = looks.get(key) ?? new Look(inputs);
      looks.set(key, look);
      this.#places.set(rule, place);
      this.#planned.set(rule, {
        rule,
        look,
        sources: sourcesOf(rule),
        restless: readsNow || windows.some(({ path }) => path.kind === "event"),
        looksBack: windows.length > 0,
        looksBackOnly: !rule.readsPresent && windows.length > 0 && windows.every(isOf(rule.scope)),
      });
    }
  }

  of(rules: readonly ConditionRule[]): Plan {
    const key = rules.map((rule) => this.#places.get(rule)).join();
    const known = this.#plans.get(key);
    if (known) return known;
    const plan = rules.map((rule) => this.#planned.get(rule)!);
    this.#plans.set(key, plan);
    return plan;
  }
}

const isOf =
  (scope: Scope) =>
  ({ path }: WindowSpec): boolean =>
    path.kind === "field" && path.scope === scope && path.symbol === null;

/** Number of bits that fit a small integer in V8. */
const bitsOfWord = 30;

/** The quiet rules of a subject, by index in the plan: known, nothing holds, and no clock runs. */
export class Quiet {
  #first = 0;
  /** The words after the first, if there are more rules than bits. */
  #others: number[] | null = null;

  has(index: number): boolean {
    if (index < bitsOfWord) return (this.#first & (1 << index)) !== 0;
    const word = this.#others?.[Math.trunc(index / bitsOfWord) - 1] ?? 0;
    return (word & (1 << (index % bitsOfWord))) !== 0;
  }

  set(index: number, quiet: boolean): void {
    if (index < bitsOfWord) {
      this.#first = withBit(this.#first, index, quiet);
      return;
    }
    if (this.#others === null && !quiet) return;
    this.#others ??= [];
    const at = Math.trunc(index / bitsOfWord) - 1;
    while (this.#others.length <= at) this.#others.push(0);
    this.#others[at] = withBit(this.#others[at]!, index % bitsOfWord, quiet);
  }
}

function withBit(word: number, bit: number, set: boolean): number {
  return set ? word | (1 << bit) : word & ~(1 << bit);
}
