/** Renders messages as Pushover's plain text: a title of 250 characters and a text of 1,024. Pure. */
import { blockLines, lineOf, sectionLines } from "../message/lines.ts";
import type { Rendering } from "../message/rendering.ts";
import { shorten } from "../message/text.ts";

const maxTitle = 250;
const maxText = 1_024;
const maxNotes = 150;
/** Line length that each alert of the largest message has room for. */
const minLine = 90;

export function titleOf({ headline }: Rendering): string {
  return shorten(headline, maxTitle);
}

/**
 * Shows as many alerts in full as fit beside one line for each of the others. The footer, which holds the message's id,
 * always fits.
 */
export function textOf(rendering: Rendering): string {
  const { blocks, notes, footer } = rendering;
  const room = maxText - footer.length - 2;
  for (let inFull = rendering.inFull; blocks.length > 1 && inFull >= 0; inFull--) {
    const text = textWith(rendering, inFull, 200);
    if (text.length <= room) return `${text}\n\n${footer}`;
  }
  const short = { ...rendering, notes: [shorten(notes.join("\n"), maxNotes)].filter((note) => note !== "") };
  const text = blocks.length > 1 ? textWith(short, 0, minLine) : textWith(rendering, blocks.length, minLine);
  return `${shorten(text, room)}\n\n${footer}`;
}

/** @param max characters per line */
function textWith(rendering: Rendering, inFull: number, max: number): string {
  const { blocks, notes, sections, standing } = rendering;
  const full = blocks.slice(0, inFull).map((block) => blockLines({ ...block, runbook: null }, rendering));
  const lines = blocks.slice(inFull).map((block) => lineOf(block, max));
  return [
    notes.join("\n"),
    ...full.map((block) => block.join("\n")),
    lines.join("\n"),
    sectionLines(sections).join("\n"),
    standing.join("\n"),
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}
