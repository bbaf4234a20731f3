/** Parses untrusted YAML within bounds: the parser needs up to 2 KB per character, and more time for mistakes. */
import { Lexer, parseDocument } from "yaml";

/** Maximum number of words, signs and line ends; a configuration of 1,500 wallets has fewer. */
const maxParts = 60_000;

/** The message for a text with more. */
export const tooManyParts = "the file holds too much: more than 60,000 words and signs";

/** @returns null if the text has more */
export function parsedYaml(
  text: string,
  options: Parameters<typeof parseDocument>[1],
): ReturnType<typeof parseDocument> | null {
  let parts = 0;
  for (const _ of new Lexer().lex(text)) if (++parts > maxParts) return null;
  const { stackTraceLimit } = Error;
  // Each mistake is an Error; stack traces would cost more than the parsing.
  Error.stackTraceLimit = 0;
  try {
    return parseDocument(text, options);
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}
