/**
 * Scenarios in which something was wrong once, each shrunk to the deeds and troubles that it takes (`npm run truth -- --seeds N --shrink`)
 * and named for the defect. A new one needs no more than its file in `regressions/`.
 */
import fs from "node:fs";
import { expect, test } from "vitest";
import { violations } from "./invariants.ts";
import { lineOf } from "./oracle/finding.ts";
import { judge } from "./oracle/judge.ts";
import { type Plan, runScenario } from "./scenario.ts";

const folder = new URL("regressions/", import.meta.url);

test.each(fs.readdirSync(folder))("%s: nothing is wrong", async (name) => {
  const plan = JSON.parse(fs.readFileSync(new URL(name, folder), "utf8")) as Plan;
  const outcome = await runScenario(plan);
  expect([...violations(outcome), ...judge(outcome).findings.map(lineOf)]).toEqual([]);
});
