/**
 * Loads all rule files into one rule set, or reports every mistake in them. A rule set is complete or not loaded at all, so that a
 * running one is never replaced by a part of another.
 */
import { isMap, isSeq, type Node, type YAMLMap } from "yaml";
import { noValues } from "../expression/named.ts";
import { nearestName, type RuleProblem } from "../problem.ts";
import type { ConditionRule, EventRule } from "../rule.ts";
import type { LoadContext } from "./common.ts";
import { conditionKeys, readCondition } from "./condition.ts";
import { eventKeys, readEvent } from "./event.ts";
import type { Loaded, LoadInput } from "./input.ts";
import { mappingOf, Reader } from "./reader.ts";
import { problemAt, RuleSource, scalarText } from "./source.ts";
import { ValueBook } from "./values.ts";

/** The keys of an override besides a rule's own keys. Renaming is not possible. */
const overrideOnly = ["enabled"];
const notOverridden = ["name", "scope", "on"];
const maxRules = 1_000;

export function loadRules(input: LoadInput): Loaded {
  const problems: RuleProblem[] = [];
  const warnings: RuleProblem[] = [];
  const bare = {
    input,
    problem: (problem: RuleProblem) => problems.push(problem),
    warn: (problem: RuleProblem) => warnings.push(problem),
  };
  const values = new ValueBook({ ...bare, values: noValues });
  const context: LoadContext = { ...bare, values };
  const conditions: ConditionRule[] = [];
  const events: EventRule[] = [];
  const seen = new Map<string, string>();

  const read = input.files.map((file) => rulesOf(file.name, file.text, context, values));
  let hasAllNames = !read.includes(null);
  for (const { source, node } of read.flatMap((rules) => rules ?? [])) {
    const at = source.place(node.range?.[0] ?? 0);
    if (!isMap(node)) {
      hasAllNames = false;
      context.problem(
        problemAt(at, { message: "a rule is a mapping: name, scope or on, when, severity, summary" }),
      );
      continue;
    }
    const map = node as YAMLMap;
    const name = scalarText(map.get("name", true)) ?? "";
    if (name === "") hasAllNames = false;
    const before = seen.get(name);
    if (name !== "" && before !== undefined)
      context.problem(problemAt(at, { message: `the rule ${name} is there already, at ${before}` }));
    // An override applies to the first of two rules of one name; applied to the second, it would only cause further mistakes.
    const isSecond = name !== "" && before !== undefined;
    if (!isSecond) seen.set(name, `${at.file}:${at.line}`);
    if (seen.size > maxRules) {
      context.problem(problemAt(at, { message: `more than ${maxRules} rules` }));
      break;
    }
    const over = isSecond ? null : overrideOf(name, map.has("on") && !map.has("scope"), context);
    if (over === "off") continue;
    const reader = new Reader(source, map, over, `ruleOverrides.${name}`, context.problem);
    const problemsBefore = problems.length;
    if (map.has("scope") === map.has("on")) {
      context.problem(
        problemAt(at, {
          message: map.has("on")
            ? "a rule has a scope or an on, not both"
            : "a rule needs a scope (a condition) or an on (an event)",
        }),
      );
    } else if (map.has("on")) {
      const rule = readEvent(reader, context);
      if (rule !== undefined && problems.length === problemsBefore) events.push(rule);
    } else {
      const rule = readCondition(reader, context);
      if (rule !== undefined && problems.length === problemsBefore) conditions.push(rule);
    }
  }
  for (const name of Object.keys(input.overrides)) {
    if (seen.has(name)) continue;
    const message = `no rule is called ${name}`;
    context.problem({
      ...overridePlace(name),
      message,
      allowed: [],
      nearest: nearestName(name, seen.keys()),
    });
  }
  const named = values.finish();
  if (problems.length > 0)
    return {
      problems: inOrder(
        problems,
        input.files.map((file) => file.name),
      ),
      names: [...seen.keys()],
      hasAllNames,
    };
  for (const rule of [...conditions, ...events]) warnOfWatchOnly(rule, context);
  return { ruleSet: { values: named, conditions, events }, warnings };
}

