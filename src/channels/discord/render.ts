/**
 * Renders a message for Discord: one line that push notifications show, and an embed per alert. The result is always
 * within Discord's limits. Pure.
 *
 * Limits (UTF-16 units, by the strictest reading): content 2000; embed 6000 in total, description 4096, 25 fields of
 * 256 + 1024, footer 2048.
 */

import { glyphs } from "../message/glyphs.ts";
import {
  headOf,
  ledBy,
  lineOf,
  listName,
  maxLine,
  packLines,
  plainLines,
  shownParts,
} from "../message/lines.ts";
import type { Block, Rendering, Tone } from "../message/rendering.ts";
import { forDiscord, shorten, templateText } from "../message/text.ts";
import type { ButtonRow } from "./interactions/buttons.ts";
import { sectionFields } from "./sections.ts";

export interface Embed {
  readonly color: number;
  readonly title?: string;
  readonly description?: string;
  readonly fields?: readonly { readonly name: string; readonly value: string; readonly inline?: boolean }[];
  /** In the last embed of a message; holds the message's id, by which it is found. */
  readonly footer?: { readonly text: string };
  readonly timestamp?: string;
}

export interface DiscordBody {
  readonly content: string;
  readonly embeds: readonly Embed[];
  /** Left out: the message has no buttons. */
  readonly components?: readonly ButtonRow[];
  readonly allowed_mentions: {
    readonly parse: readonly string[];
    readonly users?: readonly string[];
    readonly roles?: readonly string[];
  };
}

/** An ended alert of an earlier message. */
export interface Ended {
  readonly alertId: number;
  /** Ending and time: `RESOLVED 2026-11-21 03:41:18 UTC`. */
  readonly words: string;
  readonly tone: Tone;
}

export const colours: Readonly<Record<Tone, number>> = {
  critical: 0xd92d20,
  warning: 0xf79009,
  info: 0x2e90fa,
  good: 0x12b76a,
  over: 0x98a2b3,
  test: 0x875bf7,
};

/** Maximum characters of a message without embeds. */
const maxContent = 1_990;
const maxFigures = 12;
export const maxEmbeds = 10;
/** Number of alerts with an embed if the others have a line. */
const maxBesideLines = 4;
/** Characters for alerts, of 6000. The rest is for the footer, other firing alerts, and the list of omitted ones. */
const roomForAlerts = 4_700;

/**
 * The body of a message, sent or edited.
 * @param hasList a file lists the alerts without an embed; otherwise lines do
 */
export function discordBody(rendering: Rendering, mention: string | null, hasList = true): DiscordBody {
  return {
    content: headline(rendering, mention),
    embeds: embedsOf(rendering, new Map(), hasList),
    allowed_mentions: allowedMentions(mention),
  };
}

/** The message as plain text, for a channel that refuses the embed or the file; in as many parts as name every alert. */
export function plainBodies(rendering: Rendering, mention: string | null): readonly DiscordBody[] {
  const head = headline(rendering, mention);
  const footer = forDiscord(rendering.footer, 200);
  const body = (content: string, of: string | null) => ({
    content,
    embeds: [],
    allowed_mentions: of === null ? { parse: [] } : allowedMentions(of),
  });
  if (rendering.blocks.length < 2) {
    const lines = plainLines(rendering).slice(1, -1).join("\n").trim();
    const text = forDiscord(lines, maxContent - head.length - footer.length);
    return [body(`${head}\n${text}\n${footer}`, mention)];
  }
  const lines = [...rendering.blocks.map((block) => lineOf(block)), ...rendering.standing];
  const texts = packLines([head, ...lines.map((line) => forDiscord(line, maxLine)), footer], maxContent);
  return texts.map((text, index) => body(text, index === 0 ? mention : null));
}

/** @returns the text of the file that lists every alert; null if each has an embed */
export function listOf(rendering: Rendering): string | null {
  const { blocks } = rendering;
  return blocks.length <= maxEmbeds ? null : `${plainLines(rendering, blocks.length).join("\n")}\n`;
}

/**
 * An earlier message with its ended alerts marked. If all have ended, the headline is struck and the colour is that of
 * the ending.
 */
export function endedBody(rendering: Rendering, ended: readonly Ended[], hasList = true): DiscordBody {
  const over = new Map(ended.map(({ alertId, words }) => [alertId, words]));
  const all = rendering.blocks.every(({ alertId }) => over.has(alertId));
  const embeds = embedsOf(rendering, over, hasList);
  const none = { parse: [] };
  if (!all) return { content: headline(rendering, null), embeds, allowed_mentions: none };
  const order: readonly Tone[] = ["critical", "over", "good"];
  const tone = order.find((one) => ended.some((end) => end.tone === one)) ?? "over";
  const leads = [...new Set(over.values())].slice(0, 3).join(" · ");
  const content = `${glyphs[tone]} **${leads}**\n~~${forDiscord(rendering.headline, 1_500)}~~${idOf(rendering)}`;
  const coloured = embeds.length === 1 ? embeds.map((embed) => ({ ...embed, color: colours[tone] })) : embeds;
  return { content, embeds: coloured, allowed_mentions: none };
}

