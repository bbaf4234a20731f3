/** Every example in docs/rule-tests.md is a file of rule tests that can be read. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { readSuite } from "../../src/replay/suite/read.ts";
import { formatProblem } from "../../src/rules/index.ts";

const page = readFileSync(path.join(import.meta.dirname, "..", "..", "docs", "rule-tests.md"), "utf8");
const examples = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].map((match) => match[1]!);

test("there are examples", () => expect(examples.length).toBeGreaterThan(2));

test.each(examples.map((text, index) => [index + 1, text] as const))("example %i is read", (_, text) => {
  const read = readSuite("mine.test.yaml", text);
  expect("problems" in read ? read.problems.map(formatProblem) : []).toEqual([]);
});
