/** Runs the tests of a suite: the engine is the live one; clock, observations and store are replaced. */
import { builtInRules } from "../../domain/alerts/built-in.ts";
import type { Source } from "../../domain/sources.ts";
import { parseSubject } from "../../domain/subject.ts";
import type { WatchSettings } from "../../engine/settings.ts";
import {
  formatNumber,
  loadRules,
  nearestName,
  type RuleProblem,
  type RuleSet,
  vocabulary,
} from "../../rules/index.ts";
import { asLive } from "../as-live.ts";
import { Replay } from "../replay.ts";
import {
  compareAlerts,
  compareMessages,
  type DataStateOf,
  type DiffLine,
  type FoundAlert,
} from "./compare.ts";
import { JudgementRecorder } from "./judgement-recorder.ts";
import { type LastFigure, lengthMs, playTest } from "./play-test.ts";
import type { Expectation, RuleTest, Suite, Wording } from "./suite.ts";

export interface Failure {
  /** Since the beginning of the test, ms. */
  readonly atMs: number;
  /** The line of the expectation. */
  readonly line: number;
  readonly what: "alerts" | "messages" | "expectNothing";
  readonly diff: readonly DiffLine[];
  /** The known values of its subjects, one line each. */
  readonly values: readonly string[];
}

export interface TestOutcome {
  readonly test: RuleTest;
  readonly failures: readonly Failure[];
}

export interface SuiteInput {
  readonly suite: Suite;
  /** The rule files that the suite names: the name for problems, and the text. */
  readonly files: readonly { readonly name: string; readonly text: string }[];
  /** The schedule of each source, where the suite does not state it, ms. */
  readonly scheduleMs: Readonly<Record<Source, number>>;
  readonly wording: Wording;
}

export interface ReadySuite {
  readonly suite: Suite;
  readonly settings: WatchSettings;
  readonly wording: Wording;
}

/** Loads the rules, and checks the names that the tests use. */
export function readySuite(input: SuiteInput): ReadySuite | { readonly problems: readonly RuleProblem[] } {
  const { suite, files } = input;
  // A value set in a step is not stale before the next step.
  const scheduleMs = Object.fromEntries(
    Object.entries({ ...input.scheduleMs, ...suite.scheduleMs }).map(([source, ms]) => [
      source,
      Math.max(ms, suite.intervalMs),
    ]),
  ) as Record<Source, number>;
  const { wallets, pairs, timezone, overrides } = suite;
  const loaded = loadRules({ files, overrides, scheduleMs, wallets, pairs, timezone });
  if ("problems" in loaded) return { problems: loaded.problems };
  const ruleSet = asLive(loaded.ruleSet);
  const problems = unknownRules(suite, ruleSet);
  if (problems.length > 0) return { problems };
  const settings: WatchSettings = {
    wallets,
    pairs,
    ruleSet,
    routing: suite.routing,
    remind: suite.remind,
    acknowledge: {
      notifications: "whenHandled",
      unmatched: "leave",
      backlog: "leave",
      audit: null,
      types: {},
    },
    scheduleMs,
    timezone,
  };
  return { suite, settings, wording: input.wording };
}

