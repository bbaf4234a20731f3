import { describe, expect, test } from "vitest";
import { assessAccount } from "../../src/margin/assess.ts";
import type { AccountRisk, PositionRisk } from "../../src/margin/model.ts";
import { movesToLiquidation } from "../../src/margin/moves.ts";
import { priceSpot } from "../../src/margin/spot.ts";
import { exampleAccount, markets, marks } from "./wire.ts";

const moves = (account: AccountRisk) => movesToLiquidation(account, markets, marks);

/** One position opened at the mark. */
function opened(symbol: string, baseLots: number): PositionRisk {
  const virtualQuoteLots = -baseLots * marks.get(symbol)! * markets.get(symbol)!.tickSize;
  return { symbol, baseLots, virtualQuoteLots, unsettledFundingQuoteLots: 0 };
}

function distanceOf(account: AccountRisk, symbol: string): number {
  const market = assessAccount(account, markets, marks).markets.find((one) => one.symbol === symbol);
  return market?.liquidation.kind === "price" ? market.liquidation.distance : Number.NaN;
}

describe("moves to liquidation", () => {
  test("of one position are its liquidation distance, down for a long and up for a short", () => {
    const long = exampleAccount(1);
    const down = moves(long);
    expect(down.direction).toBe("down");
    expect(down.together).toBeCloseTo(distanceOf(long, "GOLD"), 3);
    expect(down.adverse).toBeCloseTo(down.together, 4);

    const short = { ...long, positions: [opened("GOLD", -4000)] };
    const up = moves(short);
    expect(up.direction).toBe("up");
    expect(up.together).toBeCloseTo(distanceOf(short, "GOLD"), 3);
    expect(up.adverse).toBeCloseTo(up.together, 4);
  });

  test("together a hedge is far, adversely it is near", () => {
    // Long and short of equal value: 50 BTC lots at 60 400 against 20 000 SOL lots at 15 100.
    const account = {
      collateralQuoteLots: 1_000_000_000,
      positions: [opened("BTC", 2500), opened("SOL", -9977)],
      orders: [],
    };
    const { together, adverse } = moves(account);
    // Maintenance is 377.5 + 503.3; every percent against both costs 151 + 151 and changes it little.
    expect(adverse).toBeGreaterThan(0.003);
    expect(adverse).toBeLessThan(0.005);
    expect(together).toBeGreaterThan(0.1);
    expect(adverse).toBeLessThan(together);
  });

  test("nothing at stake is never liquidated, nothing left is already", () => {
    const never = {
      together: Number.POSITIVE_INFINITY,
      direction: undefined,
      adverse: Number.POSITIVE_INFINITY,
    };
    expect(moves({ collateralQuoteLots: 5, positions: [], orders: [] })).toEqual(never);
    expect(moves({ ...exampleAccount(1), collateralQuoteLots: 20_000_000_000 })).toEqual(never);
    expect(moves({ ...exampleAccount(1), collateralQuoteLots: 0 })).toMatchObject({
      together: 0,
      adverse: 0,
    });
  });

  test("without a mark they are unknown", () => {
    expect(movesToLiquidation(exampleAccount(0), markets, new Map()).together).toBeNaN();
  });
});

describe("spot collateral", () => {
  const sol = markets.get("SOL")!;
  const asset = {
    decimals: 9,
    maxGlobalBalance: 1_000_000_000_000,
    minMarginDiscountBps: 1000,
    maxMarginDiscountBps: 3000,
  };

  test("is priced at the index and discounted by the size of the balance", () => {
    // 100 SOL at 150.00 are 15 000 USD; a tenth of the largest balance: 10 % + 2 % discount.
    expect(priceSpot(asset, 100_000_000_000, sol, 15_000)).toEqual({
      notionalQuoteLots: 15_000_000_000,
      discountedQuoteLots: 13_200_000_000,
      repricing: { symbol: "SOL", balance: 100_000_000_000, unitsPerLot: 10_000_000, retainedBps: 8800 },
    });
    // Beyond the largest balance the discount grows no more.
    expect(priceSpot(asset, 2_000_000_000_000, sol, 15_000)?.repricing?.retainedBps).toBe(7000);
    expect(priceSpot(asset, 1n, sol, 15_000)?.notionalQuoteLots).toBe(0);
  });

  test("that cannot be priced is none", () => {
    expect(priceSpot(asset, 1, sol, 0)).toBeUndefined();
    expect(priceSpot({ ...asset, maxGlobalBalance: 0 }, 1, sol, 1)).toBeUndefined();
    expect(priceSpot({ ...asset, decimals: 1 }, 1, sol, 1)).toBeUndefined();
    expect(priceSpot({ ...asset, decimals: 1_000_000_000 }, 1, sol, 1)).toBeUndefined();
  });

  test("counts as collateral, and follows the mark of its own market towards a liquidation price", () => {
    const spot = priceSpot(asset, 100_000_000_000, sol, 15_135)!;
    const short = { collateralQuoteLots: 0, positions: [opened("SOL", -10_000)], orders: [] };
    const still = { ...short, spot: [{ ...spot, repricing: undefined }] };
    const moving = { ...short, spot: [spot] };
    const totals = assessAccount(moving, markets, marks).totals!;
    expect(totals.effectiveCollateralQuoteLots).toBe(spot.discountedQuoteLots);
    expect(totals.effectiveCollateralForWithdrawalsQuoteLots).toBe(0);
    expect(totals.portfolioValueQuoteLots).toBe(15_135_000_000);
    // Held still, 100 SOL of collateral are worth 13 318.8: P (1 + 1/30) = 151.35 + 133.188.
    expect(distanceOf(still, "SOL")).toBeCloseTo((151.35 + 133.188) / (1 + 1 / 30) / 151.35 - 1, 3);
    // Growing with the price they cover 88 % of the loss: P (1 + 1/30 − 0.88) = 151.35.
    expect(distanceOf(moving, "SOL")).toBeCloseTo(1 / (1 + 1 / 30 - 0.88) - 1, 3);
    expect(moves(moving).together).toBeCloseTo(distanceOf(moving, "SOL"), 3);
  });
});
