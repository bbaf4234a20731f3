/** Times as texts have them. */

/** `2026-11-21 03:41:18 UTC`, in a time zone. */
export function timeIn(timeZone: string, ms: number): string {
  const parts = new Map(
    formatter(timeZone)
      .formatToParts(ms)
      .map(({ type, value }) => [type, value]),
  );
  const [year, month, day, hour, minute, second, zone] = order.map((name) => parts.get(name));
  return `${year}-${month}-${day} ${hour}:${minute}:${second} ${zone}`;
}

const order = ["year", "month", "day", "hour", "minute", "second", "timeZoneName"] as const;
const formatters = new Map<string, Intl.DateTimeFormat>();

function formatter(timeZone: string): Intl.DateTimeFormat {
  const made =
    formatters.get(timeZone) ??
    new Intl.DateTimeFormat("en-GB", {
      ...{ timeZone, hourCycle: "h23", year: "numeric", month: "2-digit", day: "2-digit" },
      ...{ hour: "2-digit", minute: "2-digit", second: "2-digit", timeZoneName: "short" },
    });
  formatters.set(timeZone, made);
  return made;
}
