/** Finds the place in YAML source of a character of a parsed text. */

/**
 * @param raw the scalar in the file, including quotes
 * @param value the parsed text
 * @returns the place in `raw` of the character at `offset` of the value
 */
export function offsetInScalar(raw: string, value: string, offset: number): number {
  const direct = raw.indexOf(value);
  if (direct >= 0) return direct + offset;
  const from =
    raw[0] === "|" || raw[0] === ">" ? raw.indexOf("\n") : raw[0] === '"' || raw[0] === "'" ? 1 : 0;
  return sameLetter(raw, from, value.slice(0, offset));
}

/**
 * Returns the place of the character after `before` in text that YAML folds, indents or escapes: characters other than
 * white space are in the same order in both.
 */
function sameLetter(raw: string, from: number, before: string): number {
  let left = before.replace(/\s/g, "").length;
  const quote = raw[0];
  let i = from;
  const isSpace = () => i < raw.length && /\s/.test(raw[i]!);
  while (i < raw.length) {
    while (isSpace()) i++;
    if (left === 0) break;
    if (quote === '"' && raw[i] === "\\") {
      const escaped = raw[i + 1] ?? "";
      i += { x: 4, u: 6, U: 10 }[escaped] ?? 2;
      if (/[ntr\s]/.test(escaped)) continue;
    } else i += quote === "'" && raw.startsWith("''", i) ? 2 : 1;
    left--;
  }
  return Math.min(i, raw.length);
}
