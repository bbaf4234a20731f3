/**
 * Records the judgements of rules during one test. An expectation of no alerts is meaningful only if the rules were
 * judged: a rule that is never judged never fires.
 */
import type { Scope } from "../../domain/subject.ts";
import {
  type ConditionRule,
  type Env,
  type EventRule,
  isUnknown,
  judge,
  type RuleSet,
  type Unknown,
} from "../../rules/index.ts";
import type { DiffLine } from "./compare.ts";
import type { RuleTest } from "./suite.ts";

/** Maximum reasons listed for one rule. */
const maxReasons = 3;

/**
 * Subjects of these scopes exist without a series of their own. A test concerns a rule of such a scope if it has a
 * series of a field that the rule reads.
 */
const implicitScopes: readonly Scope[] = ["wallet", "market", "exchange", "daemon"];

interface Judgements {
  known: boolean;
  /** The last reason of an unknown judgement, by subject. */
  readonly unknown: Map<string, string>;
}

export class JudgementRecorder {
  /** The rules to run the test with; each records its judgements here. */
  readonly ruleSet: RuleSet;
  readonly #records = new Map<string, Judgements>();

  constructor(ruleSet: RuleSet) {
    this.ruleSet = {
      ...ruleSet,
      conditions: ruleSet.conditions.map((rule) => this.#condition(rule)),
      events: ruleSet.events.map((rule) => this.#event(rule)),
    };
  }

  /**
   * Lists rules that had to be judged and were not, with the reason of each.
   * @param listed null: all rules that the test concerns, and at least one
   * @returns no line if all were judged
   */
  missing(test: RuleTest, listed: readonly string[] | null): readonly DiffLine[] {
    const { conditions, events } = this.ruleSet;
    const rules = [...conditions, ...events];
    const asked = test.expects.flatMap(({ alerts }) => alerts ?? []);
    const exempt = new Set(
      asked.flatMap(({ rule, dataState }) => (dataState === "noData" || dataState === "error" ? [rule] : [])),
    );
    if (listed !== null)
      return this.#lines(rules.filter(({ name }) => listed.includes(name) && !exempt.has(name)));
    const inSeries = new Set(test.series.map(({ scope, field }) => `${scope}.${field.name}`));
    const concerned = rules.filter((rule) => {
      const hasSeries =
        rule.kind === "event" ||
        !implicitScopes.includes(rule.scope) ||
        rule.reads.some(({ scope, field }) => scope === rule.scope && inSeries.has(`${scope}.${field}`));
      return hasSeries ? this.#wasTried(rule.name) : this.#record(rule.name).known;
    });
    const isAny = concerned.length > 0 || rules.some(({ name }) => exempt.has(name));
    return this.#lines((isAny ? concerned : rules).filter(({ name }) => !exempt.has(name)));
  }

  #lines(rules: readonly (ConditionRule | EventRule)[]): DiffLine[] {
    return rules.flatMap((rule): DiffLine[] => {
      const { name } = rule;
      if (this.#record(name).known) return [];
      return [
        { mark: "-", text: `${name} judged` },
        { mark: "+", text: `${name} never judged: ${this.#reason(rule)}` },
      ];
    });
  }

  #reason(rule: ConditionRule | EventRule): string {
    const reasons = [...this.#record(rule.name).unknown].map(([subject, detail]) => `${subject}: ${detail}`);
    if (reasons.length > 0) {
      const more = reasons.length - maxReasons;
      return [...reasons.slice(0, maxReasons), ...(more > 0 ? [`and ${more} more`] : [])].join("; ");
    }
    return rule.kind === "event"
      ? `no new ${rule.on} event of its wallets happened`
      : `no subject of it existed (scope ${rule.scope})`;
  }

  #condition(rule: ConditionRule): ConditionRule {
    const last = rule.levels.length - 1;
    // Each judgement evaluates the highest level first.
    const levels = rule.levels.map((level, index) => {
      if (index !== last) return level;
      const run = (env: Env) => {
        // A judgement of positions that are too old does not count as known.
        if (env.oldAccounts !== true && !this.#record(rule.name).known) {
          const judged = judge(rule, { ...env }, null);
          this.#note(rule.name, subjectIn(rule.scope, env), judged.kind === "known" ? null : judged.unknown);
        }
        return level.when.run(env);
      };
      return { ...level, when: { ...level.when, run } };
    });
    return { ...rule, levels };
  }

  #event(rule: EventRule): EventRule {
    const run = (env: Env) => {
      const holds = rule.when.run(env);
      this.#note(rule.name, rule.on, isUnknown(holds) ? holds : null);
      return holds;
    };
    return { ...rule, when: { ...rule.when, run } };
  }

  #note(rule: string, subject: string, unknown: Unknown | null): void {
    const record = this.#record(rule);
    if (unknown === null) record.known = true;
    else record.unknown.set(subject, unknown.detail);
  }

  #wasTried(rule: string): boolean {
    const { known, unknown } = this.#record(rule);
    return known || unknown.size > 0;
  }

  #record(rule: string): Judgements {
    const record = this.#records.get(rule) ?? { known: false, unknown: new Map() };
    this.#records.set(rule, record);
    return record;
  }
}

/** The subject's name, as tests write it. */
function subjectIn(scope: Scope, env: Env): string {
  const text = (facts: keyof Env, field: string): string => {
    const of = env[facts];
    const value = typeof of === "object" && "values" in of ? of.values[field] : undefined;
    return typeof value === "string" ? value : "";
  };
  switch (scope) {
    case "position":
      return `${text("trader", "name")}/${text("position", "symbol")}`;
    case "market": {
      const symbol = text("market", "symbol");
      return symbol === "" ? "market" : `market/${symbol}`;
    }
    default:
      return text(scope, "name") || scope;
  }
}
