/** Every example in docs/rule-tests.md is a file of rule tests that can be read, and its first one holds for README's rule. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { readSuite } from "../../src/replay/suite/read.ts";
import { formatProblem } from "../../src/rules/index.ts";
import { desk, run } from "../cli/run.ts";

const page = readFileSync(path.join(import.meta.dirname, "..", "..", "docs", "rule-tests.md"), "utf8");
const examples = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].map((match) => match[1]!);

test("there are examples", () => expect(examples.length).toBeGreaterThan(2));

test.each(examples.map((text, index) => [index + 1, text] as const))("example %i is read", (_, text) => {
  const read = readSuite("mine.test.yaml", text);
  expect("problems" in read ? read.problems.map(formatProblem) : []).toEqual([]);
});

test("the first example holds for README's rule, and fails with the words that are shown", async () => {
  using at = desk();
  const readme = readFileSync(path.join(import.meta.dirname, "..", "..", "README.md"), "utf8");
  const rule = /^( *)# my-rules\/margin-mine\.yaml\n([\s\S]*?)^ *```/m.exec(readme)!;
  const text = rule[2]!.replaceAll(new RegExp(`^${rule[1]}`, "gm"), "");
  at.write("margin-mine.test.yaml", examples[0]!);
  at.write("margin-mine.yaml", text);
  const test = () => run(["rules", "test", "margin-mine.test.yaml"], at);
  expect(await test()).toMatchObject({
    status: 0,
    stdout: "ok     margin-mine.test.yaml: 2 tests\n2 tests in 1 file: all passed.\n",
  });
  at.write("margin-mine.yaml", text.replace("> 0.75", "> 0.9"));
  expect((await test()).stdout).toBe(/```text\n(FAILED[\s\S]*?)```/.exec(page)![1]);
});
