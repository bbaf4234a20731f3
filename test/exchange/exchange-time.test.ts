import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ExchangeTime } from "../../src/exchange/exchange-time.ts";
import { retryAfterMs } from "../../src/exchange/retry-after.ts";
import { FakeClock } from "../support/clock.ts";

/** Answers of an exchange whose clock is `aheadMs` ahead, each after `rttMs`. */
async function hear(clock: FakeClock, time: ExchangeTime, aheadMs: number, rttsMs: readonly number[]) {
  for (const rttMs of rttsMs) {
    const sentMs = clock.elapsedMs();
    await clock.advance(rttMs / 2);
    const date = new Date(clock.nowMs() + aheadMs).toUTCString();
    await clock.advance(rttMs / 2);
    time.sample(sentMs, clock.elapsedMs(), date);
    await clock.advance(730);
  }
}

describe("the exchange's clock", () => {
  test("is ours until something says otherwise", () => {
    const time = new ExchangeTime(new FakeClock(1_000));
    expect([time.known, time.offsetMs, time.nowMs()]).toEqual([false, 0, 1_000]);
  });

  test("is found to within a fifth of a second, whatever the offset and the round trips", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: -10_000_000, max: 10_000_000 }),
        fc.array(fc.integer({ min: 2, max: 300 }), { minLength: 20, maxLength: 40 }),
        async (aheadMs, rttsMs) => {
          const clock = new FakeClock("2026-01-01T00:00:00.123Z");
          const time = new ExchangeTime(clock);
          await hear(clock, time, aheadMs, rttsMs);
          expect(Math.abs(time.offsetMs + aheadMs)).toBeLessThanOrEqual(200);
        },
      ),
      { numRuns: 30 },
    );
  });

  test("shows no noise while both agree", async () => {
    const clock = new FakeClock("2026-01-01T00:00:00.000Z");
    const time = new ExchangeTime(clock);
    await hear(clock, time, 0, Array(40).fill(40));
    expect(time.offsetMs).toBe(0);
  });

  test("a jump of our own wall clock shows at once", async () => {
    const clock = new FakeClock("2026-01-01T00:00:00.400Z");
    const time = new ExchangeTime(clock);
    await hear(clock, time, 0, Array(20).fill(50));
    clock.setWall(clock.nowMs() + 90_000);
    expect(time.offsetMs).toBeGreaterThan(89_500);
    expect(time.offsetMs).toBeLessThan(90_500);
  });

  test("one answer that contradicts is not believed; three are", async () => {
    const clock = new FakeClock("2026-01-01T00:00:00.400Z");
    const time = new ExchangeTime(clock);
    await hear(clock, time, 0, Array(20).fill(50));
    await hear(clock, time, -30_000, [50]);
    expect(time.offsetMs).toBe(0);
    await hear(clock, time, 0, Array(5).fill(50));
    expect(time.offsetMs).toBe(0);
    await hear(clock, time, -30_000, Array(3).fill(50));
    expect(Math.abs(time.offsetMs - 30_000)).toBeLessThan(1_000);
  });

  test("a time more than a day off is reported once and not taken, until it is believable again", async () => {
    for (const wrongMs of [-2 * 86_400_000, 400 * 86_400_000]) {
      const clock = new FakeClock("2026-01-01T00:00:00.400Z");
      const refused: number[] = [];
      const time = new ExchangeTime(clock, 86_400_000, (offsetMs) => refused.push(offsetMs));
      await hear(clock, time, wrongMs, Array(20).fill(50));
      expect([time.known, time.offsetMs]).toEqual([false, 0]);
      expect(refused).toHaveLength(1);
      expect(Math.abs(refused[0]! + wrongMs)).toBeLessThan(2_000);
      await hear(clock, time, 30_000, Array(20).fill(50));
      expect(time.refusedOffsetMs).toBeNull();
      expect(Math.abs(time.offsetMs + 30_000)).toBeLessThan(1_000);
      await hear(clock, time, wrongMs, Array(20).fill(50));
      expect(refused).toHaveLength(2);
      expect(Math.abs(time.offsetMs + 30_000)).toBeLessThan(1_000);
    }
  });

  test("a header that is no date changes nothing", () => {
    const time = new ExchangeTime(new FakeClock(0));
    time.sample(0, 1, "yesterday");
    expect(time.known).toBe(false);
  });
});

test.each([
  [null, null],
  ["2", 2_000],
  ["0", 0],
  [" 1.25 ", 1_250],
  ["0.0001", 1],
  ["-3", null],
  ["1e3", null],
  ["soon", null],
  ["", null],
  ["99999999999", 300_000],
  ["Thu, 01 Jan 2026 00:00:10 GMT", 10_000],
  ["Wed, 31 Dec 2025 23:59:00 GMT", 0],
])("Retry-After %j is %s ms", (header, expected) => {
  expect(retryAfterMs(header, Date.parse("2026-01-01T00:00:00Z"))).toBe(expected);
});
