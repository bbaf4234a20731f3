/** The names of the exchange's sources, in words for people who do not know the names of schedules. */

import { type Source, sources, sourceTable } from "../sources.ts";
import type { StretchedSource } from "../status.ts";
import { formatDurationMs } from "./duration.ts";

/** Returns a text that follows "no": `no prices`. */
export const sourceWords = Object.fromEntries(
  sources.map((source) => [source, sourceTable[source].words]),
) as Readonly<Record<Source, string>>;

/** Returns one line about sources that are read less often than configured. */
export function stretchedText(stretched: readonly StretchedSource[]): string {
  const parts = stretched.map(
    ({ source, staleAfterMs, usuallyMs }) =>
      `${sourceWords[source]} after ${formatDurationMs(staleAfterMs)} (${formatDurationMs(usuallyMs)} as configured)`,
  );
  return `fewer requests are granted than the schedules take, so data count as too old later: ${parts.join(", ")}`;
}
