/**
 * Values of our own as JSON text, exactly: numbers that JSON does not have (Infinity, NaN, -0) are preserved, since a
 * margin ratio may be infinite. Integers beyond 2^53 (bigint) are written as strings.
 */

const marks: ReadonlySet<string> = new Set(["Infinity", "-Infinity", "NaN", "-0"]);

export function encode(value: unknown): string {
  // A replacer multiplies the cost, and few values need one.
  if (isPlain(value)) return JSON.stringify(value);
  return JSON.stringify(value, (_key, inner: unknown) => {
    if (typeof inner === "bigint") return inner.toString();
    if (typeof inner === "number" && !isPlain(inner))
      return { $number: Object.is(inner, -0) ? "-0" : `${inner}` };
    return inner;
  });
}

/** @throws {SyntaxError} also where a text with such numbers is nested too deeply, from some thousand levels on */
export function decode<T>(text: string): T {
  if (!text.includes('{"$number":')) return JSON.parse(text) as T;
  try {
    return JSON.parse(text, (_key, inner: unknown) => {
      if (typeof inner !== "object" || inner === null) return inner;
      const { $number } = inner as { $number?: unknown };
      return typeof $number === "string" && marks.has($number) ? Number($number) : inner;
    }) as T;
  } catch (error) {
    throw error instanceof RangeError ? new SyntaxError("it is nested too deeply") : error;
  }
}

/** Encodes foreign JSON, such as a record of the exchange: none of its values is read back as one of our markers. */
export function encodeForeign(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return JSON.stringify(value, (_key, inner: unknown) =>
      typeof inner === "bigint" ? inner.toString() : inner,
    );
  }
}

/** Returns true if JSON preserves all of it. */
function isPlain(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value) && !Object.is(value, -0);
  if (typeof value !== "object" || value === null) return typeof value !== "bigint";
  for (const key in value) if (!isPlain((value as Record<string, unknown>)[key])) return false;
  return true;
}
