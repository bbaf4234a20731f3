/** Formats numbers for messages: with their unit and the digits that matter. */
import { formatDurationMs } from "../domain/text/duration.ts";
import {
  absentText,
  formatAmount,
  formatPercent,
  formatPrice,
  formatRate,
  formatTimes,
  formatUsd,
  significant,
} from "../domain/text/number-text.ts";
import { hasDate } from "../domain/text/time-text.ts";
import type { Unit } from "./vocabulary/field-types.ts";

export { absentText, formatAmount, formatPercent, formatPrice, formatUsd };

/** @param tickUsd tick of the market whose price it is, if known */
export function formatNumber(value: number, unit: Unit, tickUsd?: number): string {
  switch (unit) {
    case "usd":
      return formatUsd(value);
    case "price":
      return formatPrice(value, tickUsd);
    case "ratio":
      return formatPercent(value);
    case "rate":
      return `${formatRate(value)}/h`;
    case "yearlyRate":
      return `${formatRate(value)}/year`;
    case "times":
      return formatTimes(value);
    case "bytes":
      return formatBytes(value);
    case "duration":
      return formatDurationMs(value);
    case "time":
      return formatTime(value);
    default:
      return formatAmount(value);
  }
}

/** Formats a time relative to now: `2m 30s ago`, `in 5h`. */
export function formatAgo(ms: number): string {
  if (Number.isNaN(ms)) return absentText;
  if (ms === Number.POSITIVE_INFINITY) return "never";
  if (Math.abs(ms) < 1_000) return "just now";
  const whole = formatDurationMs(Math.floor(Math.abs(ms) / 1_000) * 1_000);
  return ms > 0 ? `${whole} ago` : `in ${whole}`;
}

function formatBytes(value: number): string {
  const units = ["B", "KB", "MB", "GB", "TB"];
  let rest = value;
  let unit = 0;
  while (Math.abs(rest) >= 1_000 && unit < units.length - 1) {
    rest /= 1_000;
    unit++;
  }
  return `${significant(rest, 3)} ${units[unit]}`;
}

function formatTime(ms: number): string {
  if (!hasDate(ms)) return absentText;
  return `${new Date(ms).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}
