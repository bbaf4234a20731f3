/**
 * Reminders and other notifications that are due about an alert wait: for its first judgement after a start or a standstill, or,
 * where its level no longer holds, for its fall or end. Pure.
 */

import { isBuiltIn } from "../../domain/built-in.ts";
import type { LiveAlert } from "../live-alert.ts";

/** A reminder of a condition that does not hold is due again after this, ms: the alert ended by then, or it may hold again. */
const postponedMs = 10_000;

/** After a start what is due about an alert waits for its first judgement for so long, ms: not for long, as a daemon may be restarted again and again. */
const unjudgedForMs = 10_000;

/**
 * The time until which what is due about an alert waits, ms: for its first judgement after a start, or, where its level no longer
 * holds, for its fall or end. Null: it does not wait.
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

/** An alert of before a start or a standstill is judged, by data of `dataAtMs`. @returns true if something waited for that, and is due */
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
 * The process stood still, and nothing could be judged meanwhile: what is due waits for that, as after a start. Until it is judged
 * a wait begins anew once: on a machine that stands still again and again nothing would ever be due.
 */
export function waitsAfterStandstill(live: LiveAlert, atMs: number): void {
  if (live.waitsAnew) return;
  live.waitsAnew = live.unjudgedUntilMs !== null;
  live.unjudged = !isBuiltIn(live.alert.rule);
  live.unjudgedUntilMs = null;
  live.stoodStillMs = atMs;
}
