import fc from "fast-check";
import { expect, test } from "vitest";
import { assessAccount } from "../../src/margin/assess.ts";
import { fundingUntilMaintenanceMs } from "../../src/margin/funding.ts";
import type { AccountRisk } from "../../src/margin/model.ts";
import { movesToLiquidation } from "../../src/margin/moves.ts";
import { Sheet } from "../../src/margin/sheet.ts";
import { edgeCase, flatCase, type RandomCase, randomCase, seed } from "./random-account.ts";

const runs = Number(process.env.PERPWATCH_RUNS ?? 600);
console.log(`sheet: PERPWATCH_SEED=${seed}`);

const rates = new Map(["A", "B", "C"].map((symbol, i) => [symbol, (i - 1) * 1e-5]));

const sums = [
  "effectiveCollateralQuoteLots",
  "portfolioValueQuoteLots",
  "unrealizedQuoteLots",
  "freeCollateralQuoteLots",
  "grossNotionalQuoteLots",
  "netNotionalQuoteLots",
  "initialMarginQuoteLots",
  "cancelMarginQuoteLots",
  "maintenanceMarginQuoteLots",
  "backstopMarginQuoteLots",
  "highRiskMarginQuoteLots",
  "marginRatio",
  "leverage",
  "riskState",
  "riskTier",
] as const;

test.each<[string, fc.Arbitrary<RandomCase>, answersAtLeast: number, more?: number]>([
  ["of sizes within doubles", randomCase(10_000_000), 0.5],
  ["of sizes at the edge of doubles", randomCase(100_000_000_000), 0],
  ["of sizes beyond doubles", randomCase(100_000_000_000_000), 0],
  ["of a few lots with next to nothing left over", edgeCase(randomCase(3)), 0.5],
  ["with next to nothing left over", edgeCase(randomCase(10_000_000)), 0.5],
  ["of a profit that hardly moves what is left over", edgeCase(flatCase), 0.5, 5],
  ["with next to nothing left over at the edge of doubles", edgeCase(randomCase(1_000_000_000)), 0],
])(
  "one sheet for account after account says what each of them is assessed to: accounts %s",
  (_name, cases, answersAtLeast, more = 1) => {
    const sheet = new Sheet();
    const seen = { asked: 0, answered: 0 };
    fc.assert(
      fc.property(cases, fc.integer({ min: 0, max: 1e9 }), (it, spotLots) => {
        const spot =
          spotLots % 3 === 0
            ? [{ notionalQuoteLots: spotLots, discountedQuoteLots: spotLots >> 1 }]
            : undefined;
        const account: AccountRisk = { ...it.account, spot };
        const { markets, marks } = it;
        seen.asked++;
        if (!sheet.assess(account, markets, marks)) return;
        seen.answered++;
        const assessed = assessAccount(account, markets, marks);
        const totals = assessed.totals!;
        for (const sum of sums) expect(sheet[sum], sum).toBe(totals[sum]);
        expect(sheet.count).toBe(assessed.markets.length);
        for (const [i, one] of assessed.markets.entries()) {
          const leg = sheet.legOf(one.symbol, i)!;
          expect(leg).toBe(sheet.legs[i]);
          expect(leg.markTicks).toBe(one.markTicks);
          expect({ ...leg.figures }).toEqual({ ...one.figures });
          const { liquidation } = one;
          expect(leg.liquidationTicks).toBe(liquidation.kind === "price" ? liquidation.ticks : Number.NaN);
        }
        const moves = movesToLiquidation(account, markets, marks, assessed);
        expect(sheet.together()).toBe(moves.together);
        expect(sheet.adverse()).toBe(moves.adverse);
        expect(sheet.fundingUntilMs(rates)).toBe(fundingUntilMaintenanceMs(assessed, rates));
        // A market that is held without a known rate makes it unknown.
        const [first] = rates.keys();
        const some = new Map([...rates].filter(([symbol]) => symbol !== first));
        expect(sheet.fundingUntilMs(some)).toBe(fundingUntilMaintenanceMs(assessed, some));
      }),
      { seed, numRuns: runs * more, interruptAfterTimeLimit: 10_000 * Math.ceil(runs / 600) },
    );
    expect(seen.answered).toBeGreaterThanOrEqual(seen.asked * answersAtLeast);
  },
);

test("a sheet does not answer where an input is unknown", () => {
  const sheet = new Sheet();
  fc.assert(
    fc.property(randomCase(10_000_000), (it) => {
      const [symbol] = it.markets.keys();
      const { positions, orders } = it.account;
      const concerned =
        positions.some((one) => one.symbol === symbol) ||
        orders.some((one) => one.symbol === symbol && (one.status ?? "active") === "active");
      if (!concerned) return;
      const without = <T>(map: ReadonlyMap<string, T>) => new Map([...map].filter(([key]) => key !== symbol));
      expect(sheet.assess(it.account, without(it.markets), it.marks)).toBe(false);
      expect(sheet.assess(it.account, it.markets, without(it.marks))).toBe(false);
      const half = { ...it.account, collateralQuoteLots: 0.5 };
      expect(sheet.assess(half, it.markets, it.marks)).toBe(false);
    }),
    { seed, numRuns: 300 },
  );
});
