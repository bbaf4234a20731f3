import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const read = (name: string) => readFileSync(new URL(`../../${name}`, import.meta.url), "utf8");

test("the end-to-end test in CONTRIBUTING.md is one that runs", () => {
  expect(read("CONTRIBUTING.md")).toContain(`\`\`\`ts\n${read("test/end-to-end/example.test.ts")}\`\`\``);
});
