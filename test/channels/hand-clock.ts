/** A clock that a test moves by hand; sockets run on. */
import type { Clock } from "../../src/domain/clock.ts";
import { atMs } from "./messages.ts";

export interface HandClock extends Clock {
  /** Moves time and runs what falls due. */
  pass(ms: number): void;
  /** Waits until somebody has asked to be called. */
  asked(): Promise<void>;
}

export function handClock(startMs = atMs): HandClock {
  let elapsed = 0;
  const told: (() => void)[] = [];
  const due = new Set<{ readonly atMs: number; readonly run: () => void }>();
  return {
    nowMs: () => startMs + elapsed,
    elapsedMs: () => elapsed,
    sleep: () => Promise.reject(new Error("channels do not sleep")),
    after(ms, run) {
      const entry = { atMs: elapsed + ms, run };
      due.add(entry);
      for (const tell of told.splice(0)) tell();
      return () => void due.delete(entry);
    },
    pass(ms) {
      elapsed += ms;
      for (const entry of [...due]) {
        if (entry.atMs > elapsed) continue;
        due.delete(entry);
        entry.run();
      }
    },
    asked: () => (due.size > 0 ? Promise.resolve() : new Promise((resolve) => told.push(resolve))),
  };
}
