/**
 * The simulator's time: its start, plus the elapsed time at `speed`, plus all advances. It never goes back, whatever
 * the machine's wall clock does.
 */
import type { Clock } from "../domain/clock.ts";

export interface SimulatedTime {
  /** Unix ms. */
  nowMs(): number;
  /** Moves time forward at once. */
  advance(ms: number): void;
  /** Simulated ms in one real ms; 0: time advances only by `advance`. */
  readonly speed: number;
  readonly startMs: number;
}

export function simulatedTime(clock: Clock, speed: number, startMs: number): SimulatedTime {
  const from = clock.elapsedMs();
  let moved = 0;
  return {
    speed,
    startMs,
    nowMs: () => startMs + moved + Math.floor((clock.elapsedMs() - from) * speed),
    advance: (ms) => {
      moved += ms;
    },
  };
}

/** One slot of the ledger, ms. */
export const slotMs = 400;
/** Chosen so that slot numbers are similar to present ones of the live ledger. */
const slotOffset = 4_073_915_800;

/** The slot at a time. It depends on the time alone: worlds with different starts agree. */
export function slotAt(ms: number): number {
  return Math.floor(ms / slotMs) - slotOffset;
}