export async function runTest(
  { suite, settings, wording }: ReadySuite,
  test: RuleTest,
): Promise<TestOutcome> {
  const judged = new JudgementRecorder(settings.ruleSet);
  const { ruleSet } = judged;
  const replay = new Replay({ settings: { ...settings, ruleSet }, past: null, fromMs: suite.startMs });
  const { conditions, events } = ruleSet;
  const own = new Set([...conditions, ...events].map((rule) => rule.name));
  const failures: Failure[] = [];
  const figures = new Map<string, Map<string, LastFigure>>();
  const messages: Expectation[] = [];
  let eventsFrom = 0;
  const valuesOf = (diff: readonly DiffLine[], atMs: number) =>
    figuresOf(diff, figures, suite.startMs + atMs);
  await playTest({
    suite,
    test,
    ruleSet,
    replay,
    figures,
    onExpectation: (expectation) => {
      const { atMs, line } = expectation;
      const compared = comparedRules(expectation, own);
      if (expectation.alerts !== null) {
        const found = alertsNow(replay, suite.startMs + atMs, eventsFrom).filter(({ rule }) =>
          compared.has(rule),
        );
        const diff = compareAlerts(expectation.alerts, found, dataStates(replay, suite.startMs + atMs));
        if (diff) failures.push({ atMs, line, what: "alerts", diff, values: valuesOf(diff, atMs) });
        eventsFrom = newestAlert(replay);
      }
      if (expectation.messages !== null) messages.push(expectation);
    },
  });
  const asked = test.expects.flatMap(namedRules);
  for (const expectation of test.expects) {
    if (!isEmpty(expectation)) continue;
    const { atMs, line, alerts, rules } = expectation;
    const diff = judged.missing(test, rules ?? (asked.length > 0 ? asked : null));
    const what = alerts === null ? "messages" : "alerts";
    if (diff.length > 0) failures.push({ atMs, line, what, diff, values: [] });
    // The result is the same for the remaining ones.
    if (diff.length > 0) break;
  }
  // A message counts at the time at which it became pending, and is complete once it has left.
  replay.finish();
  let fromMs = Number.NEGATIVE_INFINITY;
  for (const expectation of messages) {
    const { atMs, line } = expectation;
    const compared = comparedRules(expectation, own);
    const toMs = suite.startMs + atMs;
    const found = replay.journal.messages.filter(
      ({ owedAtMs, changes }) =>
        owedAtMs > fromMs && owedAtMs <= toMs && changes.some(({ alert }) => compared.has(alert.rule)),
    );
    const diff = compareMessages(expectation.messages ?? [], found, wording);
    if (diff) failures.push({ atMs, line, what: "messages", diff, values: [] });
    fromMs = toMs;
  }
  failures.sort((a, b) => a.atMs - b.atMs || a.line - b.line);
  if (test.nothing !== null) {
    const diff = [...replay.journal.alerts.values()]
      .filter(({ rule }) => own.has(rule))
      .map((alert): DiffLine => {
        const text = `${alert.rule} ${alert.subject} ${alert.event ? "event" : "fired"} ${alert.severity}: ${alert.summary}`;
        return { mark: "+", text: `at ${durationText(alert.firedAtMs - suite.startMs)}: ${text}` };
      });
    diff.push(...judged.missing(test, test.nothing.judged));
    const atMs = lengthMs(suite, test);
    if (diff.length > 0)
      failures.push({
        atMs,
        line: test.nothing.line,
        what: "expectNothing",
        diff,
        values: valuesOf(diff, atMs),
      });
  }
  return { test, failures };
}

/** Rules that the alerts and messages of an expectation name. */
function namedRules({ alerts, messages }: Expectation): readonly string[] {
  return [...(alerts ?? []), ...(messages ?? [])].flatMap(({ rule }) => (rule === null ? [] : [rule]));
}

/** Returns true if no alert and no message is expected. */
function isEmpty({ alerts, messages }: Expectation): boolean {
  return (alerts ?? []).length === 0 && (messages ?? []).length === 0;
}

/** The rules to compare: those of the files, and the built-in ones that the expectation names. */
function comparedRules(expectation: Expectation, own: ReadonlySet<string>): ReadonlySet<string> {
  return new Set(expectation.rules ?? [...own, ...namedRules(expectation)]);
}

function dataStates({ watch }: Replay, nowMs: number): DataStateOf {
  const { unjudged } = watch.status(nowMs);
  return (rule, subject) => {
    const one = unjudged.find(
      (other) => other.rule === rule && (subject === null || other.subject === subject),
    );
    return one === undefined ? { state: "ok", detail: "" } : { state: one.state, detail: one.detail };
  };
}

function newestAlert(replay: Replay): number {
  return Math.max(0, ...replay.journal.alerts.keys());
}

