/** docs/library.md holds the examples as they are, and names everything that an entry of the package exports. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { entries, example, sectionOf } from "../exports/library-page.ts";

const root = path.join(import.meta.dirname, "..", "..");
const read = (file: string) => readFileSync(path.join(root, file), "utf8");

/** The names that a source file exports, types among them. */
function exportedBy(file: string): readonly string[] {
  const text = read(file);
  const declared = [...text.matchAll(/^export (?:async )?(?:function|const|class|interface|type) (\w+)/gm)];
  const listed = [...text.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].flatMap(([, names]) =>
    names!.split(",").flatMap((one) => /(\w+)\s*$/.exec(one.trim())?.[1] ?? []),
  );
  return [...declared.map(([, name]) => name!), ...listed];
}

test("the entries are those of package.json", () => {
  const { exports } = JSON.parse(read("package.json")) as { exports: Record<string, unknown> };
  expect(Object.keys(exports)).toEqual([...entries.map((name) => `./${name}`), "./package.json"]);
});

describe.each(entries)("perpwatch/%s", (entry) => {
  test("has its example in the page, word by word", () => {
    expect(sectionOf(entry).code).toBe(read(example(entry)));
  });

  test("has all of its names in the page's tables", () => {
    const rows = sectionOf(entry)
      .text.split("\n")
      .filter((line) => line.startsWith("| "))
      .join("\n");
    const names = exportedBy(`src/exports/${entry}.ts`);
    expect(names.length).toBeGreaterThan(5);
    expect(names.filter((name) => !new RegExp(`\`${name}\\b`).test(rows))).toEqual([]);
  });
});
