/**
 * A rendered message in Discord's dress: one line that push notifications show, and an embed for each alert. Everything
 * stays within Discord's limits by construction, not by luck. Pure.
 *
 * Limits (UTF-16 units, the strictest reading): content 2000; embed 6000 in all, description 4096, 25 fields of 256 + 1024,
 * footer 2048.
 */

import { glyphs } from "../glyphs.ts";
import { headOf, inTexts, ledBy, lineOf, listName, maxLine, plainLines, shownParts } from "../lines.ts";
import type { Block, Rendering, Tone } from "../rendering.ts";
import { dressed, forDiscord, shorten } from "../text.ts";
import type { ButtonRow } from "./buttons.ts";
import { sectionFields } from "./sections.ts";

export interface Embed {
  readonly color: number;
  readonly title?: string;
  readonly description?: string;
  readonly fields?: readonly { readonly name: string; readonly value: string; readonly inline?: boolean }[];
  /** For the last embed of a message: there the message's id is found again. */
  readonly footer?: { readonly text: string };
  readonly timestamp?: string;
}

export interface DiscordBody {
  readonly content: string;
  readonly embeds: readonly Embed[];
  /** Left out: it has no buttons, and never will have. */
  readonly components?: readonly ButtonRow[];
  readonly allowed_mentions: {
    readonly parse: readonly string[];
    readonly users?: readonly string[];
    readonly roles?: readonly string[];
  };
}

/** An alert of an earlier message that is over now. */
export interface Ended {
  readonly alertId: number;
  /** Kind and time: `RESOLVED 2026-11-21 03:41:18 UTC`. */
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

/** Characters of a message without embeds. */
const maxContent = 1_990;
const maxFigures = 12;
export const maxEmbeds = 10;
/** Alerts that keep an embed where the others have a line. */
const maxBesideLines = 4;
/** The part of 6000 characters for alerts: the rest is for the footer, what still fires, and those that found no place. */
const roomForAlerts = 4_700;

/**
 * The message as it is first sent, or as it is edited.
 * @param hasList a file names what finds no place; else lines do
 */
export function discordBody(rendering: Rendering, mention: string | null, hasList = true): DiscordBody {
  return {
    content: headline(rendering, mention),
    embeds: embedsOf(rendering, new Map(), hasList),
    allowed_mentions: allowedMentions(mention),
  };
}

/** The same as plain text, for a channel that refuses the embed or the file: in as many parts as name every alert. */
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
  const texts = inTexts([head, ...lines.map((line) => forDiscord(line, maxLine)), footer], maxContent);
  return texts.map((text, index) => body(text, index === 0 ? mention : null));
}

/** @returns the text of the file that names every alert; null where each has an embed */
export function listOf(rendering: Rendering): string | null {
  const { blocks } = rendering;
  return blocks.length <= maxEmbeds ? null : `${plainLines(rendering, blocks.length).join("\n")}\n`;
}

/** An earlier message, marked where its alerts are over. Wholly over: struck, in the colour of its end. */
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

/** The tone of an ending, by the word that leads it. */
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

/** A title of the user's own has its own markup; any other is bold. */
function headWords({ headline, blocks: [first] }: Rendering): string {
  const told = first === undefined ? "" : ledBy(first, first.what);
  if (first?.own?.title === undefined || !headline.startsWith(told))
    return `**${forDiscord(headline, 1_000)}**`;
  const lead = forDiscord(ledBy(first, ""), 100).trim();
  return `${lead === "" ? "" : `**${lead}** `}${titleOf(first, 900)}${forDiscord(headline.slice(told.length), 160)}`;
}

function titleOf({ what, own }: Block, most: number): string {
  if (own?.title === undefined) return forDiscord(what, most);
  return dressed(own.title, forDiscord, most).replaceAll(/\s*\n\s*/g, " ");
}

function idOf({ blocks }: Rendering): string {
  const [only] = blocks;
  return only !== undefined && blocks.length === 1 ? ` (#${only.alertId})` : "";
}

