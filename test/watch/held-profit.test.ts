import { expect, test } from "vitest";
import { HeldProfit } from "../../src/watch/held-profit.ts";

const none = Number.NEGATIVE_INFINITY;

test("a trade is let go of by a reading of the history 20 s after it, or after a minute without one", () => {
  const held = new HeldProfit();
  held.add(0, 10);
  held.take(7);
  held.take(5);
  expect(held.release(19_999, true)).toBe(none);
  expect(held.release(20_000, false)).toBe(none);
  expect([held.isEmpty, held.usd, held.sinceMs]).toEqual([false, 10, 0]);
  expect(held.release(20_000, true)).toBe(7);
  expect([held.isEmpty, held.usd, held.sinceMs]).toEqual([true, 0, Number.POSITIVE_INFINITY]);
  held.add(30_000, 10);
  expect(held.release(89_999, false)).toBe(none);
  held.release(90_000, false);
  expect(held.isEmpty).toBe(true);
});

test("each trade has its own time, those within five seconds of each other that of the newest", () => {
  const held = new HeldProfit();
  for (const atMs of [0, 4_999, 5_000, 30_000]) held.add(atMs, 1);
  expect(held.usd).toBe(4);
  held.release(24_998, true);
  expect(held.sinceMs).toBe(0);
  held.release(24_999, true);
  expect([held.sinceMs, held.usd]).toEqual([5_000, 2]);
  held.release(65_000, false);
  expect([held.sinceMs, held.usd]).toEqual([30_000, 1]);
});

test("the highest profit of a trade's time is known without what was paid in", () => {
  const held = new HeldProfit();
  held.take(100);
  held.add(0, 50);
  held.take(40);
  held.add(10_000, 50);
  held.take(60);
  held.paidIn(35);
  held.take(20);
  expect(held.release(20_000, true)).toBe(5);
  expect(held.release(30_000, true)).toBe(25);
});
