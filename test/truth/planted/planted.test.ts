/** Planted defects fit the sources as they are: a change of one of their places has to be followed in the list. */
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { defects } from "./defects.ts";
import { plant } from "./run.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));

function copyOf(files: readonly string[]): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "perpwatch-planted-"));
  onTestFinished(() => fs.rmSync(folder, { recursive: true }));
  for (const file of files) {
    fs.mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
    fs.copyFileSync(path.join(root, file), path.join(folder, file));
  }
  return folder;
}

test.each(defects.map((defect) => [defect.name, defect] as const))("%s", (_, defect) => {
  const files = defect.changes.map(({ file }) => file);
  const folder = copyOf(files);
  plant(defect, folder);
  for (const file of files) {
    const read = (of: string): string => fs.readFileSync(path.join(of, file), "utf8");
    expect(read(folder)).not.toBe(read(root));
  }
});

test("each has a name of its own", () => {
  const names = defects.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
});

test("a text that is not there exactly once is refused", () => {
  const folder = copyOf(["src/domain/clock.ts"]);
  const change = { file: "src/domain/clock.ts", from: "not in this file", to: "" };
  expect(() => plant({ name: "none", changes: [change] }, folder)).toThrow(
    '0 places in src/domain/clock.ts read "not in',
  );
  expect(() => plant({ name: "many", changes: [{ ...change, from: "e" }] }, folder)).toThrow("places in");
});
