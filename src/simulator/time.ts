/**
 * The simulator's own time: where it started, plus what has passed since at `speed`, plus what it was moved by.
 * It never goes back, whatever the machine's wall clock does.
 */
import type { Clock } from "../domain/clock.ts";

export interface SimulatedTime {
  /** Unix ms. */
  nowMs(): number;
  /** Moves time forward at once. */
  advance(ms: number): void;
  /** Simulated ms that pass in one real ms; 0: time stands still but for `advance`. */
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
/** The slot at the Unix epoch's end of this era: chosen so that slots look like today's. */
const slotOffset = 4_073_915_800;

/** The ledger's clock at a time. Starts over nowhere: two worlds that start at different times agree. */
export function slotAt(ms: number): number {
  return Math.floor(ms / slotMs) - slotOffset;
}
