/** docs/rules.md is made from the vocabulary, says what that says now, and every example in it loads as it stands. */
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { rulesMarkdown } from "../../src/cli/commands/rules/reference.ts";
import { builtInRules } from "../../src/domain/alerts/built-in.ts";
import { type Source, sources } from "../../src/domain/sources.ts";
import { historyNames } from "../../src/rules/expression/history/history.ts";
import { functionNames, methodNames } from "../../src/rules/expression/nodes/functions.ts";
import {
  eventKinds,
  eventVocabulary,
  formatProblem,
  functionRows,
  loadRules,
  scopes,
  vocabulary,
} from "../../src/rules/index.ts";

const read = (name: string) => readFileSync(new URL(`../../${name}`, import.meta.url), "utf8");
const written = read("docs/rules.md");
const blocks = (page: string) => [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text]) => text!);

test("the reference is current (npm run docs writes it anew)", () => {
  expect(written).toBe(rulesMarkdown());
});

test("it tells every field and every function", () => {
  const section = (title: string) => written.split(`\n### ${title}\n`)[1]?.split("\n### ")[0] ?? "";
  for (const scope of scopes)
    for (const { name } of vocabulary[scope]) expect(section(scope)).toContain(`| \`${name}\` |`);
  for (const kind of eventKinds)
    for (const { name } of eventVocabulary[kind]) expect(section(`on ${kind}`)).toContain(`| \`${name}\` |`);
  const told = functionRows.map(({ name }) => name);
  expect([...new Set(told)].sort()).toEqual(
    [...new Set([...functionNames, ...methodNames, ...historyNames, "has", "market"])].sort(),
  );
});

const load = (text: string) =>
  loadRules({
    files: [{ name: "example.yaml", text }],
    overrides: {},
    scheduleMs: Object.fromEntries(sources.map((source) => [source, 5_000])) as Record<Source, number>,
    wallets: [
      { name: "main", labels: { desk: "alpha" }, watchOnly: false, limits: { maxInventory: 1 } },
      { name: "hedge", labels: { desk: "beta" }, watchOnly: false, limits: { maxInventory: 1 } },
    ],
    timezone: "UTC",
  });

describe("examples load as they are, without a warning", () => {
  const files = blocks(written);
  test("there are some for everything", () => expect(files.length).toBeGreaterThan(8));
  test.each(files.map((text) => [/name: (\w+)/.exec(text)![1], text]))("%s", (_, text) => {
    const loaded = load(text!);
    if ("problems" in loaded) throw new Error(loaded.problems.map(formatProblem).join("\n"));
    expect(loaded.warnings).toEqual([]);
    expect(loaded.ruleSet.conditions.length + loaded.ruleSet.events.length).toBeGreaterThan(0);
  });
});

describe("every form in the table of functions compiles", () => {
  test.each(functionRows.map(({ form }) => [form]))("%s", (form) => {
    const onEvent = /\bevent\./.test(form);
    const printed =
      /\.(filter|map)\(/.test(form) && !/^(min|max|sum|size)\(/.test(form) ? `size(${form})` : form;
    const isTime = form.startsWith("timestamp");
    const text = `rules:\n  - { name: R, ${onEvent ? "on: notification" : "scope: position"}, severity: info, ${
      onEvent ? "" : "when: true, "
    }summary: ${JSON.stringify(`{{ ${isTime ? `${printed} < now` : printed} }}`)} }`;
    const loaded = load(text);
    if ("problems" in loaded) throw new Error(loaded.problems.map(formatProblem).join("\n"));
  });
});

describe("names of rules", () => {
  const shipped = readdirSync(new URL("../../rules/", import.meta.url))
    .filter((name) => /^[a-z-]+\.yaml$/.test(name))
    .flatMap((name) => [...read(`rules/${name}`).matchAll(/^ {2}- name: (\w+)/gm)].map(([, rule]) => rule!));

  test("no example has the name of a rule that ships: it is copied beside the packs", () => {
    const pages = [written, read("README.md"), read("docs/rule-tests.md")].flatMap(blocks);
    const own = pages.flatMap((text) =>
      [...text.matchAll(/^ *(?:- |rules: \[\{ )name: (\w+)/gm)].map(([, name]) => name!),
    );
    expect(own).toContain("NearLiquidation");
    expect(own.filter((name) => shipped.includes(name))).toEqual([]);
  });

  test("what README and help pages type as rule=NAME is there", () => {
    const texts = [
      "README.md",
      "src/cli/commands/silence.ts",
      "src/cli/commands/routing.ts",
      "src/cli/commands/alerts.ts",
    ].map(read);
    const named = texts.flatMap((text) => [...text.matchAll(/\brule=(\w+)/g)].map(([, name]) => name!));
    expect(named.length).toBeGreaterThan(2);
    expect(named.filter((name) => ![...shipped, ...builtInRules].includes(name))).toEqual([]);
  });
});

test("README's rules load too", () => {
  const rules = blocks(read("README.md").split("\n## Rules\n")[1]!.split("\n## ")[0]!).filter((text) =>
    /^(rules|values):\n/m.test(text),
  );
  expect(rules.length).toBeGreaterThan(0);
  for (const text of rules) {
    const loaded = load(text);
    if ("problems" in loaded) throw new Error(loaded.problems.map(formatProblem).join("\n"));
    expect(loaded.warnings).toEqual([]);
  }
});