/** The tone of an ending, by the first word of its lead. */
export function endingTone(lead: string): Tone {
  if (lead.startsWith("RESOLVED")) return "good";
  return /^(LIQUIDATED|AUTO-DELEVERAGED)/.test(lead) ? "critical" : "over";
}

function allowedMentions(mention: string | null): DiscordBody["allowed_mentions"] {
  const role = /^<@&(\d+)>$/.exec(mention ?? "")?.[1];
  if (role !== undefined) return { parse: [], roles: [role] };
  const user = /^<@(\d+)>$/.exec(mention ?? "")?.[1];
  if (user !== undefined) return { parse: [], users: [user] };
  return { parse: mention === null ? [] : ["everyone"] };
}

function headline(rendering: Rendering, mention: string | null): string {
  const ping = mention === null ? "" : `${mention} `;
  const head = `${ping}${glyphs[rendering.tone]} ${headWords(rendering)}${idOf(rendering)}`;
  if (rendering.blocks.length < 2) return head;
  return [head, ...rendering.notes.map((line) => forDiscord(line, 200)).slice(0, 4)].join("\n");
}

/** A title from a template keeps its own markup; any other is bold. */
function headWords({ headline, blocks: [first] }: Rendering): string {
  const leadText = first === undefined ? "" : ledBy(first, first.what);
  if (first?.own?.title === undefined || !headline.startsWith(leadText))
    return `**${forDiscord(headline, 1_000)}**`;
  const lead = forDiscord(ledBy(first, ""), 100).trim();
  return `${lead === "" ? "" : `**${lead}** `}${titleOf(first, 900)}${forDiscord(headline.slice(leadText.length), 160)}`;
}

function titleOf({ what, own }: Block, maxLength: number): string {
  if (own?.title === undefined) return forDiscord(what, maxLength);
  return templateText(own.title, forDiscord, maxLength).replaceAll(/\s*\n\s*/g, " ");
}

function idOf({ blocks }: Rendering): string {
  const [only] = blocks;
  return only !== undefined && blocks.length === 1 ? ` (#${only.alertId})` : "";
}

function embedsOf(rendering: Rendering, over: ReadonlyMap<number, string>, hasList: boolean): Embed[] {
  const { blocks } = rendering;
  const [only] = blocks;
  if (only !== undefined && blocks.length > 1) return several(rendering, over, hasList);
  const leadText = only === undefined ? notesOf(rendering) : single(only, rendering);
  const more =
    rendering.sections.length > 0
      ? { fields: sectionFields(rendering.sections) }
      : withStanding(leadText, rendering);
  return [
    {
      color: colours[rendering.tone],
      ...leadText,
      ...more,
      footer: footerOf(rendering),
    },
  ];
}

/** Discord does not interpret markdown in footers. */
function footerOf(rendering: Rendering): NonNullable<Embed["footer"]> {
  return { text: shorten(rendering.footer, 200) };
}

function notesOf({ notes }: Rendering): Partial<Embed> {
  const description = notes.map((note) => forDiscord(note, 300)).join("\n");
  return description === "" ? {} : { description };
}

function withStanding({ fields = [] }: Partial<Embed>, { standing }: Rendering): Partial<Embed> {
  if (standing.length === 0) return {};
  const share = Math.floor(500 / standing.length) - 1;
  const value = standing.map((line) => forDiscord(line, share)).join("\n");
  return { fields: [...fields, { name: "Other alerts", value }] };
}

function single(block: Block, rendering: Rendering): Partial<Embed> {
  const what = rendering.headline.includes(block.what) ? "" : forDiscord(block.what, 500);
  const shown = shownParts(block);
  const parts = [
    ...rendering.notes.map((note) => forDiscord(note, 300)),
    what,
    bodyOf(block, block.own?.body === undefined ? 1_200 : 3_000),
  ];
  const description = parts.filter((part) => part !== "").join("\n");
  const fields = shown.figures.slice(0, maxFigures).map(([name, value]) => ({
    name: forDiscord(name, 60) || "–",
    value: forDiscord(value, 180) || "–",
    inline: true,
  }));
  const now = shown.now.map((line) => forDiscord(line, 250));
  const runbook = block.runbook !== null && block.runbook.length <= 500 ? `<${block.runbook}>` : "";
  const more = [
    { name: "When", value: shown.fresh.map((line) => forDiscord(line, 150)).join("\n") },
    { name: "Acknowledgement", value: now.join("\n") },
    { name: "What to do", value: runbook },
  ];
  return {
    ...(description === "" ? {} : { description }),
    fields: [...fields, ...more.filter(({ value }) => value !== "")],
  };
}

