/**
 * The values that templates of channels print, and the resulting texts, split into the template's own text and printed
 * values.
 */

/** Durations are ms, times are ms since the epoch, ratios are fractions, money is USD. */
export type TemplateValue = number | boolean | string | Readonly<Record<string, number | boolean | string>>;

/** `position.markPrice`: by owner, then by field. Unknown values are absent. */
export type TemplateFacts = Readonly<Record<string, Readonly<Record<string, TemplateValue>>>>;

export interface TemplateData {
  /** The time that `now` and `ago` refer to, ms. */
  readonly atMs: number;
  readonly facts: TemplateFacts;
}

/** A field of the vocabulary that a template names. */
export interface NamedFact {
  readonly owner: string;
  readonly field: string;
}

/** `own`: text of the template itself; `value`: a printed value. */
export type WordedPart = { readonly own: string } | { readonly value: string };
export type WordedText = readonly WordedPart[];

/** Returns the plain text. */
export function flat(words: WordedText): string {
  return words.map((part) => ("own" in part ? part.own : part.value)).join("");
}
