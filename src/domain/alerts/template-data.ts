/**
 * The values and texts that templates of channels print, and what becomes of it: values by name, and texts that know which
 * of them is whose.
 */

/** Durations are ms, times are ms since the epoch, ratios are fractions, money is USD. */
export type TemplateValue = number | boolean | string | Readonly<Record<string, number | boolean | string>>;

/** `position.markPrice`: by owner, then by field. What is not known is left out. */
export type TemplateFacts = Readonly<Record<string, Readonly<Record<string, TemplateValue>>>>;

export interface TemplateData {
  /** The time that `now` and `ago` speak of, ms. */
  readonly atMs: number;
  readonly facts: TemplateFacts;
}

/** A field of the vocabulary that a template names. */
export interface NamedFact {
  readonly owner: string;
  readonly field: string;
}

/** `own` stands in the template as its author wrote it; a `value` was written by somebody else. */
export type WordedPart = { readonly own: string } | { readonly value: string };
export type WordedText = readonly WordedPart[];

/** As plain text. */
export function flat(words: WordedText): string {
  return words.map((part) => ("own" in part ? part.own : part.value)).join("");
}
