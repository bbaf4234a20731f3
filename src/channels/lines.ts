/** The printed parts of a rendered message, line by line, whatever dress a channel puts on it. Pure. */
import type { Block, Rendering, Section } from "./message.ts";

/** The leading words, where the title does not say that itself. */
export function shownLead({ lead, own }: Block): string {
  return own?.bare ? "" : lead;
}

/** The parts below the title. */
export function shownParts({
  description,
  figures,
  fresh,
  now,
  own,
}: Block): Pick<Block, "description" | "figures" | "fresh" | "now"> {
  return own?.body === undefined
    ? { description, figures, fresh, now }
    : { description, figures: [], fresh: [], now: [] };
}

/** With what leads in front, where that is not said already. */
export function ledBy(block: Block, text: string): string {
  const lead = shownLead(block);
  return lead === "" ? text : `${lead}: ${text}`;
}

/**
 * The whole message as lines of plain text, for mails, terminals, and a channel that refused anything prettier.
 * The first is the headline; an empty string separates blocks.
 */
export function plainLines(rendering: Rendering): string[] {
  const lines = [rendering.headline, ...rendering.notes];
  for (const block of rendering.blocks) {
    lines.push("", ...blockLines(block, rendering));
  }
  if (rendering.sections.length > 0) lines.push("", ...sectionLines(rendering.sections));
  if (rendering.standing.length > 0) lines.push("", ...rendering.standing);
  lines.push("", rendering.footer);
  return lines;
}

/** One block, without what the headline said already. */
export function blockLines(block: Block, rendering: Pick<Rendering, "headline" | "blocks">): string[] {
  const lines = titleLines(block, rendering);
  const { description, figures, fresh, now } = shownParts(block);
  if (description !== "") lines.push(...description.split("\n"));
  lines.push(...figureLines(figures), ...fresh, ...now);
  if (block.runbook !== null) lines.push(`What to do: ${block.runbook}`);
  if (rendering.blocks.length === 1) lines.push(`Alert #${block.alertId}`);
  return lines;
}

/** A few to a line. */
export function figureLines(figures: Block["figures"]): string[] {
  const named = figures.map(([name, value]) => `${name} ${value}`);
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
