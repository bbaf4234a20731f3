/** Random accounts for property tests: every shape of position, order and market, at every magnitude. */

import fc from "fast-check";
import type { AccountRisk, MarketRisk, OrderRisk, PositionRisk } from "../../src/risk/model.ts";
import { shrink } from "../../src/risk/units.ts";

export interface RandomCase {
  account: AccountRisk;
  markets: Map<string, MarketRisk>;
  marks: Map<string, number>;
}

/** The seed of this run; tests print it when they fail, and `PERPWATCH_SEED` repeats a run. */
export const seed = Number(process.env.PERPWATCH_SEED ?? Date.now() % 2 ** 31);

const tiers = fc
  .array(
    fc.record({
      width: fc.integer({ min: 1, max: 10_000_000 }),
      leverage: fc.integer({ min: 1, max: 50 }),
      factor: fc.integer({ min: 1, max: 10_000 }),
    }),
    { minLength: 1, maxLength: 4 },
  )
  .map((steps) => {
    let upTo = 0;
    let leverage = 100;
    return steps.map((step) => {
      upTo += step.width;
      leverage = Math.min(leverage, step.leverage);
      return { maxSizeBaseLots: upTo, maxLeverage: leverage, limitOrderRiskFactorBps: step.factor };
    });
  });

const share = fc.integer({ min: 1, max: 10_000 });

const market = (symbol: string) =>
  fc.record({
    symbol: fc.constant(symbol),
    tickSize: fc.constantFrom(1, 10, 100, 1000),
    baseLotsDecimals: fc.integer({ min: -2, max: 5 }),
    leverageTiers: tiers,
    riskFactors: fc.record({
      maintenance: share,
      cancelOrder: share,
      backstop: share,
      highRisk: share,
      upnl: fc.oneof(fc.constant(10_000), share),
      upnlForWithdrawals: share,
    }),
  });

/** One leg: sizes and prices as shares of a magnitude, so that they fit each other. */
const leg = (symbol: string, largestSize: number) =>
  fc.record({
    market: market(symbol),
    mark: fc.integer({ min: 0, max: 6 }).chain((digits) => fc.integer({ min: 1, max: 10 ** digits })),
    size: fc.oneof(
      { weight: 1, arbitrary: fc.constant(0) },
      { weight: 5, arbitrary: fc.integer({ min: -largestSize, max: largestSize }) },
      { weight: 3, arbitrary: fc.integer({ min: -1000, max: 1000 }) },
    ),
    entry: fc.integer({ min: 50, max: 150 }),
    dust: fc.integer({ min: -100, max: 100 }),
    funding: fc.integer({ min: -1_000_000, max: 1_000_000 }),
    orders: fc.array(
      fc.record({
        side: fc.constantFrom("bid" as const, "ask" as const),
        price: fc.integer({ min: 70, max: 130 }),
        size: fc.integer({ min: 1, max: 400 }),
        reduceOnly: fc.boolean(),
        status: fc.constantFrom("active", "active", "active", "filled", undefined),
      }),
      { maxLength: 4 },
    ),
  });

/** @param largestSize base lots of the largest position: 10⁷ stays within doubles mostly, 10¹⁴ leaves them */
export function randomCase(largestSize: number): fc.Arbitrary<RandomCase> {
  return fc
    .record({
      legs: fc.tuple(leg("A", largestSize), leg("B", largestSize), leg("C", largestSize)),
      count: fc.integer({ min: 1, max: 3 }),
      // Collateral as a share of the notional: from spent to more than paid for.
      margin: fc.integer({ min: -20, max: 1500 }),
      extra: fc.integer({ min: -1000, max: 1000 }),
    })
    .map(({ legs, count, margin, extra }) => {
      const positions: PositionRisk[] = [];
      const orders: OrderRisk[] = [];
      let notional = 0n;
      for (const one of legs.slice(0, count)) {
        const { symbol, tickSize } = one.market;
        const value = BigInt(one.size) * BigInt(one.mark) * BigInt(tickSize);
        notional += value < 0n ? -value : value;
        if (one.size !== 0) {
          positions.push({
            symbol,
            baseLots: one.size,
            virtualQuoteLots: shrink((-value * BigInt(one.entry)) / 100n + BigInt(one.dust)),
            unsettledFundingQuoteLots: one.funding,
          });
        }
        for (const order of one.orders) {
          orders.push({
            symbol,
            side: order.side,
            priceTicks: Math.max(1, Math.round((one.mark * order.price) / 100)),
            remainingLots: Math.max(1, Math.round((Math.abs(one.size || 100) * order.size) / 100)),
            reduceOnly: order.reduceOnly,
            status: order.status,
          });
        }
      }
      return {
        account: {
          collateralQuoteLots: shrink((notional * BigInt(margin)) / 1000n + BigInt(extra)),
          positions,
          orders,
        },
        markets: new Map(legs.map((one) => [one.market.symbol, one.market])),
        marks: new Map(legs.map((one) => [one.market.symbol, one.mark])),
      };
    });
}
