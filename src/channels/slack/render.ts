/** Renders messages for Slack, as blocks or as plain text. Nothing in data pings, links or formats. Pure. */
import type { Button } from "../buttons.ts";
import {
  blockLines,
  headOf,
  inTexts,
  ledBy,
  numberLine,
  plainLines,
  sectionLines,
  titleLines,
} from "../lines.ts";
import type { Block, Rendering, Tone } from "../rendering.ts";
import { clean, dressed, shorten } from "../text.ts";

const maxText = 3_900;
const maxSection = 2_900;
/** The part of 50 sections for alerts: notes, those that have a line only, what else fires and the footer take the others. */
const maxSections = 36;
/**
 * Text of the sections of all alerts, characters. Slack refuses a message whose blocks have more than about 12,000 with what holds
 * them (msg_blocks_too_long), which it states nowhere.
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

/** Text from data as Slack shall show it: nothing in it pings, links or formats. */
export function forSlack(text: string): string {
  return clean(text)
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll(/[*_~`]/g, (mark) => `${mark}\u200b`)
    .replaceAll("@", "@\u200b")
    .replaceAll("://", ":\u200b//");
}

/** Escaped, and at most so many characters in that form. */
export function cut(text: string, most: number): string {
  let kept = shorten(text, most);
  for (;;) {
    const shown = forSlack(kept);
    if (shown.length <= most) return shown;
    kept = shorten(kept, Math.min(kept.length - 1, Math.floor((kept.length * most) / shown.length)));
  }
}

/** @param rows buttons, a row an alert */
export function bodyOf(rendering: Rendering, ping: string | null, rows: readonly Button[][]): object {
  const buttons = rows.map(rowOf);
  const full = rendering.blocks
    .slice(0, Math.min(rendering.inFull, maxSections))
    .map((block) => sectionOf(block, rendering) + linkOf(block.runbook));
  const short = rendering.blocks.map((block) => cut(headOf(block), maxLine));
  const taken = buttons.length === 0 ? 0 : JSON.stringify(buttons).length;
  const texts = full.slice(0, fitting(full, short, maxOfAlerts - taken));
  const sections = [...texts, ...inTexts(short.slice(texts.length), maxSection)].map((text) => ({
    type: "section",
    text: { type: "mrkdwn", text },
  }));
  const notes = rendering.notes.map((note) => ({
    type: "section",
    text: { type: "mrkdwn", text: cut(note, maxSection) },
  }));
  const tables = rendering.sections.map((section) => ({
    type: "section",
    text: { type: "mrkdwn", text: cut(sectionLines([section]).join("\n"), maxSection) },
  }));
  const standing =
    rendering.standing.length === 0
      ? []
      : [
          {
            type: "section",
            text: { type: "mrkdwn", text: cut(rendering.standing.join("\n"), maxSection) },
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
          { type: "context", elements: [{ type: "mrkdwn", text: cut(rendering.footer, 400) }] },
        ],
      },
    ],
  };
}

/** Ids of buttons differ, as Slack demands within a block. */
function rowOf(row: readonly Button[]): object {
  const elements = row.map(({ label, id, primary }) => ({
    ...{ type: "button", action_id: id, text: { type: "plain_text", text: label } },
    ...(primary ? { style: "primary" } : {}),
  }));
  return { type: "actions", elements };
}

/** The number of alerts, from the first on, that fit in full beside a line for each of the others; a single one always does. */
function fitting(full: readonly string[], short: readonly string[], most: number): number {
  if (short.length < 2) return full.length;
  let size = short.reduce((sum, line) => sum + line.length, 0);
  for (const [index, text] of full.entries()) {
    size += text.length - short[index]!.length;
    if (size > most) return index;
  }
  return full.length;
}

/** A template's markup is its author's; all else is text. */
function sectionOf(block: Block, rendering: Rendering): string {
  const { own } = block;
  const alone = rendering.blocks.length === 1;
  if (own === undefined || (own.body === undefined && alone))
    return cut(blockLines({ ...block, runbook: null }, rendering).join("\n"), maxSection);
  const head = cut(`${headOf({ ...block, what: "" })} `, 200);
  const title = alone ? cut(titleLines(block, rendering).join("\n"), 500) : `${head}${titleOf(block)}`;
  const tail = alone ? numberLine(block) : "";
  const room = maxSection - title.length - tail.length - 2;
  const body =
    own.body === undefined
      ? cut(
          blockLines({ ...block, runbook: null }, rendering)
            .slice(1)
            .join("\n"),
          room,
        )
      : dressed(own.body, cut, room);
  return [title, body, tail].filter((part) => part !== "").join("\n");
}

function titleOf({ what, own }: Block): string {
  return own?.title === undefined ? cut(what, 500) : oneLine(dressed(own.title, cut, 500));
}

const oneLine = (text: string): string => text.replaceAll(/\s*\n\s*/g, " ");

function headline(rendering: Rendering, ping: string | null): string {
  const call = ping === null ? "" : `${ping} `;
  const [first] = rendering.blocks;
  const told = first === undefined ? "" : ledBy(first, first.what);
  if (first?.own?.title === undefined || !rendering.headline.startsWith(told))
    return `${call}*${cut(rendering.headline, 1_000)}*`;
  const lead = cut(ledBy(first, "").trim(), 100);
  const rest = cut(rendering.headline.slice(told.length), 160);
  return `${call}${lead === "" ? "" : `*${lead}* `}${oneLine(dressed(first.own.title, cut, 800))}${rest}`;
}

/** @param link an address that is safe to link, of which no character may end the link early */
function linkOf(link: string | null): string {
  return link === null || link.length > 500
    ? ""
    : `\n<${link.replaceAll(/[<>|]/g, encodeURIComponent)}|What to do>`;
}

export function plainText(rendering: Rendering, ping: string | null): string {
  const alone = rendering.blocks.length < 2;
  const [, ...lines] = plainLines(rendering, alone ? rendering.inFull : 0).slice(0, -1);
  const head = headline(rendering, ping);
  const footer = cut(rendering.footer, 200);
  const room = maxText - head.length - footer.length;
  // Each alert keeps its beginning, by which it is known.
  const each = Math.floor(room / Math.max(1, lines.length)) - 1;
  const text = alone ? cut(lines.join("\n").trim(), room) : lines.map((line) => cut(line, each)).join("\n");
  return `${head}\n${text.trim()}\n${footer}`;
}
