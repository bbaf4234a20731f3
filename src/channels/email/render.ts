/**
 * A rendered message as a mail: a subject, a text, and HTML that needs nothing from anywhere. Pure.
 *
 * Both parts tell the same. What would grow beyond what mail programs show whole (about 100 KB, then they cut) is told in
 * one line an alert, in both.
 */
import { plainLines } from "../lines.ts";
import type { Block, Rendering } from "../message.ts";
import { shorten } from "../text.ts";
import { alertSize, document, type MailChart } from "./html.ts";

export interface MailParts {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

/** Phones show about 40 characters of a subject; what is cut stands in the text. */
const mostSubject = 150;
/** HTML of all alerts, characters. */
const mostHtml = 85_000;
const mostBrief = 160;

/** @param chart a picture that goes with the mail, which only the HTML shows */
export function mailParts(rendering: Rendering, chart: MailChart | null = null): MailParts {
  const [only] = rendering.blocks;
  const id = only !== undefined && rendering.blocks.length === 1 ? ` (#${only.alertId})` : "";
  const kept = { ...rendering, blocks: bounded(rendering.blocks) };
  return {
    subject: shorten(rendering.headline, mostSubject - id.length) + id,
    text: `${plainLines(kept).join("\n")}\n`,
    html: document(kept, chart),
  };
}

/** The first ones whole, as they are the worst or the oldest, and the rest in a line each. */
function bounded(blocks: readonly Block[]): Block[] {
  if (blocks.length < 2) return [...blocks];
  let left = mostHtml;
  const short = blocks.map((block) => {
    const one = brief(block);
    left -= alertSize(one);
    return one;
  });
  return blocks.map((block, at) => {
    const more = alertSize(block) - alertSize(short[at]!);
    if (more > left) return short[at]!;
    left -= more;
    return block;
  });
}

function brief(block: Block): Block {
  const { own: _own, ...rest } = block;
  const what = shorten(block.what, mostBrief);
  return { ...rest, what, figures: [], description: "", fresh: [], now: [], runbook: null };
}
