/** The end of an alert about missing data of one wallet names the others of which something is missing still. */
import type { Life } from "./lives.ts";
import type { Readings } from "./readings.ts";

type Change = Life["changes"][number];

/** Accounts that were not read for so long are missing beyond doubt, ms. */
const missingMs = 30_000;

/**
 * @param changes those of all alerts about missing data
 * @param wallets those whose accounts may not be missing unsaid
 */
export function unnamedBeside(
  end: Change,
  changes: readonly Change[],
  wallets: ReadonlySet<string>,
  readings: Readings,
): readonly string[] {
  const { alert, alertId, atMs, details } = end;
  if (!wallets.has(alert.subject)) return [];
  const told = details.find(([name]) => name === "Still without data")?.[1].split(", ") ?? [];
  const others = new Map<number, Change>();
  for (const one of changes) if (one.alertId !== alertId && one.atMs < atMs) others.set(one.alertId, one);
  return [...others.values()].flatMap(({ kind, alert: { id, subject, rule } }) => {
    if (kind === "ended" || !wallets.has(subject) || subject === alert.subject) return [];
    const endsToo = changes.some((one) => one.alertId === id && one.kind === "ended" && one.atMs === atMs);
    const isMissing = readings
      .at("traderState", subject, atMs)
      .every((ms) => ms !== undefined && atMs - (ms ?? readings.startedMs ?? atMs) > missingMs);
    return endsToo || !isMissing || told.includes(subject)
      ? []
      : [`a row "Still without data" that names ${subject}, of which alert ${id} (${rule}) is`];
  });
}
