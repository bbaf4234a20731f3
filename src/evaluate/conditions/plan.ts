/**
 * Judges the rules of a subject where nothing holds and nothing did, which is nearly always: subjects with the same rules
 * share one plan, rules that rest on the same answers share one look at their ages, and of a rule that is quiet nothing of
 * its own is touched. What it costs to watch thousands of accounts is memory that has to be fetched, more than arithmetic.
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

/** Until when the answers are fresh that several rules rest on; asked once a judging. */
class Look {
  readonly #inputs: readonly Input[];
  #turn = -1;
  #untilMs = 0;

  constructor(inputs: readonly Input[]) {
    this.#inputs = inputs;
  }

  /** @param turn the same one as long as one subject is judged and nothing arrives */
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
  /** Sources whose arrival is a reason to judge, a bit each. */
  readonly sources: number;
  /** Time alone moves it, or events fall out of its windows: it is never quiet. */
  readonly restless: boolean;
  readonly looksBack: boolean;
  /** It looks at nothing but windows of its own subject: as long as those hold, so does what it says. */
  readonly looksBackOnly: boolean;
}

/** The rules of a subject, in their order. */
export type Plan = readonly Planned[];

export const noPlan: Plan = [];

/** @returns whether a rule that was quiet goes on so; otherwise it has to be judged */
export function staysQuiet({ rule, look }: Planned, env: Env, turn: number): boolean {
  if (look.untilMs(env, turn) < env.nowMs) return false;
  env.allFresh = true;
  const quiet = nothingHolds(rule, env);
  env.allFresh = false;
  return quiet;
}

/** Makes plans; what is the same is one. */
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

/** As many bits as fit a small integer. */
const bitsOfWord = 30;

/** The quiet rules of a subject: known, nothing holds, and no clock runs. By their place in the plan. */
export class Quiet {
  #first = 0;
  /** The words beyond the first, where there are more rules than bits. */
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