function bodyOf(block: Block, maxLength: number): string {
  const own = block.own?.body;
  return own === undefined
    ? forDiscord(shownParts(block).description, maxLength)
    : templateText(own, forDiscord, maxLength);
}

/**
 * Several alerts: an embed for each, in order, each with its share of the characters. The others are in the file that
 * the last embed names, or have a line each in it. The last embed also has the parts that concern all alerts.
 */
function several(rendering: Rendering, over: ReadonlyMap<number, string>, hasList: boolean): Embed[] {
  const { blocks } = rendering;
  const fits = blocks.length <= maxEmbeds;
  const shown = blocks.slice(0, fits ? maxEmbeds : hasList ? maxEmbeds - 1 : maxBesideLines);
  const share = Math.floor((fits || hasList ? roomForAlerts : roomForAlerts / 2) / shown.length);
  const embeds = shown.map((block) => ofBlock(block, share, over.get(block.alertId)));
  const left = blocks.slice(shown.length);
  if (left.length > 0) {
    embeds.push({
      color: colours[rendering.tone],
      description: hasList
        ? `**and ${left.length} more**: all ${blocks.length} are in ${listName}`
        : linesOf(left, over),
    });
  }
  const last = embeds.at(-1)!;
  return [...embeds.slice(0, -1), { ...last, ...withStanding(last, rendering), footer: footerOf(rendering) }];
}

/** One line per alert, as many as fit. */
function linesOf(blocks: readonly Block[], over: ReadonlyMap<number, string>): string {
  const maxLength = roomForAlerts / 2 - 40;
  const each = Math.max(40, Math.min(160, Math.floor(maxLength / blocks.length) - 1));
  const lines = blocks.map((block) => {
    const line = forDiscord(lineOf(block, each), over.has(block.alertId) ? each - 4 : each);
    return over.has(block.alertId) ? `~~${line}~~` : line;
  });
  const count = Math.min(lines.length, Math.floor(maxLength / (each + 1)));
  const tail = count < lines.length ? [`**and ${lines.length - count} more**`] : [];
  return [...lines.slice(0, count), ...tail].join("\n");
}

const figureGap = " · ";

/** As many figures as fit, none of them cut. */
function figuresWithin(figures: readonly string[], maxLength: number): string {
  let text = "";
  for (const [index, figure] of figures.entries()) {
    const longer = `${text}${index === 0 ? "" : figureGap}${forDiscord(figure)}`;
    const isLast = index === figures.length - 1;
    if (longer.length > (isLast ? maxLength : maxLength - figureGap.length - 1))
      return text === "" ? "" : `${text}${figureGap}…`;
    text = longer;
  }
  return text;
}

/** Fits a block into its share. Times and acknowledgement are kept: figures are cut first, then the description. */
function withinRoom(
  { description, figures, fresh, now }: ReturnType<typeof shownParts>,
  maxLength: number,
): string {
  const list = figures.map(([name, value]) => `${name}: ${value}`);
  const end = [...fresh, ...now].join("\n");
  const tail = forDiscord(end);
  const room = maxLength - tail.length - 1;
  if (room < description.length / 2)
    return forDiscord(
      [description, list.join(figureGap), end].filter((part) => part !== "").join("\n"),
      maxLength,
    );
  const head = forDiscord(description, room);
  const left = room - head.length - 1;
  return [head, figuresWithin(list, left), tail].filter((part) => part !== "").join("\n");
}

function ofBlock(block: Block, share: number, end: string | undefined): Embed {
  const titleRoom = Math.min(250, Math.floor(share * 0.4));
  const head = (maxLength: number) => {
    const first = forDiscord(`${glyphs[block.tone]} ${headOf({ ...block, what: "" })}`, maxLength);
    return `${first} ${titleOf(block, maxLength - first.length - 1)}`;
  };
  const words = end === undefined ? "" : `${end}\n`;
  const maxLength = Math.min(1_500, share - titleRoom - words.length);
  const text =
    block.own?.body === undefined ? withinRoom(shownParts(block), maxLength) : bodyOf(block, maxLength);
  return {
    color: colours[end === undefined ? block.tone : endingTone(end)],
    title: end === undefined ? head(titleRoom) : `~~${head(titleRoom - 4)}~~`,
    description: `${words}${text}` || "–",
  };
}
