/**
 * Renders messages as plain text for Telegram. Without markup no text is refused; link-like and mention-like data is
 * broken up. Pure.
 */
import type { Message } from "../../domain/alerts/delivery.ts";
import type { WordedText } from "../../domain/alerts/template-data.ts";
import { buttonsOf } from "../buttons.ts";
import { glyphs } from "../message/glyphs.ts";
import { lineOf, listName, packLines, plainLines } from "../message/lines.ts";
import type { Block, Rendering } from "../message/rendering.ts";
import { shorten, templateText } from "../message/text.ts";

const maxCharacters = 4_096;
/** Line lengths at which an alert is still recognizable. */
const shortLines = [140, 100, 70];
/** Maximum length of the text beside a file. */
const maxCaption = 1_024;

/**
 * The whole message as one text. A single alert is cut to Telegram's limit. For several alerts that exceed it the
 * result is null or, with `shortened`, has fewer of them in full and one line for each of the others, as short as
 * necessary; null if those do not fit either.
 */
export function textOf(rendering: Rendering, shortened: boolean): string | null {
  const { blocks, footer, inFull } = rendering;
  const whole = textWith(rendering, inFull);
  if (whole.length <= maxCharacters) return whole;
  if (blocks.length < 2)
    return `${shorten(whole.slice(0, -footer.length), maxCharacters - footer.length - 2)}\n\n${footer}`;
  for (let count = Math.min(inFull, blocks.length) - 1; shortened && count >= 0; count--) {
    const text = textWith(rendering, count);
    if (text.length <= maxCharacters) return text;
  }
  const lists = shortened ? shortLines.map((maxLength) => listOf(rendering, maxLength)) : [];
  return lists.find((text) => text.length <= maxCharacters) ?? null;
}

function textWith(rendering: Rendering, inFull: number): string {
  const [headline = "", ...lines] = plainLines(rendering, inFull).slice(0, -1);
  return `${`${glyphs[rendering.tone]} ${headline}\n${lines.join("\n")}`.trim()}\n\n${rendering.footer}`;
}

/** The inline keyboard of a message: two buttons per row, ids of at most 64 bytes. */
export function keyboardOf(message: Message): object {
  const rows = buttonsOf(message).flatMap((row) =>
    [row.slice(0, 2), row.slice(2)].map((part) =>
      part.map(({ label, id }) => ({ text: label, callback_data: id })),
    ),
  );
  const inline_keyboard = rows.filter((row) => row.length > 0);
  return inline_keyboard.length === 0 ? {} : { reply_markup: { inline_keyboard } };
}

/** One line per alert, of at most `maxLength` characters. */
function listOf({ tone, headline, notes, blocks, standing, footer }: Rendering, maxLength: number): string {
  const lines = [...notes, ...blocks.map((block) => lineOf(block, maxLength)), ...standing];
  return [`${glyphs[tone]} ${headline}`, ...lines, "", footer].join("\n");
}

/** A message with a text file that lists each alert, in Telegram's form: fields that are not strings are JSON. */
export function documentOf(rendering: Rendering, fields: object): FormData {
  const { headline, notes, footer, blocks } = rendering;
  const first = packLines(
    [`${glyphs[rendering.tone]} ${headline}`, ...notes],
    maxCaption - footer.length - 2,
  );
  const list = `${plainLines(rendering, blocks.length).join("\n")}\n`;
  const form = new FormData();
  for (const [name, value] of Object.entries({ ...fields, caption: `${first[0]}\n\n${footer}` }))
    form.set(name, typeof value === "string" ? value : JSON.stringify(value));
  form.set("document", new Blob([list], { type: "text/plain; charset=utf-8" }), listName);
  return form;
}

/** As many texts as needed to give each alert a line. */
export function textsOf({ tone, headline, notes, blocks, standing, footer }: Rendering): string[] {
  const lines = [...notes, ...blocks.map((block) => lineOf(block)), ...standing];
  return packLines([`${glyphs[tone]} ${headline}`, ...lines, "", footer], maxCharacters);
}

/** Escapes data for Telegram, which makes links and mentions of similar text without any markup. */
export function forTelegram(text: string): string {
  return withoutCalls(text).replaceAll(/\.(?=\p{L})/gu, ".\u200b");
}

/** Our own sentences may contain file names in a command, whose dots are kept for copying. */
function withoutCalls(text: string): string {
  return text.replaceAll("@", "@\u200b").replaceAll("://", ":\u200b//");
}

/** Escapes a rendering. Text of a template's author and runbook URLs are kept. */
export function asText(rendering: Rendering): Rendering {
  const lines = (texts: readonly string[]) => texts.map(forTelegram);
  const pairs = (rows: Block["figures"]) =>
    rows.map(([name, value]) => [forTelegram(name), forTelegram(value)] as const);
  const worded = (words: WordedText | undefined, text: string) =>
    words === undefined
      ? forTelegram(text)
      : templateText(words, forTelegram, Number.POSITIVE_INFINITY).trim();
  const blocks = rendering.blocks.map((block) => ({
    ...block,
    what: worded(block.own?.title, block.what).replaceAll(/\s*\n\s*/g, " "),
    description: worded(block.own?.body, block.description),
    figures: pairs(block.figures),
    fresh: lines(block.fresh),
    now: block.now.map(withoutCalls),
  }));
  const [first] = rendering.blocks;
  const ownTitle = first?.own?.title === undefined ? "" : first.what;
  const at = ownTitle === "" ? -1 : rendering.headline.indexOf(ownTitle);
  const { headline } = rendering;
  return {
    ...rendering,
    blocks,
    headline:
      at < 0
        ? forTelegram(headline)
        : forTelegram(headline.slice(0, at)) +
          blocks[0]!.what +
          forTelegram(headline.slice(at + ownTitle.length)),
    notes: rendering.notes.map(withoutCalls),
    sections: rendering.sections.map(({ title, rows }) => ({ title: forTelegram(title), rows: pairs(rows) })),
    standing: lines(rendering.standing),
  };
}
