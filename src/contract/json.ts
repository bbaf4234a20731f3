/**
 * JSON without rounding. `JSON.parse` rounds an integer literal above 2^53 to the nearest double; the exchange's
 * sequence numbers reach 2^64. `parseJson` keeps such literals as decimal strings, which every integer field of the
 * contract accepts.
 */

type Reviver = (this: unknown, key: string, value: unknown, context: { source?: string }) => unknown;
const parseWithSource = JSON.parse as (text: string, reviver: Reviver) => unknown;

/**
 * Parses JSON; integer literals beyond ±(2^53 − 1) become decimal strings. Takes little longer than `JSON.parse` unless
 * the text may contain such a literal (long digits in quotes, the usual form of sequence numbers, do not count).
 * @throws SyntaxError for invalid JSON
 */
export function parseJson(text: string): unknown {
  // Text of nested brackets takes 50 bytes a character in the parser.
  if (text.length > maxUncheckedLength && isDeep(text)) throw new SyntaxError("it is nested too deeply");
  if (!mayHoldLongInteger(text)) return JSON.parse(text);
  try {
    return parseWithSource(text, (_key, value, { source }) =>
      typeof value === "number" &&
      !Number.isSafeInteger(value) &&
      source !== undefined &&
      /^-?\d+$/.test(source)
        ? source
        : value,
    );
  } catch (error) {
    // A reviver recurses on each level; JSON that is nested too deeply for that is parsed without one.
    if (!(error instanceof RangeError)) throw error;
    return JSON.parse(withQuotedIntegers(text));
  }
}

/** Length from which the depth of a text is limited, characters. */
const maxUncheckedLength = 500_000;
const maxDepth = 1_000;

function isDeep(text: string): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    // Brackets and braces differ from each other in one bit.
    else if ((code | 0x20) === OPEN) depth++;
    else if ((code | 0x20) === CLOSE) depth--;
    if (depth > maxDepth) return true;
  }
  return false;
}

/** @returns the index of the quote that ends a string; the length of the text: none does */
function endOfString(text: string, start: number): number {
  for (let at = start; ; ) {
    at = text.indexOf('"', at + 1);
    if (at === -1) return text.length;
    let before = at;
    while (text.charCodeAt(before - 1) === BACKSLASH) before--;
    if ((at - before) % 2 === 0) return at;
  }
}

/** Returns valid JSON with integers beyond 2^53 as strings and everything else unchanged. */
function withQuotedIntegers(text: string): string {
  return text.replace(/"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/gs, (token) =>
    /^-?\d+$/.test(token) && !Number.isSafeInteger(Number(token)) ? `"${token}"` : token,
  );
}

/** Writes JSON with bigints as decimal strings, the exchange's form for large integers. */
export function writeJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === "bigint" ? inner.toString() : inner,
  );
}

/** 2^53 has 16 digits. */
const LONG = 16;
const [ZERO, NINE, QUOTE, DOT] = [0x30, 0x39, 0x22, 0x2e];
const [BACKSLASH, OPEN, CLOSE] = [0x5c, 0x7b, 0x7d];

/**
 * Returns true if the text may contain a run of 16 or more digits outside quotes: runs directly after a quote or a
 * decimal point are ignored. Such a run covers a multiple of 16, so only every 16th character is checked (a regular
 * expression over the whole text takes as long as parsing it).
 */
function mayHoldLongInteger(text: string): boolean {
  for (let at = LONG - 1; at < text.length; at += LONG) {
    if (!isDigit(text.charCodeAt(at))) continue;
    let start = at;
    while (start > 0 && isDigit(text.charCodeAt(start - 1))) start--;
    let end = at + 1;
    while (end < text.length && isDigit(text.charCodeAt(end))) end++;
    const before = start === 0 ? 0 : text.charCodeAt(start - 1);
    if (end - start >= LONG && before !== QUOTE && before !== DOT) return true;
    // Continue after the run, so that no run is read twice; the next one cannot end before end + 16.
    at = end - 1;
  }
  return false;
}

function isDigit(code: number): boolean {
  return code >= ZERO && code <= NINE;
}
