import fc from "fast-check";
import { expect, test } from "vitest";
import { assessAccount } from "../../src/margin/assess.ts";
import { exactFigures, exactMarket, liquidatableAt, maxTicks } from "../../src/margin/exact.ts";
import type { Assessment, MarketAssessment } from "../../src/margin/model.ts";
import { movesToLiquidation } from "../../src/margin/moves.ts";
import { type RandomCase, randomCase, seed } from "./random-account.ts";

console.log(`risk properties: PERPWATCH_SEED=${seed}`);

const sizes = [
  ["within doubles", 10_000_000],
  ["at the edge of doubles", 100_000_000_000],
  ["beyond doubles", 100_000_000_000_000],
] as const;

function holds(largest: number, runs: number, property: (it: RandomCase) => void): void {
  fc.assert(fc.property(randomCase(largest), property), {
    seed,
    numRuns: runs,
    // Shrinking a failure can take minutes; what it has reached by then is told.
    interruptAfterTimeLimit: 10_000,
  });
}

const assess = (it: RandomCase, arithmetic: "auto" | "exact" = "auto"): Assessment =>
  assessAccount(it.account, it.markets, it.marks, { arithmetic });

test.each(sizes)(
  "doubles and bigints give the same answer, liquidation prices too: sizes %s",
  (_name, largest) => {
    holds(largest, 1500, (it) => {
      expect(assess(it)).toEqual(assess(it, "exact"));
    });
  },
);

/** The account's other parts, as the liquidation price holds them. */
function restOf(it: RandomCase, assessed: Assessment, market: MarketAssessment) {
  let collateral = BigInt(assessed.collateralQuoteLots) + BigInt(assessed.unsettledFundingQuoteLots);
  let maintenance = 0n;
  for (const other of assessed.markets) {
    if (other === market) continue;
    collateral += BigInt(other.figures!.discountedQuoteLots);
    maintenance += BigInt(other.figures!.maintenanceMarginQuoteLots);
  }
  const position = it.account.positions.find((one) => one.symbol === market.symbol)!;
  const orders = it.account.orders.filter(
    (order) => order.symbol === market.symbol && (order.status ?? "active") === "active",
  );
  const leg = exactMarket(
    it.markets.get(market.symbol)!,
    position.baseLots,
    position.virtualQuoteLots,
    orders,
    it.marks.get(market.symbol)!,
  );
  return (ticks: number) => liquidatableAt(leg, { collateral, maintenance, spot: [] }, BigInt(ticks));
}

test.each(sizes)("a liquidation price is the tick at which the account turns: sizes %s", (_name, largest) => {
  const seen = { now: 0, below: 0, above: 0, none: 0 };
  holds(largest, 1500, (it) => {
    const assessed = assess(it);
    for (const market of assessed.markets) {
      if (market.baseLots === 0) continue;
      const turned = restOf(it, assessed, market);
      const { liquidation, markTicks } = market;
      const long = market.baseLots > 0;
      expect(liquidation.kind).not.toBe("unknown");
      if (liquidation.kind === "none") {
        seen.none += 1;
        expect(turned(markTicks!)).toBe(false);
        expect(turned(long ? 0 : maxTicks)).toBe(false);
      } else if (liquidation.kind === "price") {
        const { ticks } = liquidation;
        expect(turned(ticks)).toBe(true);
        expect(liquidation.distance).toBeCloseTo(Math.abs(markTicks! - ticks) / markTicks!, 12);
        if (ticks === markTicks) {
          seen.now += 1;
        } else {
          seen[long ? "below" : "above"] += 1;
          expect(long ? ticks < markTicks! : ticks > markTicks!).toBe(true);
          expect(turned(long ? ticks + 1 : ticks - 1)).toBe(false);
        }
      }
    }
  });
  // A generator that never reaches one of the four would prove nothing.
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(20);
});

test("a liquidation price now is a tier of liquidatable or worse", () => {
  holds(10_000_000, 2000, (it) => {
    const assessed = assess(it);
    const { totals } = assessed;
    const now = assessed.markets.some((m) => m.liquidation.kind === "price" && m.liquidation.distance === 0);
    const tier = ["liquidatable", "backstopLiquidatable", "highRisk"].includes(totals!.riskTier);
    if (now) expect(tier || totals!.marginRatio > 1).toBe(true);
    if (tier && totals!.marginRatio > 1) {
      for (const market of assessed.markets) {
        if (market.baseLots !== 0) expect(market.liquidation).toMatchObject({ kind: "price", distance: 0 });
      }
    }
  });
});

test("moves to liquidation lie at the boundary of the summed requirements", () => {
  let found = 0;
  holds(10_000_000, 2000, (it) => {
    const assessed = assess(it);
    const moves = movesToLiquidation(it.account, it.markets, it.marks);
    const legs = assessed.markets.map((market) => {
      const position = it.account.positions.find((one) => one.symbol === market.symbol);
      const orders = it.account.orders.filter(
        (o) => o.symbol === market.symbol && (o.status ?? "active") === "active",
      );
      const mark = it.marks.get(market.symbol)!;
      const leg = exactMarket(
        it.markets.get(market.symbol)!,
        position?.baseLots ?? 0,
        position?.virtualQuoteLots ?? 0,
        orders,
        mark,
      );
      return { leg, mark };
    });
    const excess = (move: number): number => {
      let sum = BigInt(assessed.collateralQuoteLots) + BigInt(assessed.unsettledFundingQuoteLots);
      for (const { leg, mark } of legs) {
        const figures = exactFigures(leg, BigInt(Math.round(mark * (1 + move))));
        sum += figures.discountedQuoteLots - figures.maintenanceMarginQuoteLots;
      }
      return Number(sum);
    };
    // Whole ticks are coarse for small marks.
    if (legs.some(({ mark }) => mark < 10_000)) return;
    if (moves.direction === undefined || moves.together < 0.01) return;
    const sign = moves.direction === "up" ? 1 : -1;
    found += 1;
    // Half a tick of 10 000 or more, of everything that a tick moves.
    let moved = Number(assessed.totals!.grossNotionalQuoteLots);
    for (const order of it.account.orders) {
      const market = it.markets.get(order.symbol)!;
      moved += Number(order.remainingLots) * it.marks.get(order.symbol)! * market.tickSize;
    }
    const tolerance = moved * 1e-4 + 20;
    expect(excess(sign * moves.together)).toBeGreaterThan(-tolerance);
    expect(excess(sign * (moves.together + 0.002))).toBeLessThan(tolerance);
  });
  expect(found).toBeGreaterThan(10);
});
