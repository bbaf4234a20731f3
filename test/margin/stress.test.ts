/** Stress figures of the contract's worked examples, each against what a person gets with pencil and paper. */
import { describe, expect, test } from "vitest";
import { assessAccount } from "../../src/margin/assess.ts";
import { fundingUntilMaintenanceMs } from "../../src/margin/funding.ts";
import type { AccountRisk, MarkTicks } from "../../src/margin/model.ts";
import { movesToLiquidation } from "../../src/margin/moves.ts";
import { exampleAccount, markets, marks } from "./wire.ts";

const cross = exampleAccount(0);
const isolated = exampleAccount(1);

/** Effective collateral less maintenance margin, USD, with each mark moved by its own share. */
function left(account: AccountRisk, moved: Readonly<Record<string, number>>): number {
  const at: MarkTicks = new Map(
    [...marks].map(([symbol, ticks]) => [symbol, Math.round(ticks * (1 + (moved[symbol] ?? 0)))]),
  );
  const { totals } = assessAccount(account, markets, at, { arithmetic: "exact", liquidation: false });
  return (Number(totals!.effectiveCollateralQuoteLots) - Number(totals!.maintenanceMarginQuoteLots)) / 1e6;
}

describe("moves to liquidation of the worked examples", () => {
  const { adverse, together, direction } = movesToLiquidation(cross, markets, marks);

  test("each mark against its own position", () => {
    // BTC falls, SOL rises, ETH (a bid alone) stays: 3082.2925 = x · (15 100 + 27 243 − 377.5 + 908.1).
    expect(adverse).toBeCloseTo(3082.2925 / 42_873.6, 4);
    expect(left(cross, { BTC: -adverse, SOL: adverse })).toBeGreaterThanOrEqual(-1);
    const further = adverse + 0.0005;
    expect(left(cross, { BTC: -further, SOL: further })).toBeLessThan(0);
  });

  test("all marks together", () => {
    // Up: the short loses 27 243 x, the long wins 15 100 x, and all maintenance margin grows: 1353.379 x.
    expect(direction).toBe("up");
    expect(together).toBeCloseTo(3082.2925 / (12_143 + 1353.379), 4);
    const all = (move: number) => ({ BTC: move, SOL: move, ETH: move });
    expect(left(cross, all(together))).toBeGreaterThanOrEqual(-1);
    expect(left(cross, all(together + 0.0005))).toBeLessThan(0);
  });

  test("of a single position both are its liquidation distance", () => {
    const moves = movesToLiquidation(isolated, markets, marks);
    expect(moves.adverse).toBeCloseTo(0.0457, 3);
    expect(moves.together).toBeCloseTo(0.0457, 3);
  });
});

describe("funding until maintenance of the worked examples", () => {
  const hours = (account: AccountRisk, rates: Readonly<Record<string, number>>, at: MarkTicks = marks) =>
    fundingUntilMaintenanceMs(assessAccount(account, markets, at), new Map(Object.entries(rates))) /
    3_600_000;

  test("a long pays a positive rate, a short receives it", () => {
    // GOLD: 900.5 − 482.32 = 418.18 are left, 9646.4 × 0.0001 = 0.96464 are paid an hour.
    expect(hours(isolated, { GOLD: 0.0001 })).toBeCloseTo(418.18 / 0.96464, 6);
    expect(hours(isolated, { GOLD: -0.0001 })).toBe(Number.POSITIVE_INFINITY);
    expect(hours(isolated, { GOLD: 0 })).toBe(Number.POSITIVE_INFINITY);
  });

  test("what one position receives counts against what another pays", () => {
    // BTC long pays 15.1, SOL short receives 13.6215 an hour.
    expect(hours(cross, { BTC: 0.001, SOL: 0.0005 })).toBeCloseTo(3082.2925 / (15.1 - 13.6215), 6);
    expect(hours(cross, { BTC: 0.001, SOL: 0.001 })).toBe(Number.POSITIVE_INFINITY);
    // The order in ETH pays nothing, and its rate need not be known.
    expect(hours(cross, { BTC: 0.001, SOL: 0, ETH: 1 })).toBeCloseTo(3082.2925 / 15.1, 6);
  });

  test("after that time the account stands at its maintenance margin, a moment later below it", () => {
    const paidAfter = (ms: number): AccountRisk => {
      const [gold] = isolated.positions;
      const paid = Math.round(9646.4 * 0.0001 * 1e6 * (ms / 3_600_000));
      const unsettledFundingQuoteLots = Number(gold!.unsettledFundingQuoteLots) - paid;
      return { ...isolated, positions: [{ ...gold!, unsettledFundingQuoteLots }] };
    };
    const ms = hours(isolated, { GOLD: 0.0001 }) * 3_600_000;
    expect(left(paidAfter(ms), {})).toBeCloseTo(0, 4);
    expect(left(paidAfter(ms + 60_000), {})).toBeLessThan(0);
  });

  test("nothing held lasts for ever, nothing left no time at all, an unknown rate or mark is unknown", () => {
    expect(hours({ collateralQuoteLots: 5, positions: [], orders: [] }, {})).toBe(Number.POSITIVE_INFINITY);
    expect(hours({ ...isolated, collateralQuoteLots: 0 }, { GOLD: -1 })).toBe(0);
    expect(hours(cross, { BTC: 0.001 })).toBeNaN();
    expect(hours(isolated, { GOLD: 0.0001 }, new Map())).toBeNaN();
  });
});
