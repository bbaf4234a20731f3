import { describe, expect, test } from "vitest";
import { leverageAt, limitOrderFactorAt } from "../../src/margin/tiers.ts";
import {
  baseLotsFromUnits,
  bpsFromPercent,
  intFrom,
  quoteLotsFromUsd,
  ticksFromUsd,
  unitsFromBaseLots,
  usdFromQuoteLots,
  usdFromTicks,
} from "../../src/margin/units.ts";
import { markets } from "./wire.ts";

const tiers = [
  { maxSizeBaseLots: 1000, maxLeverage: 20, limitOrderRiskFactorBps: 6000 },
  { maxSizeBaseLots: 2000, maxLeverage: 10, limitOrderRiskFactorBps: 10_000 },
  { maxSizeBaseLots: 2n ** 60n, maxLeverage: 10, limitOrderRiskFactorBps: 10_000 },
];

test.each([
  [0, 20, 6000],
  [1000, 20, 6000],
  // One lot into the line: 20 − 0.01 and 6000 + 4, truncated.
  [1001, 19, 6004],
  [1099, 19, 6396],
  [1100, 19, 6400],
  [1101, 18, 6404],
  [1999, 10, 9996],
  [2000, 10, 10_000],
  [2001, 10, 10_000],
  [2n ** 60n, 10, 10_000],
  [2n ** 60n + 1n, 1, 10_000],
])("at a size of %s: leverage %i, order factor %i", (size, leverage, factor) => {
  expect(leverageAt(tiers, size)).toBe(leverage);
  expect(limitOrderFactorAt(tiers, size)).toBe(factor);
});

test("without tiers, and below a leverage of 1, everything is paid in full", () => {
  expect(leverageAt([], 1)).toBe(1);
  expect(limitOrderFactorAt([], 1)).toBe(10_000);
  expect(leverageAt([{ maxSizeBaseLots: 9, maxLeverage: 0, limitOrderRiskFactorBps: 1 }], 1)).toBe(1);
});

describe("units", () => {
  const btc = markets.get("BTC")!;
  const whole = { tickSize: 10, baseLotsDecimals: -2 };

  test("ticks and USD", () => {
    expect(ticksFromUsd(60_400, btc)).toBe(60_400);
    expect(ticksFromUsd(151.354, markets.get("SOL")!)).toBe(15_135);
    expect(ticksFromUsd(151.355, markets.get("SOL")!)).toBe(15_136);
    expect(ticksFromUsd(Number.NaN, btc)).toBeNaN();
    // Lots of 100 units: a tick is 10 micro-dollars per lot.
    expect(usdFromTicks(5, whole)).toBeCloseTo(0.0000005, 15);
    expect(ticksFromUsd(0.0000005, whole)).toBe(5);
  });

  test("lots and units", () => {
    expect(unitsFromBaseLots(-2500, btc)).toBe(-0.25);
    expect(unitsFromBaseLots(3n, whole)).toBe(300);
    expect(baseLotsFromUnits(0.25, btc)).toBe(2500);
    expect(baseLotsFromUnits(300, whole)).toBe(3);
    expect(usdFromQuoteLots(1_020_000)).toBe(1.02);
    expect(quoteLotsFromUsd(-1.02)).toBe(-1_020_000);
    expect(bpsFromPercent(0.07)).toBe(7);
  });

  test("integers from the wire", () => {
    expect(intFrom("9007199254740991")).toBe(9_007_199_254_740_991);
    expect(intFrom("9007199254740993")).toBe(9_007_199_254_740_993n);
    expect(intFrom("-18446744073709551616")).toBe(-(2n ** 64n));
    expect(Object.is(intFrom("-0"), 0)).toBe(true);
    expect(intFrom(7)).toBe(7);
    expect(intFrom(2n ** 70n)).toBe(2n ** 70n);
    for (const wrong of [1.5, 2 ** 53, "1.5", "", "1e3", "0x10", null, undefined, {}]) {
      expect(intFrom(wrong)).toBeNaN();
    }
  });
});
