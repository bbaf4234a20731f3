/** Renders messages as Pushover's plain text: a title of 250 characters and a text of 1,024. Pure. */
import { blockLines, lineOf, sectionLines } from "../lines.ts";
import type { Rendering } from "../rendering.ts";
import { shorten } from "../text.ts";

const maxTitle = 250;
const maxText = 1_024;
const maxNotes = 150;
/** Length of a line that each alert of the largest message has room for. */
const leastLine = 90;

export function titleOf({ headline }: Rendering): string {
  return shorten(headline, maxTitle);
}

/** As many alerts in full as fit beside a line for each of the others. The footer, by whose id the message is found, always fits. */
export function textOf(rendering: Rendering): string {
  const { blocks, notes, footer } = rendering;
  const room = maxText - footer.length - 2;
  for (let inFull = rendering.inFull; blocks.length > 1 && inFull >= 0; inFull--) {
    const text = textWith(rendering, inFull, 200);
    if (text.length <= room) return `${text}\n\n${footer}`;
  }
  const short = { ...rendering, notes: [shorten(notes.join("\n"), maxNotes)].filter((note) => note !== "") };
  const text =
    blocks.length > 1 ? textWith(short, 0, leastLine) : textWith(rendering, blocks.length, leastLine);
  return `${shorten(text, room)}\n\n${footer}`;
}

/** @param most characters of a line */
function textWith(rendering: Rendering, inFull: number, most: number): string {
  const { blocks, notes, sections, standing } = rendering;
  const full = blocks.slice(0, inFull).map((block) => blockLines({ ...block, runbook: null }, rendering));
  const lines = blocks.slice(inFull).map((block) => lineOf(block, most));
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
