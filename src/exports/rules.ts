/**
 * `perpwatch/rules`: the rule language. Rule files are loaded from text, with every mistake and its place; expressions and rules are
 * evaluated against figures that are handed in; rule tests run on a clock of their own. docs/library.md has the example, docs/rules.md
 * the language.
 */
import type { Severity } from "../domain/alerts/alert.ts";
import type { Scope } from "../domain/subject.ts";
import { compileExpression as compile } from "../rules/expression/compile.ts";
import { Gathered } from "../rules/expression/context.ts";
import { judge, judgeEvent } from "../rules/judge.ts";
import { staleness } from "../rules/load/common.ts";
import { loadRules as load } from "../rules/load/load.ts";
import type { RuleProblem } from "../rules/problem.ts";
import type { ConditionRule, EventRule } from "../rules/rule.ts";
import { isUnknown, type Unknown, type UnknownReason, type Value } from "../rules/value.ts";
import type { RuleEventKind } from "../rules/vocabulary/field-types.ts";
import { visibleScopes, visibleToEvents } from "../rules/vocabulary.ts";
import { type Figures, factsFrom } from "./figures.ts";
import { usualScheduleMs } from "./schedule.ts";

export type { Severity } from "../domain/alerts/alert.ts";
export type { Scope } from "../domain/subject.ts";
export { formatProblem, type RuleProblem } from "../rules/problem.ts";
export type { FactRecord, FactScalar, FactValue, UnknownReason, Value } from "../rules/value.ts";
export {
  eventKinds,
  type Field,
  type FieldType,
  type RuleEventKind,
  scopes,
  type Unit,
} from "../rules/vocabulary/field-types.ts";
export { type FunctionRow, functionRows } from "../rules/vocabulary/functions.ts";
export { eventVocabulary, visibleScopes, visibleToEvents, vocabulary } from "../rules/vocabulary.ts";
export type { Figures } from "./figures.ts";

/** A rule file, or a file of rule tests: its name, by which problems call it, and its text. */
export interface TextFile {
  readonly name: string;
  readonly text: string;
}

export interface LoadOptions {
  /** The wallets that `select:` may name. Default: none. */
  readonly wallets?: readonly {
    readonly name: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly watchOnly?: boolean;
  }[];
  /** As `ruleOverrides:` of the configuration, by rule name. Default: none. */
  readonly overrides?: Readonly<Record<string, unknown>>;
  /** The time zone of "today", an IANA name. Default UTC. */
  readonly timezone?: string;
}

/** All rules of the files, or all mistakes in them, in their order. */
export type LoadedRules =
  | { readonly ok: true; readonly rules: readonly Rule[]; readonly warnings: readonly RuleProblem[] }
  | { readonly ok: false; readonly problems: readonly RuleProblem[] };

export interface Rule {
  readonly name: string;
  readonly file: string;
  readonly line: number;
  /** The subjects that it judges; null: it judges events. */
  readonly scope: Scope | null;
  /** The events that it judges; null: it is a condition. */
  readonly on: RuleEventKind | null;
  /** Those of its levels, ascending. */
  readonly severities: readonly Severity[];
  /**
   * Judges one subject or event by its figures as they are now. `for:`, `keepFiringFor:` and windows need time: rule tests have it.
   * @param standing the level that stands already, which holds until its `resolveWhen`. Default: none
   */
  judge(figures: Figures, standing?: Severity | null): Judgement;
}

/** An answer that cannot be had, with its reason. */
export interface NotKnown {
  readonly reason: UnknownReason;
  /** For people. */
  readonly detail: string;
}

export interface Judgement {
  /** The level that holds; null: none, or not known. */
  readonly severity: Severity | null;
  /** Null: it is known. */
  readonly unknown: NotKnown | null;
  /** The rule's value; null: it has none, or none that is known. */
  readonly value: number | null;
  /** The summary as it would be reported. */
  readonly summary: string;
}

/** @param files one text (which is called rules.yaml), or several files */
export function loadRules(files: string | readonly TextFile[], options: LoadOptions = {}): LoadedRules {
  const { wallets = [], overrides = {}, timezone = "UTC" } = options;
  const loaded = load({
    files: typeof files === "string" ? [{ name: "rules.yaml", text: files }] : files,
    overrides,
    scheduleMs: usualScheduleMs(),
    wallets: wallets.map(({ name, labels = {}, watchOnly = false }) => ({ name, labels, watchOnly })),
    timezone,
  });
  if ("problems" in loaded) return { ok: false, problems: loaded.problems };
  const { conditions, events } = loaded.ruleSet;
  return {
    ok: true,
    rules: [...conditions.map(conditionOf), ...events.map(eventOf)],
    warnings: loaded.warnings,
  };
}

function conditionOf(rule: ConditionRule): Rule {
  const { name, file, line, scope, levels } = rule;
  return {
    ...{ name, file, line, scope, on: null },
    severities: levels.map(({ severity }) => severity),
    judge(figures, standing = null) {
      const env = factsFrom(figures);
      const judged = judge(rule, env, standing);
      const isKnown = judged.kind === "known";
      return {
        severity: isKnown ? judged.severity : null,
        unknown: isKnown ? null : notKnown(judged.unknown),
        value: judged.value,
        summary: rule.summary.render(env),
      };
    },
  };
}

