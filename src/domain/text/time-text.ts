/** Times as text, with their zone. */

/** Returns true if a time can be written as a date: neither infinite, nor NaN, nor beyond what `Date` takes. */
export function hasDate(ms: number): boolean {
  return Math.abs(ms) <= 8.64e15;
}

/** `2026-11-21 03:41:18 UTC`; in another zone its own short name or offset stands at the end. */
export function formatTime(ms: number, timezone = "UTC"): string {
  const part = partsOf(ms, timezone);
  return `${part("year")}-${part("month")}-${part("day")} ${clockText(part)}`;
}

/** `03:41:18 UTC`. */
export function timeOfDay(ms: number, timezone = "UTC"): string {
  return clockText(partsOf(ms, timezone));
}

type Part = (name: Intl.DateTimeFormatPartTypes) => string;

function clockText(part: Part): string {
  return `${part("hour")}:${part("minute")}:${part("second")} ${part("timeZoneName")}`;
}

function partsOf(ms: number, timezone: string): Part {
  const parts = new Map(
    formatter(timezone)
      .formatToParts(ms)
      .map(({ type, value }) => [type, value]),
  );
  return (name) => parts.get(name) ?? "";
}

const formatters = new Map<string, Intl.DateTimeFormat>();

function formatter(timezone: string): Intl.DateTimeFormat {
  const known = formatters.get(timezone);
  if (known !== undefined) return known;
  const made = new Intl.DateTimeFormat("en-GB", {
    timeZone: timezone,
    hourCycle: "h23",
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    timeZoneName: "short",
  });
  formatters.set(timezone, made);
  return made;
}
