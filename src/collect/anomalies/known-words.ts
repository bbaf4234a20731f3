/**
 * Enums are closed in the rule language and open on the wire: an unknown value reads as "other", and is reported once.
 */
export type OnUnknownWord = (field: string, word: string) => void;

export function wordOf(
  known: readonly string[],
  word: string,
  field: string,
  onUnknown: OnUnknownWord,
): string {
  if (known.includes(word)) return word;
  onUnknown(field, word);
  return "other";
}
