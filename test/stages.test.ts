/** Every test file runs in exactly one stage, and every stage has the script by which .ci/run finds it. */
import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { stages } from "../vitest.config.ts";

const root = path.join(import.meta.dirname, "..");
const { scripts } = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8")) as {
  readonly scripts: Readonly<Record<string, string>>;
};

/** Names of the projects that a script runs. */
function projectsOf(script: string): readonly string[] {
  return [...script.matchAll(/--project (\S+)/g)].map(([, name]) => name!);
}

test("each stage has a script of its name, and each script of tests a stage", () => {
  const testScripts = Object.entries(scripts).filter(([name]) => /^test(:|$)/.test(name));
  const found = Object.fromEntries(testScripts.map(([name, script]) => [name, projectsOf(script)]));
  expect(found).toEqual({
    test: ["main"],
    ...Object.fromEntries(Object.keys(stages).map((name) => [`test:${name}`, [name]])),
  });
});

test("each pattern matches a file", () => {
  const patterns = Object.values(stages).flat();
  expect(patterns.filter((pattern) => globSync(pattern, { cwd: root }).length === 0)).toEqual([]);
});

test("no file is in two stages", () => {
  const staged = Object.values(stages).flatMap((patterns) => globSync([...patterns], { cwd: root }));
  expect(staged).toEqual([...new Set(staged)]);
});
