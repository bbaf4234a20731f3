/**
 * Parser of all time formats of the exchange. Endpoints differ: Unix seconds, Unix milliseconds, either of them in a
 * string, or ISO 8601 / RFC 3339 text with up to nanoseconds. perpwatch uses Unix milliseconds.
 */

const MAX_SECONDS = 1e11;
const MAX_MILLISECONDS = 1e14;

/** Maximum range of a request for PnL, portfolio values or funding. */
export const ONE_YEAR_MS = 365 * 86_400_000;

/**
 * Converts a wire time to Unix milliseconds; undefined: it cannot be parsed. Numbers and strings of digits below 10^11
 * are seconds, below 10^14 milliseconds; any other string goes to the date parser (digits beyond milliseconds are cut).
 */
export function readTime(wire: unknown): number | undefined {
  if (typeof wire === "number") return fromMagnitude(wire);
  if (typeof wire !== "string" || wire === "") return undefined;
  if (/^-?\d+(?:\.\d+)?$/.test(wire)) return fromMagnitude(Number(wire));
  const ms = Date.parse(wire);
  return Number.isNaN(ms) ? undefined : ms;
}

function fromMagnitude(value: number): number | undefined {
  if (!Number.isFinite(value) || Math.abs(value) >= MAX_MILLISECONDS) return undefined;
  return Math.round(Math.abs(value) < MAX_SECONDS ? value * 1000 : value);
}
