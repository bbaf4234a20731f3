/** Parses YAML of others within bounds: its parser needs up to 2 KB for a character, and longer where that is a mistake. */
import { Lexer, parseDocument } from "yaml";

/** Words, signs and line ends; a configuration of 1,500 wallets has fewer. */
const maxParts = 60_000;

/** Said of a text with more. */
export const tooManyParts = "the file holds too much: more than 60,000 words and signs";

/** @returns null where there is too much in the text */
export function parsedYaml(
  text: string,
  options: Parameters<typeof parseDocument>[1],
): ReturnType<typeof parseDocument> | null {
  let parts = 0;
  for (const _ of new Lexer().lex(text)) if (++parts > maxParts) return null;
  const { stackTraceLimit } = Error;
  // Each mistake in a text is an error; its trace would cost more than all the rest.
  Error.stackTraceLimit = 0;
  try {
    return parseDocument(text, options);
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}
