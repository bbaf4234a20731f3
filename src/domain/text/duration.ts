/** Durations as users write them: `250ms`, `5s`, `10m`, `4h`, `7d`, `1y`. */

const unitMs: Record<string, number> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
  y: 31_536_000_000,
};

/** @returns milliseconds, or undefined when the text is no duration. Parts may be joined: `1h30m`. */
export function parseDurationMs(text: string): number | undefined {
  if (!/^(\d+(\.\d+)?(ms|s|m|h|d|w|y))+$/.test(text)) return undefined;
  let total = 0;
  for (const [, amount, , unit] of text.matchAll(/(\d+(\.\d+)?)(ms|s|m|h|d|w|y)/g)) {
    total += Number(amount) * (unitMs[unit as string] as number);
  }
  return Number.isSafeInteger(Math.round(total)) ? Math.round(total) : undefined;
}

/** Returns the two largest units: `45s`, `1m 30s`, `2h 5m`, `3d 4h`. Negative durations keep their sign. */
export function formatDurationMs(ms: number): string {
  if (!Number.isFinite(ms)) return ms > 0 ? "∞" : "–";
  const sign = ms < 0 ? "-" : "";
  const abs = Math.abs(ms);
  if (abs < 1_000) return `${sign}${Math.round(abs)}ms`;
  if (abs < 10_000) return `${sign}${(Math.round(abs / 100) / 10).toString()}s`;
  const parts: string[] = [];
  let rest = Math.round(abs / 1_000);
  for (const [name, size] of [
    ["d", 86_400],
    ["h", 3_600],
    ["m", 60],
    ["s", 1],
  ] as const) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0) parts.push(`${count}${name}`);
    else if (parts.length > 0) break;
    if (parts.length === 2) break;
  }
  return sign + parts.join(" ");
}
