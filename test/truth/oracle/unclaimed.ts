/** Figures of a text that no claim is about: each figure is either held against the truth, or part of what its rule says at all times. */
import type { Claim, Text } from "./predicate.ts";

/** Figures of rules that are the same in each of their texts. */
const constants = /\bwith 429\b|\bbegins at 100%|\(limit 100%\)|\bwithin 0\.5% of the mid price/g;
/** Names have digits, too, and begin with a letter. */
const figure = /^[^a-z].*[\d∞]|^[\d∞]/i;
const punctuation = /^[("'“`]+|(?:×|\/h)?[)"'”`.,;:!?]*$/g;

export function unclaimed({ summary, description }: Text, claims: readonly Claim[]): readonly string[] {
  const claimed = new Map<string, number>();
  for (const claim of claims)
    for (const word of wordsOf(("words" in claim && claim.words) || claim.text))
      claimed.set(word, (claimed.get(word) ?? 0) + 1);
  return [summary, description].flatMap((text) =>
    wordsOf(text.replace(constants, "")).flatMap((word) => {
      if (!figure.test(word)) return [];
      const left = claimed.get(word) ?? 0;
      if (left === 0) return [`nothing is known that ${word} may be`];
      claimed.set(word, left - 1);
      return [];
    }),
  );
}

/**
 * Figures that may not be known: the end of some sessions, and fees and funding of today before their histories were read.
 */
const unknown = /opens again –|fees –|funding –/g;

/** A text has no place where a figure is not known. */
export function missingIn({ summary, description }: Text): readonly string[] {
  const words = [summary, description.replaceAll(unknown, "")].flatMap(wordsOf);
  return words.includes("–") ? ["a figure is missing"] : [];
}

const wordsOf = (text: string): readonly string[] =>
  text.split(/\s+/).map((word) => word.replace(punctuation, ""));
