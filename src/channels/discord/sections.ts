/** The tables of a digest as embed fields, one field per table, each with its share of the characters. */
import { sectionLines } from "../message/lines.ts";
import type { Section } from "../message/rendering.ts";
import { forDiscord } from "../message/text.ts";

/** Characters for tables, of an embed's 6,000. */
const room = 5_000;
const maxField = 1_000;

export function sectionFields(
  sections: readonly Section[],
): { readonly name: string; readonly value: string }[] {
  const share = Math.min(maxField, Math.floor(room / Math.max(1, sections.length)) - 100);
  return sections.slice(0, 20).map((section) => ({
    name: forDiscord(section.title, 100) || "–",
    value: forDiscord(sectionLines([section]).slice(1).join("\n"), share) || "–",
  }));
}
