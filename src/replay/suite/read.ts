/**
 * Parses a `*.test.yaml` into a suite, or into all its mistakes with line and column. Rule names are checked later,
 * when the rules are loaded (run.ts).
 */

import { isMap } from "yaml";
import type { z } from "zod";
import { remindSettings } from "../../alerts/reminders/remind.ts";
import { routingSettings } from "../../alerts/routing/route.ts";
import { limitsOf } from "../../domain/limits.ts";
import { sources } from "../../domain/sources.ts";
import { parseSubject, type Scope } from "../../domain/subject.ts";
import { nearestName, orderItemFields, type RuleProblem, scopes, vocabulary } from "../../rules/index.ts";
import { RuleSource } from "../../rules/load/source.ts";
import { parseLeg, usualTolerance } from "../../state/aggregates/pair-legs.ts";
import type { WatchedPair, WatchedWallet } from "../../state/wallets/watched.ts";
import { Entry, type Report } from "./entry.ts";
import { parseSteps, type Step, scalarOf } from "./notation.ts";
import { readEvents } from "./read-events.ts";
import { readExpectations, readNothing } from "./read-expectations.ts";
import type { RuleTest, Suite, TestFailure, TestSeries } from "./suite.ts";
import { addWallet, type SuiteContext, testWallet } from "./suite-context.ts";

export type ReadSuite = { readonly suite: Suite } | { readonly problems: readonly RuleProblem[] };

const suiteKeys = [
  "rules",
  "interval",
  "start",
  "timezone",
  "wallets",
  "pairs",
  "ruleOverrides",
  "routing",
  "remind",
  "schedules",
  "tests",
];
const testKeys = ["name", "series", "events", "failed", "restart", "acknowledge", "expect", "expectNothing"];
/** A day without special events; midnight, so that `today` is all of it. */
const defaultStartMs = Date.UTC(2026, 0, 5);

/** A test file for the rule file of the same name. */
const testEnding = /\.test(\.ya?ml)$/;

export function readSuite(file: string, text: string): ReadSuite {
  const problems: RuleProblem[] = [];
  const report: Report = (problem) => {
    const same = (one: RuleProblem) =>
      one.line === problem.line && one.column === problem.column && one.message === problem.message;
    if (!problems.some(same)) problems.push(problem);
  };
  const source = new RuleSource(file, text);
  const root = source.parse(report);
  const failed = () => ({ problems: problems.sort((a, b) => a.line - b.line || a.column - b.column) });
  if (root === undefined) return failed();
  const entry = new Entry(source, root, "the file", report);
  if (!isMap(root)) {
    entry.problem({ message: "a file of rule tests is a mapping with tests: and a list of tests" });
    return failed();
  }
  const suite = readRoot(file, entry);
  return problems.length > 0 || suite === undefined ? failed() : { suite };
}

function readRoot(file: string, entry: Entry): Suite | undefined {
  entry.mapping(suiteKeys);
  const tests = entry.need("tests");
  const defaultRuleFile = testEnding.test(file)
    ? `./${file.split(/[\\/]/).at(-1)!.replace(testEnding, "$1")}`
    : null;
  const rules = entry.get("rules");
  if (rules === undefined && defaultRuleFile === null)
    entry.problem({ message: "rules is missing: the rule files that are tested" });
  const named = (rules?.items() ?? []).flatMap((one) => {
    const name = one.needText();
    return name === undefined ? [] : [{ name, line: one.line }];
  });
  const intervalMs = entry.get("interval")?.durationMs() ?? 5_000;
  if (intervalMs <= 0) entry.get("interval")?.problem({ message: "interval must be longer than nothing" });
  const start = entry.get("start");
  const startMs = start === undefined ? defaultStartMs : Date.parse(start.text ?? "");
  if (Number.isNaN(startMs))
    start?.problem({
      message: `start must be a time, found ${start.text}`,
      allowed: ["2026-01-05T00:00:00Z"],
    });
  const timezone = readTimezone(entry.get("timezone"));
  const wallets = readWallets(entry.get("wallets"));
  const known = new Map(wallets.map((wallet) => [wallet.name, wallet]));
  const pairs = readPairs(entry.get("pairs"), known);
  const read: RuleTest[] = [];
  const names = new Map<string, number>();
  if (tests !== undefined && !tests.isList) tests.problem({ message: "tests must be a list of tests" });
  for (const one of tests?.isList === true ? tests.items() : []) {
    const test = readTest(one, { startMs, intervalMs, known });
    if (test === undefined) continue;
    const before = names.get(test.name);
    if (before !== undefined)
      one.get("name")?.problem({ message: `the test ${test.name} is there already, in line ${before}` });
    names.set(test.name, test.line);
    read.push(test);
  }
  if (tests?.isList === true && tests.items().length === 0) tests.problem({ message: "there is no test" });
  const overrides = entry.get("ruleOverrides");
  overrides?.mapping(null);
  return {
    file,
    rules: rules === undefined ? [{ name: defaultRuleFile ?? "", line: 1 }] : named,
    intervalMs,
    startMs,
    timezone,
    wallets: [...known.values()],
    pairs,
    overrides: (overrides?.value() ?? {}) as Readonly<Record<string, unknown>>,
    routing:
      readSection(entry.get("routing"), routingSettings) ??
      routingSettings.parse({ receivers: ["you"], incidentBy: "never" }),
    remind: readSection(entry.get("remind"), remindSettings) ?? remindSettings.parse({}),
    scheduleMs: readSchedules(entry.get("schedules")),
    tests: read,
  };
}