function embedsOf(rendering: Rendering, over: ReadonlyMap<number, string>, hasList: boolean): Embed[] {
  const { blocks } = rendering;
  const [only] = blocks;
  if (only !== undefined && blocks.length > 1) return several(rendering, over, hasList);
  const told = only === undefined ? notesOf(rendering) : single(only, rendering);
  const more =
    rendering.sections.length > 0
      ? { fields: sectionFields(rendering.sections) }
      : withStanding(told, rendering);
  return [
    {
      color: colours[rendering.tone],
      ...told,
      ...more,
      footer: footerOf(rendering),
    },
  ];
}

/** Discord shows footers as they are, markdown and all. */
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

function bodyOf(block: Block, most: number): string {
  const own = block.own?.body;
  return own === undefined ? forDiscord(shownParts(block).description, most) : dressed(own, forDiscord, most);
}

/**
 * Many alerts: an embed for each, as they came, each with its share of the room; those that find no place stand in the file
 * that the last one names, or have a line each in it. It also says what concerns them all.
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

/** A line for each, as many as there is room for. */
function linesOf(blocks: readonly Block[], over: ReadonlyMap<number, string>): string {
  const most = roomForAlerts / 2 - 40;
  const each = Math.max(40, Math.min(160, Math.floor(most / blocks.length) - 1));
  const lines = blocks.map((block) => {
    const line = forDiscord(lineOf(block, each), over.has(block.alertId) ? each - 4 : each);
    return over.has(block.alertId) ? `~~${line}~~` : line;
  });
  const count = Math.min(lines.length, Math.floor(most / (each + 1)));
  const tail = count < lines.length ? [`**and ${lines.length - count} more**`] : [];
  return [...lines.slice(0, count), ...tail].join("\n");
}

const figureGap = " · ";

/** As many as there is room for, each of them whole. */
function figuresWithin(figures: readonly string[], most: number): string {
  let text = "";
  for (const [index, figure] of figures.entries()) {
    const longer = `${text}${index === 0 ? "" : figureGap}${forDiscord(figure)}`;
    const isLast = index === figures.length - 1;
    if (longer.length > (isLast ? most : most - figureGap.length - 1))
      return text === "" ? "" : `${text}${figureGap}…`;
    text = longer;
  }
  return text;
}

/** The times and the acknowledgement stay whole: figures are cut first, then the description. */
function withinRoom(
  { description, figures, fresh, now }: ReturnType<typeof shownParts>,
  most: number,
): string {
  const list = figures.map(([name, value]) => `${name}: ${value}`);
  const end = [...fresh, ...now].join("\n");
  const tail = forDiscord(end);
  const room = most - tail.length - 1;
  if (room < description.length / 2)
    return forDiscord(
      [description, list.join(figureGap), end].filter((part) => part !== "").join("\n"),
      most,
    );
  const head = forDiscord(description, room);
  const left = room - head.length - 1;
  return [head, figuresWithin(list, left), tail].filter((part) => part !== "").join("\n");
}

function ofBlock(block: Block, share: number, end: string | undefined): Embed {
  const titleRoom = Math.min(250, Math.floor(share * 0.4));
  const head = (most: number) => {
    const first = forDiscord(`${glyphs[block.tone]} ${headOf({ ...block, what: "" })}`, most);
    return `${first} ${titleOf(block, most - first.length - 1)}`;
  };
  const words = end === undefined ? "" : `${end}\n`;
  const most = Math.min(1_500, share - titleRoom - words.length);
  const text = block.own?.body === undefined ? withinRoom(shownParts(block), most) : bodyOf(block, most);
  return {
    color: colours[end === undefined ? block.tone : endingTone(end)],
    title: end === undefined ? head(titleRoom) : `~~${head(titleRoom - 4)}~~`,
    description: `${words}${text}` || "–",
  };
}
