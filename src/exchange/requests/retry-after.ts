/** Upper limit of a requested wait: the cause may end sooner. */
const MAX_MS = 300_000;

/**
 * Parses `Retry-After`: seconds, maybe with a fraction, or an HTTP date.
 *
 * @param nowMs the exchange's time, to which its date refers
 * @returns ms to wait, never negative, at most five minutes; null: there is no header, or it cannot be parsed
 */
export function retryAfterMs(header: string | null, nowMs: number): number | null {
  if (header === null) return null;
  const text = header.trim();
  const ms = /^\d+(\.\d+)?$/.test(text)
    ? Math.ceil(Number(text) * 1_000)
    : /^[A-Za-z]{3,9},? /.test(text)
      ? Date.parse(text) - nowMs
      : Number.NaN;
  return Number.isNaN(ms) ? null : Math.min(Math.max(0, ms), MAX_MS);
}