/** Parses a section of the configuration. */
function readSection<T>(entry: Entry | undefined, schema: z.ZodType<T>): T | undefined {
  if (entry === undefined) return undefined;
  const parsed = schema.safeParse(entry.value());
  if (parsed.success) return parsed.data;
  for (const { path, message } of parsed.error.issues) {
    let at = entry;
    for (const key of path) at = (typeof key === "number" ? at.items()[key] : at.get(String(key))) ?? at;
    at.problem({ message: `${[entry.name, ...path].join(".")}: ${message}` });
  }
  return undefined;
}

function readSchedules(entry: Entry | undefined): Suite["scheduleMs"] {
  if (entry === undefined || !entry.mapping(sources)) return {};
  return Object.fromEntries(
    entry.entries().flatMap((one) => {
      const ms = one.durationMs();
      return ms === undefined ? [] : [[one.name, ms]];
    }),
  );
}

function readTimezone(entry: Entry | undefined): string {
  const name = entry?.needText() ?? "UTC";
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone;
  } catch {
    const nearest = nearestName(name, Intl.supportedValuesOf("timeZone"));
    entry?.problem({ message: `${name} is no time zone`, allowed: ["UTC", "Europe/Berlin"], nearest });
    return "UTC";
  }
}

function readWallets(entry: Entry | undefined): WatchedWallet[] {
  if (entry === undefined || !entry.mapping(null)) return [];
  return entry.entries().map((one) => {
    const plain = one.value() === null;
    if (!plain) one.mapping(["labels", "limits", "watchOnly"]);
    const labels = one.get("labels");
    const limits = one.get("limits");
    labels?.mapping(null);
    limits?.mapping(null);
    return {
      ...testWallet(one.name),
      labels: Object.fromEntries(
        labels?.entries().map((label) => [label.name, label.needText() ?? ""]) ?? [],
      ),
      limits: limitsOf(
        Object.fromEntries(
          limits
            ?.entries()
            .map((limit) => [limit.name, limit.isMap ? numbers(limit) : (limit.number() ?? 0)]) ?? [],
        ),
      ),
      watchOnly: one.get("watchOnly")?.boolean() ?? false,
    };
  });
}

function numbers(entry: Entry): Readonly<Record<string, number>> {
  return Object.fromEntries(entry.entries().map((one) => [one.name, one.number() ?? 0]));
}

/** Adds the wallets that legs name. */
function readPairs(entry: Entry | undefined, known: Map<string, WatchedWallet>): WatchedPair[] {
  if (entry === undefined || !entry.mapping(null)) return [];
  return entry.entries().map((one) => {
    one.mapping(["legs", "tolerance"]);
    const legs = (one.need("legs")?.items() ?? []).flatMap((leg) => {
      const text = leg.needText();
      const parsed = text === undefined ? undefined : parseLeg(text);
      if (text !== undefined && parsed === undefined)
        leg.problem({ message: `${text} is no leg`, allowed: ["main/SOL", "main/0.1/SOL"] });
      if (parsed === undefined) return [];
      if (!known.has(parsed.wallet)) known.set(parsed.wallet, testWallet(parsed.wallet));
      return [parsed.text];
    });
    if (legs.length < 2) one.problem({ message: `the pair ${one.name} has fewer than two legs` });
    return { name: one.name, legs, tolerance: one.get("tolerance")?.number() ?? usualTolerance };
  });
}

