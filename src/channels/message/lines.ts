/** The parts of a rendered message as lines, before a channel's markup. Pure. */
import type { Block, Rendering, Section } from "./rendering.ts";
import { shorten } from "./text.ts";

/** The lead (such as `FIRING critical`). Empty if the title contains it. */
export function shownLead({ lead, own }: Block): string {
  return own?.bare ? "" : lead;
}

/** The parts below the title. For an ended alert its ending comes first. */
export function shownParts({
  description,
  figures,
  fresh,
  now,
  isOver,
  own,
}: Block): Pick<Block, "description" | "figures" | "fresh" | "now"> {
  if (own?.body !== undefined) return { description, figures: [], fresh: [], now: [] };
  if (isOver && now.length > 0) return { description: now.join("\n"), figures, fresh, now: [] };
  return { description, figures, fresh, now };
}

/** Returns the text with the block's lead in front, unless the title contains it. */
export function ledBy(block: Block, text: string): string {
  const lead = shownLead(block);
  return lead === "" ? text : `${lead}: ${text}`;
}

/**
 * The whole message as lines of plain text, for mails, terminals, and channels that refused the formatted message. The
 * first line is the headline; an empty string separates blocks.
 * @param inFull number of blocks shown in full, from the first; the others have one line each
 */
export function plainLines(rendering: Rendering, inFull = rendering.inFull): string[] {
  const lines = [rendering.headline, ...rendering.notes];
  for (const block of rendering.blocks.slice(0, inFull)) {
    lines.push("", ...blockLines(block, rendering));
  }
  const others = rendering.blocks.slice(inFull);
  if (others.length > 0) lines.push("", ...others.map((block) => lineOf(block)));
  if (rendering.sections.length > 0) lines.push("", ...sectionLines(rendering.sections));
  if (rendering.standing.length > 0) lines.push("", ...rendering.standing);
  lines.push("", rendering.footer);
  return lines;
}

/** Name of the attached file that lists every alert of a message. */
export const listName = "alerts.txt";

/** Maximum length of an alert's line, characters. */
export const maxLine = 200;

/** A block in one line. @param maxLength characters */
export function lineOf(block: Block, maxLength = maxLine): string {
  return shorten(headOf(block), maxLength);
}

/** Joins lines into as few texts of at most `maxLength` characters as possible. A longer line is cut. */
export function packLines(lines: readonly string[], maxLength: number): string[] {
  const texts: string[] = [];
  for (const line of lines) {
    const last = texts.at(-1);
    if (last !== undefined && last.length + 1 + line.length <= maxLength)
      texts[texts.length - 1] = `${last}\n${line}`;
    else texts.push(shorten(line, maxLength));
  }
  return texts;
}

/** The lines of one block, without what the headline contains. */
export function blockLines(block: Block, rendering: Pick<Rendering, "headline" | "blocks">): string[] {
  const lines = titleLines(block, rendering);
  const { description, figures, fresh, now } = shownParts(block);
  if (description !== "") lines.push(...description.split("\n"));
  lines.push(...figureLines(figures), ...fresh, ...now);
  if (block.runbook !== null) lines.push(`What to do: ${block.runbook}`);
  if (rendering.blocks.length === 1) lines.push(numberLine(block));
  return lines;
}

/** `Alert #17, rule LiquidationNear`, for a message about one alert. */
export function numberLine({ alertId, rule }: Block): string {
  return `Alert #${alertId}, rule ${rule}`;
}

/** Three figures per line. */
export function figureLines(figures: Block["figures"]): string[] {
  const named = figures.map(([name, value]) => `${name}: ${value}`);
  const lines: string[] = [];
  for (let index = 0; index < named.length; index += 3) lines.push(named.slice(index, index + 3).join(" · "));
  return lines;
}

/** The title lines of a block, unless the headline contains them. */
export function titleLines(block: Block, rendering: Pick<Rendering, "headline" | "blocks">): string[] {
  if (rendering.blocks.length > 1) return [headOf(block)];
  return rendering.headline.includes(block.what) ? [] : [block.what];
}

/** `FIRING critical #17: what`. */
export function headOf(block: Block): string {
  return `${shownLead(block)} #${block.alertId}: ${block.what}`.trim();
}

/** The tables of a digest as lines, for channels that support text only. */
export function sectionLines(sections: readonly Section[]): string[] {
  return sections.flatMap(({ title, rows }, index) => [
    ...(index > 0 ? [""] : []),
    title,
    ...rows.map(([name, value]) => (value === "" ? name : `${name}: ${value}`)),
  ]);
}
