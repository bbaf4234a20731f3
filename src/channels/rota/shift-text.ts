/** Shift times, and faults of a rota's plan, as text. */
import { formatTime } from "../../domain/text/time-text.ts";
import type { DutyPeriod } from "./plan.ts";

/** `Mon 2026-11-30 09:00 CET`. */
export function formatShiftTime(ms: number, timezone: string): string {
  const weekday = new Intl.DateTimeFormat("en-GB", { timeZone: timezone, weekday: "short" }).format(ms);
  return `${weekday} ${formatTime(ms, timezone).replace(/(\d\d:\d\d):\d\d/, "$1")}`;
}

/** @param period with nobody, or with several people, on duty */
export function faultText({ people, fromMs, toMs }: DutyPeriod, timezone: string): string {
  const span = `from ${formatShiftTime(fromMs, timezone)} to ${formatShiftTime(toMs, timezone)}`;
  if (people.length === 0) return `nobody is on duty ${span}`;
  return `${people.join(" and ")} are on duty at once ${span}: an override would name one`;
}
