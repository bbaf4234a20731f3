/** Lots, ticks and prices of markets with −4 … 9 lot decimals, against exact rational arithmetic. */
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  decimalText,
  parseDecimal,
  priceText,
  scaledRound,
  shortDecimal,
  ticksNearest,
} from "../../src/contract/index.ts";
import {
  baseLotsFromUnits,
  entryPriceUsd,
  ticksFromUsd,
  unitsFromBaseLots,
  usdFromTicks,
} from "../../src/domain/market-scale.ts";
import { microPerUnit } from "../../src/simulator/decimals.ts";
import { close, ofDouble, ofText, rational, same, shifted } from "../support/exact.ts";

const scale = fc.record({
  baseLotsDecimals: fc.integer({ min: -4, max: 9 }),
  tickSize: fc.constantFrom(1, 10, 100, 1_000, 7, 25),
});
const ticks = fc.integer({ min: 1, max: 2 ** 32 - 1 });
const lots = fc.bigInt({ min: 1n, max: 10n ** 15n });

test("a price in ticks is the exact decimal, and as a double the nearest there is", () => {
  fc.assert(
    fc.property(scale, ticks, (market, count) => {
      const exact = shifted(rational(BigInt(count) * BigInt(market.tickSize)), market.baseLotsDecimals - 6);
      expect(same(ofText(priceText(BigInt(count), market)), exact)).toBe(true);
      expect(close(ofDouble(usdFromTicks(count, market)), exact, 1n)).toBe(true);
    }),
  );
});

test("a price finds its own tick again, exactly and in doubles", () => {
  fc.assert(
    fc.property(scale, ticks, (market, count) => {
      expect(ticksNearest(priceText(BigInt(count), market), market)).toBe(BigInt(count));
      expect(ticksFromUsd(usdFromTicks(count, market), market)).toBe(count);
    }),
  );
});

test("any decimal finds the tick that is at most half a tick away", () => {
  const price = fc
    .tuple(fc.bigInt({ min: 0n, max: 10n ** 12n }), fc.integer({ min: 0, max: 12 }))
    .map(([value, places]) => decimalText(value, places));
  fc.assert(
    fc.property(scale, price, (market, text) => {
      const found = ticksNearest(text, market) ?? -1n;
      const perTick = shifted(rational(BigInt(market.tickSize)), market.baseLotsDecimals - 6);
      const wanted = ofText(text);
      // |wanted − found × perTick| × 2 ≤ perTick
      const away = wanted.n * perTick.d - found * perTick.n * wanted.d;
      expect((away < 0n ? -away : away) * 2n <= perTick.n * wanted.d).toBe(true);
    }),
  );
});

test("lots, units and their texts", () => {
  fc.assert(
    fc.property(scale, lots, fc.boolean(), (market, size, short) => {
      const count = short ? -size : size;
      const { baseLotsDecimals } = market;
      const exact = shifted(rational(count), -baseLotsDecimals);
      const text = shortDecimal(count, baseLotsDecimals);
      expect(same(ofText(text.replace("-", "")), { ...exact, n: size === count ? exact.n : -exact.n })).toBe(
        true,
      );
      expect(parseDecimal(text, baseLotsDecimals)).toBe(count);
      expect(close(ofDouble(unitsFromBaseLots(count, market)), exact, 1n)).toBe(true);
      expect(baseLotsFromUnits(unitsFromBaseLots(count, market), market)).toBe(Number(count));
    }),
  );
});

test("an average price is |quote| / |lots| a unit", () => {
  fc.assert(
    fc.property(scale, lots, lots, (market, size, quote) => {
      const { baseLotsDecimals } = market;
      const exact = shifted({ n: quote, d: size }, baseLotsDecimals - 6);
      expect(close(ofDouble(entryPriceUsd(size, -quote, market)), exact, 4n)).toBe(true);
      const micro = shifted(exact, 6);
      expect(microPerUnit(-quote, size, baseLotsDecimals)).toBe(micro.n / micro.d);
      const rounded = scaledRound(quote, baseLotsDecimals, size);
      expect((2n * micro.n + micro.d) / (2n * micro.d)).toBe(rounded);
      expect(scaledRound(-quote, baseLotsDecimals, size)).toBe(-rounded);
    }),
  );
});

test("a size that is not a whole number of lots is refused", () => {
  expect(parseDecimal("12300", -2)).toBe(123n);
  expect(parseDecimal("12345", -2)).toBeUndefined();
  expect(parseDecimal("100.5", -2)).toBeUndefined();
  expect(parseDecimal("0.125", 2)).toBeUndefined();
});
