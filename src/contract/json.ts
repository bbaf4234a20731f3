/**
 * JSON without rounding. `JSON.parse` turns an integer literal above 2^53 into the nearest double before anyone can
 * look at it; the exchange's sequence numbers reach 2^64. `parseJson` keeps such literals as decimal strings, which
 * every integer field of the contract accepts.
 */

/** A run of 16 or more digits that begins a value (after `:`, `[`, `,` or at the start): maybe beyond 2^53. */
const longInteger = /(?:^|[:[,])\s*-?\d{16}/;

type Reviver = (this: unknown, key: string, value: unknown, context: { source?: string }) => unknown;
const parseWithSource = JSON.parse as (text: string, reviver: Reviver) => unknown;

/**
 * Parses JSON; integer literals beyond ±(2^53 − 1) come out as decimal strings, everything else as usual.
 * Throws SyntaxError on bad JSON. Costs one regular expression more than `JSON.parse` unless such a literal may be
 * there (long digits inside strings, such as sequence numbers in quotes, do not count).
 */
export function parseJson(text: string): unknown {
  if (!longInteger.test(text)) return JSON.parse(text);
  return parseWithSource(text, (_key, value, { source }) =>
    typeof value === "number" &&
    !Number.isSafeInteger(value) &&
    source !== undefined &&
    /^-?\d+$/.test(source)
      ? source
      : value,
  );
}

/** `JSON.stringify` that writes bigints as decimal strings, the exchange's own form for large integers. */
export function writeJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === "bigint" ? inner.toString() : inner,
  );
}
