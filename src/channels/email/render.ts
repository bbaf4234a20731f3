/**
 * Renders a message as a mail: subject, text, and HTML without external resources. Pure.
 *
 * Text and HTML have the same content. If the mail would exceed the size that mail programs show completely (about 100
 * KB), the excess alerts have one line each, in both parts.
 */
import { plainLines } from "../message/lines.ts";
import type { Rendering } from "../message/rendering.ts";
import { shorten } from "../message/text.ts";
import { alertSize, document, lineSize, type MailChart } from "./html.ts";

export interface MailParts {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

/** Phones show about 40 characters of a subject. A cut subject is complete in the text. */
const maxSubject = 150;
/** Maximum HTML of all alerts, characters. */
const maxHtml = 85_000;

/** @param chart shown in the HTML only */
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

/** The subject states that something critical still fires, since a list of mails shows no colour. */
function subjectOf({ headline, tone }: Rendering): string {
  return tone === "over" ? headline.replace(/^RESOLVED: /, "RESOLVED, others still critical: ") : headline;
}

/** Number of blocks, from the first, that fit in full beside one line for each of the others. */
function fitting({ blocks, inFull }: Rendering): number {
  if (blocks.length < 2) return blocks.length;
  let size = blocks.reduce((sum, block) => sum + lineSize(block), 0);
  for (const [index, block] of blocks.slice(0, inFull).entries()) {
    size += alertSize(block) - lineSize(block);
    if (size > maxHtml) return index;
  }
  return inFull;
}
