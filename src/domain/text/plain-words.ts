/** Returns a word of a fixed list in plain writing: `atRisk` → `at risk`, `order_filled` → `order filled`. */
export function plainWords(word: string): string {
  return word.replaceAll("_", " ").replace(/(?<=[a-z0-9])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}
