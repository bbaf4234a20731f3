/** docs/api.md is made from the table of endpoints, and says what the table says now. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { referenceMarkdown } from "../../src/cli/commands/api/describe.ts";
import { allEndpoints } from "../../src/contract/index.ts";

const written = readFileSync(new URL("../../docs/api.md", import.meta.url), "utf8");

test("the reference is current (npm run docs writes it anew)", () => {
  expect(written).toBe(referenceMarkdown());
});

test("it covers each endpoint, with its path and every parameter", () => {
  for (const { name, method, path, params } of allEndpoints) {
    const section = written.split(`\n### ${name}\n`)[1]?.split("\n### ")[0] ?? "";
    expect(section, name).toContain(`\`${method} ${path}\``);
    for (const param of Object.keys(params)) expect(section, name).toContain(`| \`${param}\``);
  }
});
