import { afterAll, afterEach, beforeEach } from "vitest";
import { report } from "./measure.ts";

/** For a file whose tests try one thing each: a row for all of them, at its end. */
export function reportTests(attack: string): void {
  let [tests, longestMs, startMs] = [0, 0, 0];
  beforeEach(() => {
    startMs = performance.now();
  });
  afterEach(({ task }) => {
    if (task.result?.state === "skip") return;
    tests++;
    longestMs = Math.max(longestMs, performance.now() - startMs);
  });
  afterAll(() => {
    const peakMb = process.memoryUsage().rss / 1_048_576;
    report({ attack, inputs: tests, longestMs, peakMb });
  });
}
