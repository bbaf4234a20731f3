import { expect, test } from "vitest";
import { HeldProfit } from "../../src/state/profit/held-profit.ts";

const limit = 0.5;
const none = Number.NEGATIVE_INFINITY;

/** A trade of so much, whose fills tell that they leave so much to hide. */
function known(held: HeldProfit, atMs: number, usd: number, leftUsd = usd): void {
  held.add(atMs, usd);
  held.prove({ atMs, fromUsd: usd, toUsd: leftUsd });
}

test("a trade is let go of by a reading of the history two minutes after it, or after three without one", () => {
  const held = new HeldProfit();
  held.add(0, 10);
  held.take(7);
  held.take(5);
  expect(held.release(124_999, true, limit)).toBe(none);
  expect(held.release(125_000, false, limit)).toBe(none);
  expect([held.isEmpty, held.usd, held.sinceMs]).toEqual([false, 10, 0]);
  expect(held.release(125_000, true, limit)).toBe(7);
  expect([held.isEmpty, held.usd, held.sinceMs]).toEqual([true, 0, Number.POSITIVE_INFINITY]);
  held.add(130_000, 10);
  expect(held.release(309_999, false, limit)).toBe(none);
  held.release(310_000, false, limit);
  expect(held.isEmpty).toBe(true);
});

test("a trade whose fills are known is let go of at once where they hide little, else 20 s after it, or after a minute", () => {
  const held = new HeldProfit();
  known(held, 0, 10, limit);
  held.take(7);
  expect(held.release(1, false, limit)).toBe(7);
  known(held, 0, 10, 1);
  expect(held.usd).toBe(1);
  held.take(7);
  expect(held.release(19_999, true, limit)).toBe(none);
  expect(held.release(20_000, false, limit)).toBe(none);
  expect(held.release(20_000, true, limit)).toBe(7);
  known(held, 30_000, 10);
  expect(held.release(89_999, false, limit)).toBe(none);
  held.release(90_000, false, limit);
  expect(held.isEmpty).toBe(true);
});

test("one of two trades within seconds whose fills are not known holds both", () => {
  const held = new HeldProfit();
  held.add(0, 10);
  known(held, 1_000, 5, 0.1);
  held.release(60_000, true, limit);
  expect([held.isEmpty, held.usd]).toEqual([false, 10.1]);
  held.prove({ atMs: 0, fromUsd: 10, toUsd: 0.2 });
  held.release(60_000, false, limit);
  expect(held.isEmpty).toBe(true);
});

test("the history is read after five and twenty seconds, and after two minutes where fills are not known", () => {
  const held = new HeldProfit();
  expect(held.nextReadMs(0)).toBe(Number.POSITIVE_INFINITY);
  held.add(0, 10);
  expect([0, 5_000, 20_000, 125_000].map((ms) => held.nextReadMs(ms))).toEqual([
    ...[5_000, 20_000, 125_000, Number.POSITIVE_INFINITY],
  ]);
  held.prove({ atMs: 0, fromUsd: 10, toUsd: 1 });
  expect([5_000, 20_000].map((ms) => held.nextReadMs(ms))).toEqual([20_000, Number.POSITIVE_INFINITY]);
});

test("the history is read two minutes after a trade whose fills are not known, though those of a newer one are", () => {
  const held = new HeldProfit();
  held.add(0, 10);
  known(held, 10_000, 5, 0);
  expect(held.nextReadMs(60_000)).toBe(125_000);
});

test("a restart keeps which fills are not known", () => {
  const held = new HeldProfit();
  known(held, 0, 10, 1);
  held.add(10_000, 10);
  const again = new HeldProfit();
  again.restore(JSON.parse(JSON.stringify(held.kept)));
  again.release(20_000, true, limit);
  expect([again.sinceMs, again.usd]).toEqual([10_000, 10]);
  again.release(124_999, true, limit);
  expect(again.isEmpty).toBe(false);
});

test("each trade has its own time, those within five seconds of each other that of the newest", () => {
  const held = new HeldProfit();
  for (const atMs of [0, 4_999, 5_000, 30_000]) known(held, atMs, 1);
  expect(held.usd).toBe(4);
  held.release(24_998, true, limit);
  expect(held.sinceMs).toBe(0);
  held.release(24_999, true, limit);
  expect([held.sinceMs, held.usd]).toEqual([5_000, 2]);
  held.release(65_000, false, limit);
  expect([held.sinceMs, held.usd]).toEqual([30_000, 1]);
});

test("the highest profit of a trade's time is known without what was paid in", () => {
  const held = new HeldProfit();
  held.take(100);
  known(held, 0, 50);
  held.take(40);
  known(held, 10_000, 50);
  held.take(60);
  held.paidIn(35);
  held.take(20);
  expect(held.release(20_000, true, limit)).toBe(5);
  expect(held.release(30_000, true, limit)).toBe(25);
});
