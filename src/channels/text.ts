/**
 * Making text from data safe to show. Summaries, symbols, the exchange's own notices: all of it was written by somebody
 * else, and none of it may draw, ping, link, or reorder what a person reads.
 */

import { escaped, escapedLines } from "../domain/escape.ts";
import { hideSecrets, hideSecretsAtBeginning, type Secret } from "../domain/hidden-secrets.ts";
import type { WordedText } from "../domain/template-data.ts";

/** @returns a text whose line breaks are ours, with control and invisible characters shown as escapes; tabs become spaces. */
export const clean = escapedLines;

/** @returns a value from outside on one line: its line breaks are shown as escapes, too. */
export function cleanLine(text: string): string {
  return escaped(text.trim());
}

/** @returns a text of ours on one line: where it breaks is a space. */
export function ownLine(text: string): string {
  return clean(text)
    .replaceAll(/\s*\n\s*/g, " ")
    .trim();
}

/** At most `most` UTF-16 units, whole characters only, the cut marked by an ellipsis. */
export function shorten(text: string, most: number): string {
  if (text.length <= most) return text;
  let kept = "";
  for (const character of text) {
    if (kept.length + character.length > most - 1) break;
    kept += character;
  }
  return `${kept.trimEnd()}…`;
}

/**
 * Text from data as Discord shall show it: as it is. Markdown is escaped, `@` and link schemes are broken by a
 * zero-width space, so that nothing is pinged, formatted, or made clickable.
 * @param most UTF-16 units of the result, escapes included; a longer text is cut between characters and ends in "…"
 */
export function forDiscord(text: string, most = Number.POSITIVE_INFINITY): string {
  const safe = clean(text);
  let out = "";
  let lineStart = true;
  for (let index = 0; index < safe.length; ) {
    const character = String.fromCodePoint(safe.codePointAt(index) ?? 0);
    const shown = shownOnDiscord(character, lineStart, safe.slice(index, index + 12));
    const rest = safe.length - index - character.length;
    if (out.length + shown.length > (rest > 0 ? most - 1 : most)) return `${out.trimEnd()}…`;
    out += shown;
    lineStart = character === "\n" || (lineStart && character === " ");
    index += character.length;
  }
  return out;
}

function shownOnDiscord(character: string, lineStart: boolean, ahead: string): string {
  if ("\\*_~`|[]<".includes(character)) return `\\${character}`;
  if (character === "@") return "@\u200b";
  if (character === ":" && ahead.startsWith("://")) return ":\u200b";
  if (character === "." && /^\.(gg|com|me)\//i.test(ahead)) return ".\u200b";
  if (lineStart && "#>-+".includes(character)) return `\\${character}`;
  return character;
}

/**
 * A template's text for a channel that knows markup: what its author wrote as it is, the values between as data.
 * @param dress makes a value safe, in at most so many UTF-16 units
 * @param most UTF-16 units of the result; what is cut ends in "…"
 */
export function dressed(
  words: WordedText,
  dress: (text: string, most: number) => string,
  most: number,
): string {
  let out = "";
  for (const [index, part] of words.entries()) {
    // The last one needs no room for a mark that something is missing.
    const room = most - out.length - (index < words.length - 1 ? 1 : 0);
    const whole = "own" in part ? clean(part.own) : dress(part.value, Number.POSITIVE_INFINITY);
    if (whole.length <= room) {
      out += whole;
      continue;
    }
    const shown = room < 2 ? "…" : "own" in part ? shorten(whole, room) : dress(part.value, room);
    return out + shown;
  }
  return out;
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Text from data inside HTML, in elements and quoted attributes. */
export function forHtml(text: string): string {
  return clean(text).replaceAll(/[&<>"']/g, (character) => entities[character] ?? "");
}

/** @returns the address when it is one that a link may lead to, else null. */
export function safeLink(url: string | null): string | null {
  if (url === null || !URL.canParse(url)) return null;
  const parsed = new URL(url);
  return parsed.protocol === "https:" || parsed.protocol === "http:" ? parsed.href : null;
}

/** Longer texts of services are cut before they are searched. */
const maxSearched = 4_096;

/** A text about a failure without secrets, on one line and short. */
export function withoutSecrets(text: string, secrets: readonly Secret[]): string {
  // As it came: the letter of an escape could be taken for a part of an encoding.
  return shorten(hideSecrets(cleanLine(hideSecretsAtBeginning(text, secrets, maxSearched)), secrets), 300);
}
