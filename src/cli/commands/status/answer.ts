/** The daemon's answer as the tables of `perpwatch status` take it: figures, times and the age of data. */

import type { Source } from "../../../domain/sources.ts";
import { formatDurationMs } from "../../../domain/text/duration.ts";
import { formatTime, timeOfDay } from "../../../domain/text/time-text.ts";
import type { Unit } from "../../../rules/vocabulary/field-types.ts";
import type { StatusAnswer } from "../../../web/api.ts";
import type { Wire, WireNumber } from "../../../web/wire.ts";
import type { Paint } from "../../terminal/print.ts";

export type Status = Wire<StatusAnswer>;

export type Figures = Readonly<Record<string, WireNumber | null>>;

export type Show = (value: WireNumber | null | undefined, unit: Unit) => string;

export type Time = (ms: number) => string;

/** With its date where that is not plain. */
export function timeText(ms: number, nowMs: number, timezone: string): string {
  return (Math.abs(nowMs - ms) > 12 * 3_600_000 ? formatTime : timeOfDay)(ms, timezone);
}

interface Age {
  readonly text: string;
  readonly stale: boolean;
}

/** Older than three of its intervals, and ten seconds, is stale: rules do not judge by it much longer. */
export function ageOf(
  status: Status,
  sources: readonly Source[],
  wallet: string | null,
): (seenMs: number | null) => Age {
  const own = status.schedules.filter(
    (one) => sources.includes(one.source) && (one.wallet === null || one.wallet === wallet),
  );
  const everyMs = Math.max(0, ...own.map((one) => Number(one.everyMs)));
  const nowMs = Number(status.nowMs);
  return (seenMs) => {
    if (seenMs === null) return { text: "never", stale: true };
    const ageMs = Math.max(0, nowMs - seenMs);
    return { text: formatDurationMs(ageMs), stale: ageMs > Math.max(10_000, 3 * everyMs) };
  };
}

export function ageCell({ text, stale }: Age, paint: Paint): string {
  if (text === "never") return paint("yellow", text);
  return stale ? paint("yellow", `STALE ${text}`) : text;
}

export function numberOf(value: WireNumber | null | undefined): number | null {
  return value === null || value === undefined ? null : Number(value);
}
