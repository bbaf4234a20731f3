/**
 * Makes data safe to show. Summaries, symbols and notices of the exchange come from outside; they must not format,
 * ping, link or reorder what a person reads.
 */

import type { WordedText } from "../../domain/alerts/template-data.ts";
import { escaped, escapedLines } from "../../domain/text/escape.ts";
import { hideSecrets, hideSecretsAtBeginning, type Secret } from "../../domain/text/hidden-secrets.ts";

/** @returns the text with its line breaks; control and invisible characters are shown as escapes, tabs become spaces */
export const clean = escapedLines;

/** @returns a value from outside in one line; its line breaks are shown as escapes */
export function cleanLine(text: string): string {
  return escaped(text.trim());
}

/** @returns one of perpwatch's own texts in one line; line breaks become spaces */
export function ownLine(text: string): string {
  return clean(text)
    .replaceAll(/\s*\n\s*/g, " ")
    .trim();
}

/** Cuts a text to `maxLength` UTF-16 units at a character boundary, with an ellipsis. */
export function shorten(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  let kept = "";
  for (const character of text) {
    if (kept.length + character.length > maxLength - 1) break;
    kept += character;
  }
  return `${kept.trimEnd()}…`;
}

/**
 * Escapes data for Discord, so that it is shown as it is. Markdown is escaped; `@` and link schemes are broken by a
 * zero-width space, so that nothing is pinged, formatted or clickable.
 * @param maxLength UTF-16 units of the result, escapes included; a longer text is cut between characters and ends in
 * "…"
 */
export function forDiscord(text: string, maxLength = Number.POSITIVE_INFINITY): string {
  const safe = clean(text);
  let out = "";
  let lineStart = true;
  for (let index = 0; index < safe.length; ) {
    const character = String.fromCodePoint(safe.codePointAt(index) ?? 0);
    const shown = shownOnDiscord(character, lineStart, safe.slice(index, index + 12));
    const rest = safe.length - index - character.length;
    if (out.length + shown.length > (rest > 0 ? maxLength - 1 : maxLength)) return `${out.trimEnd()}…`;
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
 * Renders a template's text for a channel with markup. The author's text is kept; values are escaped as data.
 * @param escapeValue makes a value safe, in at most the given UTF-16 units
 * @param maxLength UTF-16 units of the result; a cut text ends in "…"
 */
export function templateText(
  parts: WordedText,
  escapeValue: (text: string, maxLength: number) => string,
  maxLength: number,
): string {
  let out = "";
  for (const [index, part] of parts.entries()) {
    // The last part needs no room for an ellipsis.
    const room = maxLength - out.length - (index < parts.length - 1 ? 1 : 0);
    const whole = "own" in part ? clean(part.own) : escapeValue(part.value, Number.POSITIVE_INFINITY);
    if (whole.length <= room) {
      out += whole;
      continue;
    }
    const shown = room < 2 ? "…" : "own" in part ? shorten(whole, room) : escapeValue(part.value, room);
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

/** Escapes data for HTML elements and quoted attributes. */
export function forHtml(text: string): string {
  return clean(text).replaceAll(/[&<>"']/g, (character) => entities[character] ?? "");
}

/** @returns the URL if it is an HTTP(S) address, else null */
export function safeLink(url: string | null): string | null {
  if (url === null || !URL.canParse(url)) return null;
  const parsed = new URL(url);
  return parsed.protocol === "https:" || parsed.protocol === "http:" ? parsed.href : null;
}

/** Longer texts of services are cut before they are searched for secrets. */
const maxSearched = 4_096;

/** Returns a failure text without secrets, in one short line. */
export function withoutSecrets(text: string, secrets: readonly Secret[]): string {
  // Secrets are searched in the raw text: the letter of an escape could be taken for a part of an encoding.
  return shorten(hideSecrets(cleanLine(hideSecretsAtBeginning(text, secrets, maxSearched)), secrets), 300);
}
