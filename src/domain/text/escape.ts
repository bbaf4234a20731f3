/**
 * Makes invisible characters of a text visible: control characters, and those without width or that change the direction of
 * writing, become escapes such as `\n`, `\u202e`. Characters that scripts and emoji need are kept.
 */

export interface Escaper {
  /** Escapes a foreign value, including line breaks. Escaping twice changes nothing. */
  escaped(text: string): string;
  /** Escapes a text with line breaks of our own; tabs become spaces. */
  escapedLines(text: string): string;
  /** A character class of a pattern: all invisible characters. */
  readonly unseen: string;
}

/** Self-contained: its source text is sent to the page. */
export function createEscaper(): Escaper {
  const joining =
    "Arabic Syriac Devanagari Bengali Gurmukhi Gujarati Oriya Tamil Telugu Kannada Malayalam Sinhala Khmer Myanmar Mongolian"
      .split(" ")
      .map((script) => `\\p{Script_Extensions=${script}}`)
      .join("");
  const emoji = "\\p{Extended_Pictographic}";
  const mongolian = "\\u1820-\\u1878\\u1880-\\u18aa";
  /** Flags of regions, in tags: only those that fonts have, as tags could hide a text. */
  const regions = ["gbeng", "gbsct", "gbwls"]
    .map((region) => region.replace(/./g, (letter) => `\\u{e00${letter.charCodeAt(0).toString(16)}}`))
    .join("|");
  /** Joiners within emoji and within words of scripts that have them, styles of emoji and ideographs, flags of regions. */
  const legitimate = [
    `(?<=[${emoji}\\p{Emoji_Modifier}\\ufe0f])\\u200d(?=${emoji})`,
    `(?<=[${joining}])[\\u200c\\u200d](?=[${joining}])`,
    `(?<=[${emoji}0-9#*\\p{Script=Han}])[\\ufe00-\\ufe0f\\u{e0100}-\\u{e01ef}]`,
    `(?<=[${mongolian}])[\\u180b-\\u180f]`,
    `(?<=\\u{1f3f4})(?:${regions})\\u{e007f}`,
    // Visible signs of Arabic.
    "[\\u0600-\\u0605\\u06dd\\u08e2]",
  ].join("|");
  const unseen =
    "[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}\\u034f\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u3164\\uffa0\\ufe00-\\ufe0f\\u{e0100}-\\u{e01ef}]";
  const characters = new RegExp(`${legitimate}|(${unseen})`, "gu");
  const plain = /^[\x20-\x7e]*$/;
  const short: Record<string, string> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

  function escapeOf(character: string): string {
    const code = character.codePointAt(0)!.toString(16);
    return short[character] ?? (code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, "0")}`);
  }

  function escaped(text: string): string {
    if (plain.test(text)) return text;
    return text
      .toWellFormed()
      .replace(characters, (found, hidden: string | undefined) =>
        hidden === undefined ? found : escapeOf(hidden),
      );
  }

  return {
    escaped,
    unseen,
    escapedLines: (text) =>
      text.replaceAll("\r\n", "\n").replaceAll("\t", " ").split("\n").map(escaped).join("\n"),
  };
}

const { unseen, ...escapers } = createEscaper();
export const { escaped, escapedLines } = escapers;

const notPrintable = new RegExp(`(?!\n)${unseen}`, "gu");

/** Returns equivalent JSON, with JSON's escapes for all that a terminal would interpret or not show. */
export function printableJson(json: string): string {
  const asEscape = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return json.replace(notPrintable, (character) => character.split("").map(asEscape).join(""));
}
