/** docs/library.md by its sections: one an entry of the package, with its example and what that prints. */
import { readFileSync } from "node:fs";
import path from "node:path";

const root = path.join(import.meta.dirname, "..", "..");

/** The entries of package.json's `exports`, by the last part of their names. */
export const entries = ["client", "margin", "rules", "simulator"] as const;
export type Entry = (typeof entries)[number];

/** The path of an entry's example, from the root. */
export const example = (entry: Entry): string => `docs/examples/${entry}.ts`;

export interface Section {
  readonly text: string;
  /** The code of its example, and what that prints; empty: there is none. */
  readonly code: string;
  readonly output: string;
}

export function sectionOf(entry: Entry): Section {
  const page = readFileSync(path.join(root, "docs", "library.md"), "utf8");
  const text = page.split(`\n## perpwatch/${entry}\n`)[1]?.split("\n## ")[0] ?? "";
  const block = (language: string) => text.split(`\n\`\`\`${language}\n`)[1]?.split("\n```")[0];
  const withEnd = (lines: string | undefined) => (lines === undefined ? "" : `${lines}\n`);
  return { text, code: withEnd(block("ts")), output: withEnd(block("text")) };
}
