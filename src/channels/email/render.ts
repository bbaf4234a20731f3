/**
 * A rendered message as a mail: a subject, a text, and HTML that needs nothing from anywhere. Pure.
 *
 * Both parts tell the same. What would grow beyond what mail programs show whole (about 100 KB, then they cut) is told in
 * one line an alert, in both.
 */
import { plainLines } from "../lines.ts";
import type { Rendering } from "../rendering.ts";
import { shorten } from "../text.ts";
import { alertSize, document, lineSize, type MailChart } from "./html.ts";

export interface MailParts {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

/** Phones show about 40 characters of a subject; what is cut stands in the text. */
const maxSubject = 150;
/** HTML of all alerts, characters. */
const maxHtml = 85_000;

/** @param chart a picture that goes with the mail, which only the HTML shows */
export function mailParts(rendering: Rendering, chart: MailChart | null = null): MailParts {
  const [only] = rendering.blocks;
  const id = only !== undefined && rendering.blocks.length === 1 ? ` (#${only.alertId})` : "";
  const kept = { ...rendering, inFull: fitting(rendering) };
  return {
    subject: shorten(subjectOf(rendering), maxSubject - id.length) + id,
    text: `${plainLines(kept).join("\n")}\n`,
    html: document(kept, chart),
  };
}

/** In a list of mails no colour tells that something critical is left. */
function subjectOf({ headline, tone }: Rendering): string {
  return tone === "over" ? headline.replace(/^RESOLVED: /, "RESOLVED, others still critical: ") : headline;
}

/** The number of blocks, from the first on, that fit in full beside a line for each of the others. */
function fitting({ blocks, inFull }: Rendering): number {
  if (blocks.length < 2) return blocks.length;
  let size = blocks.reduce((sum, block) => sum + lineSize(block), 0);
  for (const [index, block] of blocks.slice(0, inFull).entries()) {
    size += alertSize(block) - lineSize(block);
    if (size > maxHtml) return index;
  }
  return inFull;
}
