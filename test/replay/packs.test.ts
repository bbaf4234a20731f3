/** The tests of the shipped packs pass, cover each rule, and contain a no-data case for each pack. */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { runTestFiles } from "../../src/cli/commands/rules/test.ts";

const folder = path.join(import.meta.dirname, "..", "..", "rules");
const packs = readdirSync(folder)
  .filter((name) => name.endsWith(".yaml") && !name.endsWith(".test.yaml"))
  .map((name) => name.slice(0, -".yaml".length));
const read = (name: string) => readFileSync(path.join(folder, name), "utf8");

describe.each(packs)("%s", (pack) => {
  const text = read(`${pack}.test.yaml`);

  test("passes its tests", async () => {
    const [ran] = await runTestFiles([path.join(folder, `${pack}.test.yaml`)], "");
    expect(ran!.outcomes.length).toBeGreaterThan(1);
    for (const { test, failures } of ran!.outcomes) expect(failures, test.name).toEqual([]);
  });

  test("each of its rules is looked at", () => {
    const rules = [...read(`${pack}.yaml`).matchAll(/^ {2}- name: (\w+)/gm)].map(([, name]) => name!);
    expect(rules.filter((name) => !new RegExp(`rule: ${name}\\b`).test(text))).toEqual([]);
  });

  test("it has a test without data", () => {
    expect(text).toMatch(/"[^"\n]*_(x\d+)?[^"\n]*"|: nan\b|failed:/);
  });
});
