/** Silences: matching notifications are held for a time, not dropped. Pure. */
import type { Severity } from "../../domain/alerts/alert.ts";
import type { Silence } from "../../domain/alerts/silence.ts";
import { covers } from "../reminders/quiet.ts";
import { type Labels, matches } from "./match.ts";

export function isActive(silence: Silence, nowMs: number): boolean {
  return silence.startsMs <= nowMs && nowMs < silence.endsMs;
}

export function silences(silence: Silence, labels: Labels, severity: Severity, nowMs: number): boolean {
  return isActive(silence, nowMs) && covers(silence.upTo, severity) && matches(silence.match, labels);
}
