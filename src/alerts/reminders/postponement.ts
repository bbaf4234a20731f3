/**
 * Postpones due reminders and other notifications of an alert: until its first judgement after a start or a standstill,
 * or, if its level no longer holds, until its fall or end. Pure.
 */

import { isBuiltIn } from "../../domain/alerts/built-in.ts";
import type { LiveAlert } from "../live-alert.ts";

/**
 * Time after which a reminder of a condition that does not hold is due again, ms: the alert has ended by then, or may
 * hold again.
 */
const postponedMs = 10_000;

/** Maximum wait for the first judgement after a start, ms: short, because a daemon may restart repeatedly. */
const unjudgedForMs = 10_000;

/**
 * Returns the time until which due notifications of an alert wait, ms: for its first judgement after a start, or, if
 * its level no longer holds, for its fall or end. Null: they do not wait.
 */
export function waitsUntilMs(live: LiveAlert, nowMs: number): number | null {
  if (nowMs < live.waitsToMs) return live.waitsToMs;
  if (live.unjudged) {
    live.unjudgedUntilMs ??= nowMs + unjudgedForMs;
    if (nowMs < live.unjudgedUntilMs) live.waitsToMs = live.unjudgedUntilMs;
  }
  if (nowMs >= live.waitsToMs && (live.isGone(nowMs) || live.isBetter()))
    live.waitsToMs = nowMs + postponedMs;
  return nowMs < live.waitsToMs ? live.waitsToMs : null;
}

/**
 * Ends the wait of an alert from before a start or a standstill, judged by data of `dataAtMs`. @returns true if a due
 * notification waited for this
 */
export function endsWait(live: LiveAlert, dataAtMs: number): boolean {
  if (!live.unjudged || dataAtMs < live.stoodStillMs) return false;
  live.unjudged = false;
  if (live.unjudgedUntilMs === null && !live.waitsAnew) return false;
  live.waitsAnew = false;
  live.unjudgedUntilMs = null;
  live.waitsToMs = Number.NEGATIVE_INFINITY;
  return true;
}

/**
 * Postpones due notifications after the process was suspended, as after a start. Until the judgement the wait restarts
 * only once, so that a machine that is suspended repeatedly still sends them.
 */
export function waitsAfterStandstill(live: LiveAlert, atMs: number): void {
  if (live.waitsAnew) return;
  live.waitsAnew = live.unjudgedUntilMs !== null;
  live.unjudged = !isBuiltIn(live.alert.rule);
  live.unjudgedUntilMs = null;
  live.stoodStillMs = atMs;
}