function eventOf(rule: EventRule): Rule {
  const { name, file, line, on, severity } = rule;
  return {
    ...{ name, file, line, scope: null, on: on as RuleEventKind, severities: [severity] },
    judge(figures) {
      const env = factsFrom(figures);
      const matches = judgeEvent(rule, env);
      return {
        severity: matches === true ? severity : null,
        unknown: isUnknown(matches) ? notKnown(matches) : null,
        value: null,
        summary: rule.summary.render(env),
      };
    },
  };
}

const notKnown = ({ unknown, detail }: Unknown): NotKnown => ({ reason: unknown, detail });

/** A mistake in an expression. */
export interface ExpressionMistake {
  /** Its place: characters from the beginning of the text. */
  readonly offset: number;
  readonly message: string;
  /** The allowed words; empty when the message says it all. */
  readonly allowed: readonly string[];
  /** The nearest allowed name, when one is near enough to be meant. */
  readonly nearest: string | null;
}

export type Expression =
  | {
      readonly ok: true;
      /** Its value now, or why there is none. */
      evaluate(figures: Figures): { readonly value: Value } | { readonly unknown: NotKnown };
    }
  | { readonly ok: false; readonly mistakes: readonly ExpressionMistake[] };

/**
 * Compiles an expression of one value: a number, a duration or time (ms), a text, true or false. It has no history functions.
 * @param about the subject or event whose figures it may name
 */
export function compileExpression(
  text: string,
  about: { readonly scope: Scope } | { readonly on: RuleEventKind },
): Expression {
  const naming =
    "scope" in about
      ? { scopes: visibleScopes[about.scope], event: null }
      : { scopes: visibleToEvents[about.on], event: { kind: about.on, name: "event" } };
  const mistakes: ExpressionMistake[] = [];
  const compiled = compile(
    text,
    "text",
    { ...naming, value: null, countable: null },
    new Gathered(staleness(undefined, usualScheduleMs())),
    ({ start, message, allowed = [], nearest = null, warning = false }) => {
      if (!warning) mistakes.push({ offset: start, message, allowed, nearest });
    },
  );
  if (compiled === undefined) return { ok: false, mistakes };
  return {
    ok: true,
    evaluate(figures) {
      const value = compiled.run(factsFrom(figures));
      return isUnknown(value) ? { unknown: notKnown(value) } : { value };
    },
  };
}

export interface RuleTestResult {
  readonly name: string;
  readonly line: number;
  /** Empty: it passed. */
  readonly failures: readonly RuleTestFailure[];
}

/** An expectation that does not hold. */
export interface RuleTestFailure {
  /** Since the beginning of the test, ms. */
  readonly atMs: number;
  /** The line of the expectation. */
  readonly line: number;
  readonly what: "alerts" | "messages" | "expectNothing";
  /** As expected (`-` is missing), as found (`+` was not expected). */
  readonly diff: readonly { readonly mark: " " | "-" | "+"; readonly text: string }[];
  /** The figures of then, a line each. */
  readonly values: readonly string[];
}

/** The results of all tests of a file, or all mistakes in it and in its rules. */
export type RuleTestRun =
  | { readonly ok: true; readonly tests: readonly RuleTestResult[] }
  | { readonly ok: false; readonly problems: readonly RuleProblem[] };

/**
 * Runs a file of rule tests (docs/rule-tests.md) by the engine that runs live.
 * @param rules the rule files that it names, under the names that stand there
 */
export async function runRuleTests(tests: TextFile, rules: readonly TextFile[]): Promise<RuleTestRun> {
  // The engine is loaded by those alone who run tests.
  const { readSuite } = await import("../replay/suite/read.ts");
  const { readySuite, runTest } = await import("../replay/suite/run.ts");
  const { leadOf } = await import("../channels/message/lead.ts");
  const read = readSuite(tests.name, tests.text);
  if ("problems" in read) return { ok: false, problems: read.problems };
  const plain = (name: string) => name.replace(/^\.\//, "");
  const given = new Map(rules.map(({ name, text }) => [plain(name), text]));
  const missing: RuleProblem[] = [];
  const files = read.suite.rules.flatMap(({ name, line }) => {
    const text = given.get(plain(name));
    if (text !== undefined) return [{ name: plain(name), text }];
    const message = `the rule file ${name} was not given`;
    missing.push({
      file: tests.name,
      line,
      column: 1,
      source: "",
      message,
      allowed: [...given.keys()],
      nearest: null,
    });
    return [];
  });
  if (missing.length > 0) return { ok: false, problems: missing };
  const ready = readySuite({
    suite: read.suite,
    files,
    scheduleMs: usualScheduleMs(),
    wording: { lead: leadOf },
  });
  if ("problems" in ready) return { ok: false, problems: ready.problems };
  const results: RuleTestResult[] = [];
  for (const test of ready.suite.tests) {
    const { failures } = await runTest(ready, test);
    results.push({ name: test.name, line: test.line, failures });
  }
  return { ok: true, tests: results };
}