function alertsNow({ watch, journal }: Replay, nowMs: number, eventsFrom: number): readonly FoundAlert[] {
  const { firing, pending } = watch.status(nowMs);
  const found: FoundAlert[] = [
    ...pending.map(({ rule, subject, severity }) => ({
      rule,
      subject,
      state: "pending" as const,
      severity,
      alert: null,
    })),
    ...firing.map((alert) => ({
      rule: alert.rule,
      subject: alert.subject,
      state: "firing" as const,
      severity: alert.severity,
      alert,
    })),
  ];
  const ended = new Map<string, FoundAlert>();
  for (const alert of journal.alerts.values()) {
    const { rule, subject, severity } = alert;
    if (alert.event) {
      if (alert.id > eventsFrom) found.push({ rule, subject, state: "event", severity, alert });
    } else if (alert.state === "ended")
      ended.set(`${rule}\n${subject}`, { rule, subject, state: "ended", severity, alert });
  }
  return [...found, ...ended.values()];
}

/** Maximum subjects whose figures a failure shows when the difference names none. */
const maxOwners = 10;

/**
 * The figures of the subjects that the difference names, with those of their accounts; of all subjects where it names
 * none.
 */
function figuresOf(
  diff: readonly DiffLine[],
  figures: ReadonlyMap<string, ReadonlyMap<string, LastFigure>>,
  nowMs: number,
): readonly string[] {
  const owners = new Set<string>();
  const words = diff.flatMap(({ mark, text }) => (mark === " " ? [] : text.split(/[ :,]/)));
  for (const owner of figures.keys())
    if (words.some((word) => word === owner || word.startsWith(`${owner}/`))) owners.add(owner);
  if (words.includes("(any)") && owners.size === 0)
    for (const owner of [...figures.keys()].slice(0, maxOwners)) owners.add(owner);
  const lines: string[] = [];
  for (const owner of owners) {
    const scope = parseSubject(owner)?.scope ?? "exchange";
    const units = new Map(vocabulary[scope].map((field) => [field.name, field.unit]));
    const texts = [...figures.get(owner)!].map(([name, { value, atMs }]) => {
      const shown =
        typeof value === "number" ? formatNumber(value, units.get(name) ?? "none") : JSON.stringify(value);
      return `${name} ${shown}${nowMs - atMs > 0 ? ` (${durationText(nowMs - atMs)} ago)` : ""}`;
    });
    if (texts.length > 0) lines.push(`${owner}: ${texts.join(", ")}`);
  }
  return lines;
}

/** A duration as tests write it: `1m30s`. */
export function durationText(ms: number): string {
  if (ms < 60_000) return `${ms / 1_000}s`;
  const units = [
    ["d", 86_400_000],
    ["h", 3_600_000],
    ["m", 60_000],
    ["s", 1_000],
  ] as const;
  let rest = ms;
  let text = "";
  for (const [unit, size] of units) {
    const count = unit === "s" ? rest / size : Math.floor(rest / size);
    rest -= unit === "s" ? 0 : count * size;
    if (count > 0) text += `${count}${unit}`;
  }
  return text;
}

function problem({ file }: Suite, line: number, message: string, nearest: string | null = null): RuleProblem {
  return { file, line, column: 1, source: "", message, allowed: [], nearest };
}

/** Problems for unknown rule names: a test of a renamed rule would never fail. */
function unknownRules(suite: Suite, { conditions, events }: RuleSet): RuleProblem[] {
  const names = [...[...conditions, ...events].map((rule) => rule.name), ...builtInRules];
  const used: { readonly name: string; readonly line: number }[] = [];
  for (const test of suite.tests) {
    for (const { rule, line } of test.acknowledged) used.push({ name: rule, line });
    for (const name of test.nothing?.judged ?? []) used.push({ name, line: test.nothing!.line });
    for (const { rules, alerts, messages, line } of test.expects) {
      for (const name of rules ?? []) used.push({ name, line });
      for (const one of [...(alerts ?? []), ...(messages ?? [])])
        if (one.rule !== null) used.push({ name: one.rule, line: one.line });
    }
  }
  return used.flatMap(({ name, line }) =>
    names.includes(name) ? [] : [problem(suite, line, `no rule is called ${name}`, nearestName(name, names))],
  );
}
