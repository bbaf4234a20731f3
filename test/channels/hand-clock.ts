/** A clock that a test moves; sockets work in real time. */
import type { Clock } from "../../src/domain/clock.ts";
import { atMs } from "./messages.ts";

export interface HandClock extends Clock {
  /** Moves time and runs what falls due. */
  pass(ms: number): void;
  /** Waits until a timer is set. @param ms its duration; left out: any */
  asked(ms?: number): Promise<void>;
}

export function handClock(startMs = atMs): HandClock {
  let elapsed = 0;
  const waiters: (() => void)[] = [];
  const due = new Set<{ readonly ms: number; readonly atMs: number; readonly run: () => void }>();
  return {
    nowMs: () => startMs + elapsed,
    elapsedMs: () => elapsed,
    sleep(ms, signal) {
      return new Promise((resolve, reject) => {
        const onAbort = () => {
          cancel();
          reject(signal?.reason);
        };
        const cancel = this.after(ms, () => {
          signal?.removeEventListener("abort", onAbort);
          resolve();
        });
        signal?.addEventListener("abort", onAbort, { once: true });
      });
    },
    after(ms, run) {
      const entry = { ms, atMs: elapsed + ms, run };
      due.add(entry);
      for (const tell of waiters.splice(0)) tell();
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
    async asked(ms) {
      const waits = () => [...due].some((entry) => ms === undefined || entry.ms === ms);
      while (!waits()) await new Promise<void>((resolve) => waiters.push(resolve));
    },
  };
}