function readTest(entry: Entry, context: SuiteContext): RuleTest | undefined {
  if (!entry.mapping(testKeys)) return undefined;
  const name = entry.need("name")?.needText();
  const expect = entry.get("expect");
  const nothing = entry.get("expectNothing");
  if (expect === undefined && nothing === undefined)
    entry.problem({
      message: "expect is missing: a test without it cannot fail",
      allowed: ["expect", "expectNothing"],
    });
  return {
    name: name ?? "",
    line: entry.line,
    series: readSeries(entry.get("series"), context),
    events: readEvents(entry.get("events"), context),
    failed: readFailed(entry.get("failed"), context),
    restarts: readRestarts(entry.get("restart")),
    acknowledged: (entry.get("acknowledge")?.items() ?? []).flatMap((one) => {
      if (!one.mapping(["at", "rule", "subject", "by"])) return [];
      const atMs = one.need("at")?.durationMs();
      const rule = one.need("rule")?.needText();
      if (atMs === undefined || rule === undefined) return [];
      const by = one.get("by")?.needText() ?? "somebody";
      return [{ atMs, rule, subject: one.get("subject")?.needText() ?? null, by, line: one.line }];
    }),
    expects: readExpectations(expect),
    nothing: nothing === undefined ? null : readNothing(nothing),
  };
}

function readRestarts(entry: Entry | undefined): RuleTest["restarts"] {
  return (entry?.items() ?? []).flatMap((one) => {
    if (!one.isMap) {
      const atMs = one.durationMs();
      return atMs === undefined ? [] : [{ atMs, downMs: 0 }];
    }
    one.mapping(["at", "for"]);
    const atMs = one.need("at")?.durationMs();
    return atMs === undefined ? [] : [{ atMs, downMs: one.get("for")?.durationMs() ?? 0 }];
  });
}

function readFailed(entry: Entry | undefined, context: SuiteContext): TestFailure[] {
  return (entry?.items() ?? []).flatMap((one) => {
    if (!one.mapping(["from", "to", "source", "wallet"])) return [];
    const fromMs = one.get("from")?.durationMs() ?? 0;
    const to = one.get("to");
    const toMs = to === undefined ? Number.POSITIVE_INFINITY : to.durationMs();
    const found = one.need("source")?.items() ?? [];
    const wallet = one.get("wallet")?.needText() ?? null;
    if (wallet !== null) addWallet(wallet, context);
    if (toMs === undefined) return [];
    if (toMs <= fromMs) to?.problem({ message: "to must be later than from" });
    return found.flatMap((name) => {
      const source = name.oneOf(sources);
      return source === undefined ? [] : [{ fromMs, toMs, source, wallet }];
    });
  });
}

function readSeries(entry: Entry | undefined, context: SuiteContext): TestSeries[] {
  if (entry === undefined || !entry.mapping(null)) return [];
  return entry.entries().flatMap((owned) => {
    const subject = parseSubject(owned.name);
    if (subject === undefined) {
      owned.nameProblem({
        message: `${owned.name} names nothing that can be watched`,
        allowed: [
          "main (a wallet)",
          "main/0.0 (an account)",
          "main/0.0/SOL (a position)",
          "market/SOL",
          "exchange",
          "daemon",
        ],
        nearest: nearestSubject(owned.name),
      });
      return [];
    }
    if ("wallet" in subject) addWallet(subject.wallet, context);
    if (!owned.mapping(null)) return [];
    return owned.entries().flatMap((one) => {
      const read = readField(one, owned.name, subject.scope);
      return read === undefined ? [] : [read];
    });
  });
}

/** Suggests `main/0.0/SOL` for `main/SOL`. */
function nearestSubject(name: string): string | null {
  const [wallet, symbol, ...rest] = name.split("/");
  return wallet && symbol && rest.length === 0 ? `${wallet}/0.0/${symbol}` : null;
}

