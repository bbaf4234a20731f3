/** Random accounts for property tests: every shape of position, order and market, at every magnitude. */

import fc from "fast-check";
import { fastExcess, fastMarket } from "../../src/margin/fast.ts";
import { activeOrders } from "../../src/margin/leg.ts";
import type { AccountRisk, MarketRisk, OrderRisk, PositionRisk } from "../../src/margin/model.ts";
import { shrink } from "../../src/margin/units.ts";

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
      // At 1, with all of it required, what is left over hardly moves with the mark.
      leverage: fc.oneof(
        { weight: 1, arbitrary: fc.constant(1) },
        { weight: 4, arbitrary: fc.integer({ min: 1, max: 50 }) },
      ),
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
      maintenance: fc.oneof(
        { weight: 1, arbitrary: fc.integer({ min: 9_990, max: 10_000 }) },
        { weight: 4, arbitrary: share },
      ),
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

/**
 * Accounts with as much collateral as leaves next to nothing over at some mark of their first position: where rounding
 * decides.
 */
export function edgeCase(cases: fc.Arbitrary<RandomCase>): fc.Arbitrary<RandomCase> {
  return fc
    .tuple(
      cases,
      fc.oneof(fc.integer({ min: 0, max: 2_500 }), fc.integer({ min: 985, max: 1_015 })),
      fc.oneof(fc.integer({ min: -4, max: 4 }), fc.integer({ min: -40, max: 40 })),
    )
    .map(([it, permille, left]) => {
      const { account, markets, marks } = it;
      const [first] = account.positions;
      if (first === undefined) return it;
      const at = Math.round((marks.get(first.symbol)! * permille) / 1_000);
      const orders = activeOrders(account.orders);
      let excess = 0;
      for (const symbol of new Set([...account.positions, ...account.orders].map((one) => one.symbol))) {
        const held = account.positions.find((one) => one.symbol === symbol);
        excess += Number(held?.unsettledFundingQuoteLots ?? 0);
        const size = Number(held?.baseLots ?? 0);
        const virtual = Number(held?.virtualQuoteLots ?? 0);
        const mark = marks.get(symbol)!;
        const fast = fastMarket(markets.get(symbol)!, size, virtual, orders.get(symbol), mark);
        excess += fastExcess(fast, 0, symbol === first.symbol ? at : mark);
      }
      if (!Number.isSafeInteger(excess)) return it;
      return { ...it, account: { ...account, collateralQuoteLots: left - excess } };
    });
}

/**
 * A long of a few lots whose profit counts hardly more than its margin takes: rounding alone decides at which marks
 * something is left over, so that there are many boundaries.
 */
export const flatCase: fc.Arbitrary<RandomCase> = fc
  .record({
    market: market("A"),
    leverage: fc.integer({ min: 1, max: 5 }),
    required: fc.integer({ min: 1, max: 2_000 }),
    steeper: fc.oneof(fc.integer({ min: -1, max: 3 }), fc.integer({ min: 0, max: 100 })),
    size: fc.oneof(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 100, max: 1_000 })),
    mark: fc.integer({ min: 20, max: 30_000 }),
    paid: fc.integer({ min: 0, max: 110 }),
    bid: fc.integer({ min: 0, max: 3 }),
  })
  .map(({ market: any, leverage, required, steeper, size, mark, paid, bid }) => ({
    account: {
      collateralQuoteLots: 0,
      positions: [
        {
          symbol: "A",
          baseLots: size,
          virtualQuoteLots: -Math.round((size * mark * paid) / 100),
          unsettledFundingQuoteLots: 0,
        },
      ],
      orders:
        bid === 0
          ? []
          : [{ symbol: "A", side: "bid", priceTicks: mark - 1, remainingLots: bid, reduceOnly: false }],
    },
    markets: new Map([
      [
        "A",
        {
          ...any,
          tickSize: 1,
          leverageTiers: [{ maxSizeBaseLots: 1_000, maxLeverage: leverage, limitOrderRiskFactorBps: 5_000 }],
          riskFactors: {
            ...any.riskFactors,
            maintenance: required * leverage,
            upnl: Math.max(1, required + steeper),
          },
        },
      ],
    ]),
    marks: new Map([["A", mark]]),
  }));
