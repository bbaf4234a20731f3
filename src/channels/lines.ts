/** The printed parts of a rendered message, line by line, whatever dress a channel puts on it. Pure. */
import type { Block, Rendering, Section } from "./rendering.ts";
import { shorten } from "./text.ts";

/** The leading words, where the title does not say that itself. */
export function shownLead({ lead, own }: Block): string {
  return own?.bare ? "" : lead;
}

/** The parts below the title. Of what is over its ending stands first. */
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

/** With what leads in front, where that is not said already. */
export function ledBy(block: Block, text: string): string {
  const lead = shownLead(block);
  return lead === "" ? text : `${lead}: ${text}`;
}

/**
 * The whole message as lines of plain text, for mails, terminals, and a channel that refused anything prettier.
 * The first is the headline; an empty string separates blocks.
 * @param inFull blocks in full, from the first on
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

/** The name of an attached file that names every alert of a message. */
export const listName = "alerts.txt";

/** Max characters of an alert in one line. */
export const maxLine = 200;

/** A block in one line. @param most characters */
export function lineOf(block: Block, most = maxLine): string {
  return shorten(headOf(block), most);
}

/** Lines in as few texts of at most so many characters as hold them all. A longer line is cut. */
export function inTexts(lines: readonly string[], most: number): string[] {
  const texts: string[] = [];
  for (const line of lines) {
    const last = texts.at(-1);
    if (last !== undefined && last.length + 1 + line.length <= most)
      texts[texts.length - 1] = `${last}\n${line}`;
    else texts.push(shorten(line, most));
  }
  return texts;
}

/** One block, without what the headline said already. */
export function blockLines(block: Block, rendering: Pick<Rendering, "headline" | "blocks">): string[] {
  const lines = titleLines(block, rendering);
  const { description, figures, fresh, now } = shownParts(block);
  if (description !== "") lines.push(...description.split("\n"));
  lines.push(...figureLines(figures), ...fresh, ...now);
  if (block.runbook !== null) lines.push(`What to do: ${block.runbook}`);
  if (rendering.blocks.length === 1) lines.push(numberLine(block));
  return lines;
}

/** `Alert #17, rule LiquidationNear`, where a message is about one alert. */
export function numberLine({ alertId, rule }: Block): string {
  return `Alert #${alertId}, rule ${rule}`;
}

/** A few to a line. */
export function figureLines(figures: Block["figures"]): string[] {
  const named = figures.map(([name, value]) => `${name}: ${value}`);
  const lines: string[] = [];
  for (let index = 0; index < named.length; index += 3) lines.push(named.slice(index, index + 3).join(" · "));
  return lines;
}

/** The parts of a block above everything else, and not in the headline. */
export function titleLines(block: Block, rendering: Pick<Rendering, "headline" | "blocks">): string[] {
  if (rendering.blocks.length > 1) return [headOf(block)];
  return rendering.headline.includes(block.what) ? [] : [block.what];
}

/** `FIRING critical #17: what`. */
export function headOf(block: Block): string {
  return `${shownLead(block)} #${block.alertId}: ${block.what}`.trim();
}

/** A digest's tables as lines, for channels that know text only. */
export function sectionLines(sections: readonly Section[]): string[] {
  return sections.flatMap(({ title, rows }, index) => [
    ...(index > 0 ? [""] : []),
    title,
    ...rows.map(([name, value]) => (value === "" ? name : `${name}: ${value}`)),
  ]);
}