/** Sorts mistakes in the order of the files, overrides last, and removes duplicates. */
function inOrder(problems: readonly RuleProblem[], files: readonly string[]): RuleProblem[] {
  const seen = new Set<string>();
  const rank = (problem: RuleProblem) => (problem.line === 0 ? files.length : files.indexOf(problem.file));
  return problems
    .filter(({ file, line, column, message }) => {
      const key = `${file}:${line}:${column}:${message}`;
      return !seen.has(key) && seen.add(key);
    })
    .sort((a, b) => rank(a) - rank(b) || a.line - b.line || a.column - b.column);
}

/** Matches anywhere in the text, at the beginning of a line. */
const ruleFileBegins = /^[\s{]*["']?(?:rules|values)["']?\s*:/m;

/** @returns null for a file without a list of rules or values, which is reported */
function rulesOf(
  name: string,
  text: string,
  context: LoadContext,
  values: ValueBook,
): { source: RuleSource; node: Node }[] | null {
  const example = { message: "a rule file begins with rules: and a list of rules" };
  // The content of a key file or a system file that is named by mistake is not quoted.
  if (!ruleFileBegins.test(text)) {
    context.problem(problemAt({ file: name, line: 1, column: 1, source: "" }, example));
    return null;
  }
  const source = new RuleSource(name, text);
  const root = source.parse(context.problem);
  if (root === undefined) return null;
  if (!isMap(root)) {
    context.problem(problemAt(source.place(root?.range?.[0] ?? 0), example));
    return null;
  }
  const reader = new Reader(source, root as YAMLMap, null, name, context.problem);
  reader.allow(["rules", "values"]);
  const named = (root as YAMLMap).get("values", true) as Node | undefined;
  if (isSeq(named)) for (const node of named.items) values.add(source, node as Node);
  else if (reader.has("values"))
    context.problem(
      problemAt(reader.place("values"), { message: "values: is a list of named values: name, scope, value" }),
    );
  const rules = (root as YAMLMap).get("rules", true) as Node | undefined;
  if (rules === undefined && isSeq(named)) return [];
  if (!isSeq(rules)) {
    context.problem(problemAt(reader.place("rules"), example));
    return null;
  }
  return rules.items.map((node) => ({ source, node: node as Node }));
}

function overrideOf(name: string, isEvent: boolean, context: LoadContext): YAMLMap | null | "off" {
  if (!Object.hasOwn(context.input.overrides, name)) return null;
  const map = mappingOf(context.input.overrides[name]);
  const allowed = (isEvent ? eventKeys : conditionKeys).filter((key) => !notOverridden.includes(key));
  if (map === undefined) {
    context.problem({ ...overridePlace(name), message: "an override is a mapping", allowed, nearest: null });
    return null;
  }
  const enabled = map.get("enabled");
  map.delete("enabled");
  for (const pair of [...map.items]) {
    const key = scalarText(pair.key) ?? "";
    if (allowed.includes(key)) continue;
    context.problem({
      ...overridePlace(`${name}.${key}`),
      message: `unknown key ${key}`,
      allowed: [...allowed, ...overrideOnly],
      nearest: nearestName(key, allowed),
    });
    map.delete(key);
  }
  if (enabled !== undefined && typeof enabled !== "boolean")
    context.problem({
      ...overridePlace(`${name}.enabled`),
      message: "enabled is true or false",
      allowed: [],
      nearest: null,
    });
  return enabled === false ? "off" : map;
}

function overridePlace(path: string) {
  return { file: `ruleOverrides.${path}`, line: 0, column: 0, source: "" };
}

/** Warns that a rule on notifications does not work for a wallet without a session. */
function warnOfWatchOnly(rule: ConditionRule | EventRule, context: LoadContext): void {
  if (!rule.needsSession) return;
  const { wallet, labels } = rule.select;
  const deaf = context.input.wallets.filter(
    (candidate) =>
      candidate.watchOnly &&
      (wallet === null || wallet.includes(candidate.name)) &&
      Object.entries(labels).every(([key, values]) => values.includes(candidate.labels[key] ?? "")),
  );
  if (deaf.length === 0) return;
  const names = deaf.map((candidate) => candidate.name);
  context.warn({
    file: rule.file,
    line: rule.line,
    column: 1,
    source: "",
    message: `${rule.name} cannot apply to ${names.join(", ")}: without a session there are no notifications`,
    allowed: [],
    nearest: null,
    silent: { rule: rule.name, wallets: names },
  });
}
