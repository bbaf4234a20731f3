/** Escapes of what cannot be seen: unit table, and texts that stay as they are. */
import { describe, expect, test } from "vitest";
import { clean, cleanLine, ownLine } from "../../src/channels/message/text.ts";
import { escaped, escapedLines, printableJson } from "../../src/domain/text/escape.ts";

const code = (text: string) => [...text].map((one) => one.codePointAt(0)!.toString(16)).join(" ");

describe("is shown as an escape", () => {
  test.each([
    ["a screen that is cleared", "\u001b[2J", "\\u001b[2J"],
    ["a bell, a backspace, a delete", "\u0007\b\u007f", "\\u0007\\u0008\\u007f"],
    ["the short beginning of an escape sequence", "\u009b2J", "\\u009b2J"],
    ["line breaks and tabs", "a\nb\rc\td", "a\\nb\\rc\\td"],
    ["separators of lines and paragraphs", "a\u2028b\u2029c\u0085d", "a\\u2028b\\u2029c\\u0085d"],
    ["a direction that is turned around", "\u202eDLEH\u202c", "\\u202eDLEH\\u202c"],
    ["directions of Unicode 6.3", "\u2066\u2067\u2068\u2069\u061c", "\\u2066\\u2067\\u2068\\u2069\\u061c"],
    ["marks of direction", "\u200e\u200f", "\\u200e\\u200f"],
    ["characters without width", "S\u200bO\u2060L\ufeff", "S\\u200bO\\u2060L\\ufeff"],
    ["joiners within Latin words", "S\u200dO\u200cL", "S\\u200dO\\u200cL"],
    ["soft hyphens and fillers", "a\u00ad\u034f\u115f\u3164b", "a\\u00ad\\u034f\\u115f\\u3164b"],
    ["tags that stand for a text", "a\u{e0041}\u{e0042}", "a\\u{e0041}\\u{e0042}"],
    ["selectors behind letters", "a\ufe0f\u{e0100}", "a\\ufe0f\\u{e0100}"],
    [
      "tags behind a flag that are no region",
      "🏴\u{e0068}\u{e0069}\u{e007f}",
      "🏴\\u{e0068}\\u{e0069}\\u{e007f}",
    ],
    ["selectors in a row behind a Mongolian letter", "ᠭ\u180b\u180c", "ᠭ\u180b\\u180c"],
    ["null", "\u0000", "\\u0000"],
  ])("%s", (_, text, shown) => {
    expect(escaped(text)).toBe(shown);
    expect(escaped(shown)).toBe(shown);
  });
});

describe("stays as it is", () => {
  test.each([
    ["a family", "👩‍👩‍👧‍👦 👍🏽 ❤️ 🏳️‍🌈 👩🏽‍🚀 1️⃣ #️⃣"],
    ["the flag of a region", "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}"],
    ["accents, composed and not", "é e\u0301 ñ Ž"],
    ["letters that are written from right to left", "שלום مرحبا"],
    ["a Persian word with a non-joiner", "می\u200cخواهم"],
    ["a Devanagari word with joiners", "क्\u200dष र्\u200cय"],
    ["a non-joiner behind a vowel sign", "مِ\u200cخ"],
    ["a Mongolian letter with a selector, and a separator of vowels", "ᠭ\u180bᠠ ᠨ\u180eᠠ"],
    ["an ideograph with a selector", "葛\u{e0100}"],
    ["typography", "— … “x” → ½ $1,000\u00a0USD"],
  ])("%s", (_, text) => {
    expect(code(escaped(text))).toBe(code(text));
  });
});

test("half a character becomes the sign for that", () => {
  expect(escaped("a\ud83d")).toBe("a\ufffd");
});

test("lines of ours stay lines; in a value from outside they do not", () => {
  expect(escapedLines("a\r\nb\n\u202ec\td")).toBe("a\nb\n\\u202ec d");
  expect(clean("a\nb")).toBe("a\nb");
  expect(ownLine(" a\n  b\u200b ")).toBe("a b\\u200b");
  expect(cleanLine(" a\nb ")).toBe("a\\nb");
});

test("a text of any length is escaped in bounded time", () => {
  const tags = "\u{e0041}".repeat(500_000);
  expect(escaped(`🏴${tags}`)).toBe(`🏴${"\\u{e0041}".repeat(500_000)}`);
});

test("JSON keeps its meaning", () => {
  const value = { text: "\u202e\u200b\u009b👍🏽 é\n\u034f\u115f\u3164\ufe00\u{e0100}", "a\u2028": [1] };
  const json = printableJson(JSON.stringify(value, null, 1));
  expect(JSON.parse(json)).toEqual(value);
  expect(json).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u115f\u3164]|\p{Variation_Selector}|\u034f/u);
});