function readField(entry: Entry, owner: string, scope: Scope): TestSeries | undefined {
  const [first, ...others] = entry.name.split(".");
  const prefixed = (scopes as readonly string[]).includes(first ?? "") && others.length > 0;
  const name = prefixed ? others.join(".") : entry.name;
  if (prefixed && first !== scope) {
    entry.nameProblem({ message: `${owner} is a ${scope}: it has no ${entry.name}` });
    return undefined;
  }
  const field = vocabulary[scope].find((one) => one.name === name);
  if (field === undefined) {
    const allowed = vocabulary[scope].map((one) => one.name);
    entry.nameProblem({ message: `${owner} has no ${name}`, allowed, nearest: nearestName(name, allowed) });
    return undefined;
  }
  const why = whyDerived(scope, name, field.derived !== undefined);
  if (why !== null) {
    entry.nameProblem({ message: `${scope}.${name} ${why}` });
    return undefined;
  }
  const steps = readSteps(entry, field);
  if (scope !== "position" && scope !== "trader" && steps?.some((step) => step.kind === "gone"))
    entry.problem({ message: `${owner} cannot be gone: positions and accounts can` });
  return steps === null ? undefined : { owner, scope, field, steps };
}

/** The reason why a test cannot set a field; null: it can. */
function whyDerived(scope: Scope, name: string, derived: boolean): string | null {
  if (scope === "book" || scope === "pair") return "follows from what the wallets hold";
  if (derived) return "follows from the times of the answers";
  if (scope === "trader" && name === "positions")
    return "follows from the positions that have series of their own";
  if (scope === "wallet" && (name === "labels" || name === "limits")) return `stands under wallets: ${name}`;
  return null;
}

function readSteps(entry: Entry, field: TestSeries["field"]): readonly Step[] | null {
  const composed =
    field.type === "orders" ||
    field.type === "capabilities" ||
    field.type === "texts" ||
    field.type === "numbers" ||
    field.type === "positions";
  if (entry.isList && !(composed && entry.items().every((one) => one.isMap))) {
    if (entry.items().length === 0) entry.problem({ message: `${entry.name} has no value` });
    const steps = entry.items().map((one) => readStep(one, field, composed));
    return steps.some((one) => one === null) ? null : (steps as Step[]);
  }
  if (composed) {
    const step = readStep(entry, field, composed);
    return step === null ? null : [step];
  }
  const text = entry.needText();
  if (text === undefined) return null;
  if (field.type === "text") return [{ kind: "value", value: text }];
  return parseSteps(text, field, ({ offset, ...problem }) => entry.problem(problem, offset));
}

/** One step of a list: a value, or `_`, `stale` or `gone`. */
function readStep(entry: Entry, field: TestSeries["field"], composed: boolean): Step | null {
  const { text } = entry;
  if (text === "_") return { kind: "failed" };
  if (text === "stale") return { kind: "silent" };
  if (text === "gone") return { kind: "gone" };
  if (field.type === "orders" && (entry.isList || entry.isMap)) {
    const orders = entry.items().map(readOrder);
    return { kind: "value", value: orders as never };
  }
  if (composed) {
    const value = entry.value();
    if (typeof value === "object" && value !== null) return { kind: "value", value: value as never };
    entry.problem({ message: `${entry.name} is a list of mappings or a mapping` });
    return null;
  }
  if (text === undefined) {
    entry.problem({ message: `a step of ${entry.name} must be a value` });
    return null;
  }
  const value = scalarOf(text, field);
  if (typeof value !== "object") return { kind: "value", value };
  entry.problem(value);
  return null;
}

/** An item of trader.orders. */
function readOrder(entry: Entry): Readonly<Record<string, unknown>> {
  entry.mapping(orderItemFields.map(({ name }) => name));
  const order: Record<string, unknown> = {};
  for (const one of entry.entries()) {
    const field = orderItemFields.find(({ name }) => name === one.name);
    const text = field && one.needText();
    if (field === undefined || text === undefined) continue;
    const value = scalarOf(text, field);
    if (typeof value === "object") one.problem(value);
    else order[field.name] = value;
  }
  return order;
}
