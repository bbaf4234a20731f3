/** Renders messages for Slack, as blocks or as plain text. Data in them cannot ping, link or format. Pure. */
import type { Button } from "../buttons.ts";
import {
  blockLines,
  headOf,
  ledBy,
  numberLine,
  packLines,
  plainLines,
  sectionLines,
  titleLines,
} from "../message/lines.ts";
import type { Block, Rendering, Tone } from "../message/rendering.ts";
import { clean, shorten, templateText } from "../message/text.ts";

const maxText = 3_900;
const maxSection = 2_900;
/** Sections for alerts, of 50. The rest is for notes, alerts with a line only, other firing alerts and the footer. */
const maxSections = 36;
/**
 * Maximum text of all alert sections, characters. Slack refuses a message if its blocks exceed about 12,000 characters
 * including their JSON (msg_blocks_too_long); the limit is not documented.
 */
const maxOfAlerts = 7_000;
const maxLine = 150;
const colours: Readonly<Record<Tone, string>> = {
  critical: "#d92d20",
  warning: "#f79009",
  info: "#2e90fa",
  good: "#12b76a",
  over: "#98a2b3",
  test: "#875bf7",
};

/** Escapes data for Slack, so that nothing in it pings, links or formats. */
export function forSlack(text: string): string {
  return clean(text)
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll(/[*_~`]/g, (mark) => `${mark}\u200b`)
    .replaceAll("@", "@\u200b")
    .replaceAll("://", ":\u200b//");
}

/** Escapes a text and cuts it to a maximum length in escaped form. */
export function cutEscaped(text: string, maxLength: number): string {
  let kept = shorten(text, maxLength);
  for (;;) {
    const shown = forSlack(kept);
    if (shown.length <= maxLength) return shown;
    kept = shorten(kept, Math.min(kept.length - 1, Math.floor((kept.length * maxLength) / shown.length)));
  }
}

/** @param rows buttons, one row per alert */
export function bodyOf(rendering: Rendering, ping: string | null, rows: readonly Button[][]): object {
  const buttons = rows.map(rowOf);
  const full = rendering.blocks
    .slice(0, Math.min(rendering.inFull, maxSections))
    .map((block) => sectionOf(block, rendering) + linkOf(block.runbook));
  const short = rendering.blocks.map((block) => cutEscaped(headOf(block), maxLine));
  const taken = buttons.length === 0 ? 0 : JSON.stringify(buttons).length;
  const texts = full.slice(0, fitting(full, short, maxOfAlerts - taken));
  const sections = [...texts, ...packLines(short.slice(texts.length), maxSection)].map((text) => ({
    type: "section",
    text: { type: "mrkdwn", text },
  }));
  const notes = rendering.notes.map((note) => ({
    type: "section",
    text: { type: "mrkdwn", text: cutEscaped(note, maxSection) },
  }));
  const tables = rendering.sections.map((section) => ({
    type: "section",
    text: { type: "mrkdwn", text: cutEscaped(sectionLines([section]).join("\n"), maxSection) },
  }));
  const standing =
    rendering.standing.length === 0
      ? []
      : [
          {
            type: "section",
            text: { type: "mrkdwn", text: cutEscaped(rendering.standing.join("\n"), maxSection) },
          },
        ];
  return {
    text: headline(rendering, ping),
    attachments: [
      {
        color: colours[rendering.tone],
        blocks: [
          ...notes,
          ...sections,
          ...tables,
          ...standing,
          ...buttons,
          { type: "context", elements: [{ type: "mrkdwn", text: cutEscaped(rendering.footer, 400) }] },
        ],
      },
    ],
  };
}

/** The ids of buttons in a block are unique, as Slack requires. */
function rowOf(row: readonly Button[]): object {
  const elements = row.map(({ label, id, primary }) => ({
    ...{ type: "button", action_id: id, text: { type: "plain_text", text: label } },
    ...(primary ? { style: "primary" } : {}),
  }));
  return { type: "actions", elements };
}

/**
 * Number of alerts, from the first, that fit in full beside one line for each of the others. A single alert always
 * fits.
 */
function fitting(full: readonly string[], short: readonly string[], maxLength: number): number {
  if (short.length < 2) return full.length;
  let size = short.reduce((sum, line) => sum + line.length, 0);
  for (const [index, text] of full.entries()) {
    size += text.length - short[index]!.length;
    if (size > maxLength) return index;
  }
  return full.length;
}

/** The markup of a template is kept; everything else is escaped. */
function sectionOf(block: Block, rendering: Rendering): string {
  const { own } = block;
  const alone = rendering.blocks.length === 1;
  if (own === undefined || (own.body === undefined && alone))
    return cutEscaped(blockLines({ ...block, runbook: null }, rendering).join("\n"), maxSection);
  const head = cutEscaped(`${headOf({ ...block, what: "" })} `, 200);
  const title = alone ? cutEscaped(titleLines(block, rendering).join("\n"), 500) : `${head}${titleOf(block)}`;
  const tail = alone ? numberLine(block) : "";
  const room = maxSection - title.length - tail.length - 2;
  const body =
    own.body === undefined
      ? cutEscaped(
          blockLines({ ...block, runbook: null }, rendering)
            .slice(1)
            .join("\n"),
          room,
        )
      : templateText(own.body, cutEscaped, room);
  return [title, body, tail].filter((part) => part !== "").join("\n");
}

function titleOf({ what, own }: Block): string {
  return own?.title === undefined ? cutEscaped(what, 500) : oneLine(templateText(own.title, cutEscaped, 500));
}

const oneLine = (text: string): string => text.replaceAll(/\s*\n\s*/g, " ");

function headline(rendering: Rendering, ping: string | null): string {
  const call = ping === null ? "" : `${ping} `;
  const [first] = rendering.blocks;
  const leadText = first === undefined ? "" : ledBy(first, first.what);
  if (first?.own?.title === undefined || !rendering.headline.startsWith(leadText))
    return `${call}*${cutEscaped(rendering.headline, 1_000)}*`;
  const lead = cutEscaped(ledBy(first, "").trim(), 100);
  const rest = cutEscaped(rendering.headline.slice(leadText.length), 160);
  return `${call}${lead === "" ? "" : `*${lead}* `}${oneLine(templateText(first.own.title, cutEscaped, 800))}${rest}`;
}

/** @param link a URL that is safe to link; characters that would end the link are encoded */
function linkOf(link: string | null): string {
  return link === null || link.length > 500
    ? ""
    : `\n<${link.replaceAll(/[<>|]/g, encodeURIComponent)}|What to do>`;
}

export function plainText(rendering: Rendering, ping: string | null): string {
  const alone = rendering.blocks.length < 2;
  const [, ...lines] = plainLines(rendering, alone ? rendering.inFull : 0).slice(0, -1);
  const head = headline(rendering, ping);
  const footer = cutEscaped(rendering.footer, 200);
  const room = maxText - head.length - footer.length;
  // Each alert keeps its first characters, which identify it.
  const each = Math.floor(room / Math.max(1, lines.length)) - 1;
  const text = alone
    ? cutEscaped(lines.join("\n").trim(), room)
    : lines.map((line) => cutEscaped(line, each)).join("\n");
  return `${head}\n${text.trim()}\n${footer}`;
}
