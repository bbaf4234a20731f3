/** The timing wheel: due when it should be, however many wait, and nothing made up for. */
import { expect, test } from "vitest";
import { nextTurn, Wheel, type WheelEntry } from "../../src/collect/schedule/wheel.ts";
import { seededRandom } from "../../src/domain/clock.ts";
import { FakeClock } from "../support/clock.ts";

const entry = (): WheelEntry => ({ dueMs: Number.POSITIVE_INFINITY, slot: -1 });

test("entries are due at their moment, rounded up to 10 ms, in order, near and far", async () => {
  const clock = new FakeClock();
  const log: [number, number][] = [];
  const wheel = new Wheel<WheelEntry>(clock, (one) => log.push([one.dueMs, clock.elapsedMs()]));
  for (const ms of [5, 10, 81_925, 11, 300_000, 82_000, 81_915, 0]) wheel.set(entry(), ms);
  await clock.advance(400_000);
  expect(log).toEqual([
    [0, 0],
    [5, 10],
    [10, 10],
    [11, 20],
    [81_915, 81_920],
    [81_925, 81_930],
    [82_000, 82_000],
    [300_000, 300_000],
  ]);
  expect(wheel.size).toBe(0);
  expect(clock.pending).toBe(0);
});

test("an entry that is set again is due once, one that is cancelled never", async () => {
  const clock = new FakeClock();
  let runs = 0;
  const wheel = new Wheel<WheelEntry>(clock, () => runs++);
  const [moved, gone] = [entry(), entry()];
  wheel.set(moved, 50);
  wheel.set(gone, 60);
  wheel.set(moved, 100_000);
  wheel.cancel(gone);
  await clock.advance(99_999);
  expect(runs).toBe(0);
  await clock.advance(1);
  expect(runs).toBe(1);
});

test("10,000 entries every 5 s: each runs each time, on its beat, in small portions", async () => {
  const clock = new FakeClock();
  const random = seededRandom(4);
  const runs = new Map<WheelEntry, number[]>();
  let atOnce = 0;
  let most = 0;
  let atMs = -1;
  const wheel = new Wheel<WheelEntry>(clock, (one) => {
    if (clock.elapsedMs() !== atMs) atOnce = 0;
    atMs = clock.elapsedMs();
    most = Math.max(most, ++atOnce);
    runs.get(one)!.push(one.dueMs);
    wheel.set(one, nextTurn(one.dueMs, 5_000, clock.elapsedMs()));
  });
  for (let i = 0; i < 10_000; i++) {
    const one = entry();
    runs.set(one, []);
    wheel.set(one, random() * 5_000);
  }
  await clock.advance(20_000);
  for (const [, times] of runs) {
    expect(times.length).toBe(4);
    // No drift: exactly 5 s apart, although each was worked up to 10 ms late.
    expect(times[3]! - times[0]!).toBeCloseTo(15_000, 6);
  }
  expect(most).toBeLessThan(60);
});

test("what is due after a stall comes in portions, each entry once", async () => {
  const clock = new FakeClock();
  const portions: number[] = [];
  let count = 0;
  const wheel = new Wheel<WheelEntry>(clock, () => {
    if (count++ > 0) return;
    setImmediate(() => {
      portions.push(count);
      count = 0;
    });
  });
  for (let i = 0; i < 1_000; i++) wheel.set(entry(), 1_000);
  await clock.advance(3_600_000);
  expect(portions.reduce((sum, one) => sum + one, 0)).toBe(1_000);
  expect(Math.max(...portions)).toBeLessThanOrEqual(200);
});

test.each([
  // last, every, now → next
  [0, 1_000, 0, 1_000],
  [0, 1_000, 999, 1_000],
  [0, 1_000, 1_000, 2_000],
  [300, 1_000, 5_800, 6_300],
  [300, 1_000, 60_300, 61_300],
])("the turn after %d of every %d, at %d, is %d", (last, every, now, next) => {
  expect(nextTurn(last, every, now)).toBe(next);
});
