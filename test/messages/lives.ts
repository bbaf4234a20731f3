/** Lives of alerts about accounts and positions, computed by the product from made-up holdings, marks and events. */
import { type Holding, minute, second, startMs, World } from "./world.ts";

/** 100 SOL from 150, the whole account: liquidation at 126.55. */
const long: Holding = { collateral: 2_767, positions: { SOL: [100, 150] } };
/** The same with more collateral: far from liquidation at 139. */
const calm: Holding = { collateral: 4_000, positions: { SOL: [100, 150] } };
const at = (mark: number) => ({ SOL: { mark } });
const nothing: Holding = { collateral: 967 };
const session = Date.UTC(2026, 10, 23, 14, 30);

type Life = () => World;

const liquidation = (
  kind: "market" | "adl",
  role: string,
  size: number,
  price: number,
  closed: boolean,
  cost: number,
) => ({
  kind: "liquidation" as const,
  key: `${kind}-${size}`,
  fields: {
    ...{ role, kind, side: "long", size, price, notional: size * price },
    ...{ collateralChange: cost, positionClosed: closed },
  },
});

/** The first word of a name is the rule, the rest tells lives of one rule apart. */
const lives: Readonly<Record<string, Life>> = {
  "LiquidationNear: a whole life": () =>
    new World(at(165), { main: long })
      .pass(10 * second)
      .set(at(150))
      .pass(20 * second)
      .set(at(139))
      .pass(20 * second)
      .set(at(132))
      .pass(20 * second)
      .set(at(129.5))
      .pass(6 * minute + 30 * second)
      .acknowledge("LiquidationNear", "ana")
      .pass(10 * second)
      .set(at(139))
      .pass(100 * second)
      .set(at(150))
      .pass(100 * second)
      .set(at(165))
      .pass(100 * second),
  "LiquidationNear: closed": () =>
    new World(at(132), { main: long })
      .pass(20 * second)
      .set({}, { main: nothing })
      .pass(minute),
  "LiquidationNear: liquidated": () => {
    const world = new World(at(126.9), { main: long })
      .pass(20 * second)
      .wait(4 * second)
      .set(at(126.4), { main: { collateral: 370 } });
    return world
      .happens(liquidation("market", "liquidatee", 100, 126.4, true, -2_397), "liquidations", 2 * second)
      .pass(minute);
  },
  "LiquidationNear: deleveraged": () => {
    const world = new World(at(132), { main: long }).pass(20 * second).set({}, { main: nothing });
    return world
      .happens(liquidation("adl", "adl_counterparty", 100, 132, true, -1_800), "liquidations", 4 * second)
      .pass(minute);
  },
  "LiquidationNear: flipped": () =>
    new World(at(132), { main: long })
      .pass(20 * second)
      .wait(4 * second)
      .set({}, { main: { collateral: 967, positions: { SOL: [-50, 132] } } })
      .pass(minute),
  AccountLiquidationNear: () => {
    const main: Holding = { collateral: 3_900, positions: { SOL: [100, 150], BTC: [0.2, 63_000] } };
    return new World({ SOL: { mark: 143 }, BTC: { mark: 63_000 } }, { main })
      .pass(10 * second)
      .set({ SOL: { mark: 139 }, BTC: { mark: 62_000 } })
      .pass(20 * second)
      .set({ SOL: { mark: 136 }, BTC: { mark: 61_500 } })
      .pass(20 * second)
      .set({ SOL: { mark: 147 }, BTC: { mark: 64_000 } })
      .pass(2 * minute);
  },
  MarginHigh: () =>
    new World(at(141), { main: { ...long, collateral: 2_000 } })
      .pass(10 * second)
      .set(at(139))
      .pass(20 * second)
      .set(at(136.9))
      .pass(20 * second)
      .set(at(135.5))
      .pass(7 * minute + 30 * second)
      .set(at(137.4))
      .pass(100 * second)
      .set(at(142))
      .pass(100 * second),
  OrdersMayBeCancelled: () => {
    const main: Holding = { ...long, collateral: 2_000, bids: [100, 95] };
    return new World(at(139), { main })
      .pass(10 * second)
      .set(at(136.5))
      .pass(30 * second)
      .set(at(142))
      .pass(2 * minute);
  },
  AccountLiquidatable: () =>
    new World(at(136), { main: { ...long, collateral: 2_000 } })
      .pass(10 * second)
      .set(at(134.4))
      .pass(30 * second)
      .set(at(140))
      .pass(2 * minute),
  "StopLossMissing: none, then one for a part, then one for all": () =>
    new World(at(139), { main: calm })
      .pass(5 * minute + 30 * second)
      .set({}, { main: { ...calm, stops: [{ at: 131, size: 40 }] } })
      .pass(minute)
      .set({}, { main: { ...calm, stops: [{ at: 131 }] } })
      .pass(minute),
  StopLossBehindLiquidation: () =>
    new World(at(139), { main: { ...calm, stops: [{ at: 112 }] } })
      .pass(90 * second)
      .set({}, { main: { ...calm, stops: [{ at: 125 }] } })
      .pass(90 * second),
  Drawdown: () => {
    const main: Holding = { collateral: 10_000, positions: { SOL: [100, 150] } };
    return new World(at(150), { main })
      .pass(minute)
      .set(at(155))
      .pass(10 * minute)
      .set(at(147))
      .pass(4 * minute)
      .set(at(143))
      .pass(4 * minute)
      .set(at(133))
      .pass(8 * minute)
      .set(at(152))
      .pass(8 * minute);
  },
  LosingFast: () => {
    const main: Holding = { collateral: 10_000, positions: { SOL: [100, 150] } };
    return new World(at(155), { main })
      .pass(11 * minute)
      .set(at(148))
      .pass(minute)
      .set(at(140))
      .pass(7 * minute)
      .set(at(157))
      .pass(12 * minute);
  },
  DailyLoss: () => {
    const main: Holding = { collateral: 10_000, positions: { SOL: [100, 150] } };
    const midnight = Date.UTC(2026, 10, 21);
    return new World(at(150), { main }, { atMs: midnight - 2 * minute })
      .pass(3 * minute)
      .happens(
        { kind: "fill", key: "f", fields: { side: "bid", size: 1, price: 150, fee: 38.4 } },
        "fills",
        2 * second,
      )
      .happens({ kind: "funding", key: "p", fields: { payment: -12.9 } }, "funding", 2 * second)
      .set(at(143.8))
      .pass(2 * minute)
      .set(at(138.9))
      .pass(7 * minute)
      .set(at(152.1))
      .pass(7 * minute);
  },
  FundingRateHigh: () =>
    new World({ SOL: { mark: 139, ratePerHour: 0.000_096 } }, { main: calm })
      .pass(16 * minute)
      .set({ SOL: { ratePerHour: 0.000_26 } })
      .pass(40 * minute)
      .set({ SOL: { ratePerHour: 0.000_01 } })
      .pass(40 * minute),
  FundingEatsMargin: () => {
    const main: Holding = { ...long, collateral: 1_800 };
    return new World({ SOL: { mark: 139, ratePerHour: 0.000_25 } }, { main })
      .pass(16 * minute)
      .set({ SOL: { ratePerHour: 0.001 } })
      .pass(40 * minute)
      .set({ SOL: { ratePerHour: -0.000_1 } })
      .pass(40 * minute);
  },
  "HedgeBroken: by auto-deleveraging, and mended": () => {
    const short: Holding = { collateral: 9_000, positions: { SOL: [-100, 139] } };
    const whole: Holding = { collateral: 9_000, positions: { SOL: [100, 139] } };
    const world = new World(at(139), { main: whole, hedge: short })
      .pass(14 * second)
      .happens(liquidation("adl", "adl_counterparty", 60, 139, false, -660), "liquidations", 2 * second)
      .set({}, { main: { ...whole, positions: { SOL: [40, 139] } } });
    return world
      .pass(6 * minute)
      .set({}, { main: whole })
      .pass(minute);
  },
  "HedgeBroken: after a fill": () => {
    const short: Holding = { collateral: 9_000, positions: { SOL: [-100, 139] } };
    const whole: Holding = { collateral: 9_000, positions: { SOL: [100, 139] } };
    const fields = { side: "ask", size: 70, price: 139, fee: 4.9 };
    return new World(at(139), { main: whole, hedge: short })
      .pass(14 * second)
      .happens({ kind: "fill", key: "f", fields }, "fills", second)
      .set({}, { main: { ...whole, positions: { SOL: [30, 139] } } })
      .pass(minute);
  },
  UnusualWithdrawal: () => {
    const fields = { eventType: "withdrawal", amountUsd: -1_100, after: 2_900 };
    return new World(at(145), { main: calm })
      .pass(15 * second)
      .set({}, { main: { ...calm, collateral: 2_900 } })
      .happens({ kind: "collateral", key: "c", symbol: null, fields }, "collateral", 9 * second)
      .pass(minute);
  },
  RiskEngineClearsOrders: () => {
    const bids = [130, 129, 128, 127, 126];
    const world = new World(at(139), { main: { ...long, collateral: 2_000, bids } })
      .pass(5 * second)
      .set(at(136.5));
    bids.forEach((price, index) => {
      world.set({}, { main: { ...long, collateral: 2_000, bids: bids.slice(index + 1) } }).happens(
        {
          ...{ kind: "notification", key: `n${index}` },
          fields: { source: "event", type: "risk_engine_cancel_order", side: "bid", size: 1, price },
        },
        "notifications",
        2 * second,
      );
      world.pass(5 * second);
    });
    return world.pass(12 * minute);
  },
  "Liquidated: on the book": () => {
    const main: Holding = { ...long, collateral: 2_800 };
    return new World(at(126.9), { main })
      .pass(15 * second)
      .set({}, { main: { collateral: 1_194, positions: { SOL: [40, 150] } } })
      .happens(liquidation("market", "liquidatee", 60, 126.4, false, -1_416), "liquidations", 3 * second)
      .pass(minute);
  },
  AutoDeleveraged: () =>
    new World(at(139), { main: calm })
      .pass(15 * second)
      .set({}, { main: { collateral: 2_900 } })
      .happens(liquidation("adl", "adl_counterparty", 100, 139, true, -1_100), "liquidations", 3 * second)
      .pass(minute),
  MarketNotTrading: () =>
    new World(at(139), { main: calm })
      .pass(10 * second)
      .set({ SOL: { status: "paused" } })
      .pass(20 * second)
      .set({ SOL: { status: "active" } })
      .pass(6 * minute),
  MarketAfterHours: () =>
    new World(
      { TSLA: { mark: 251.4, session: ["open", startMs + 20 * second] } },
      {
        main: { collateral: 2_900, positions: { TSLA: [40, 247.9] } },
      },
    )
      .pass(20 * second)
      .set({ TSLA: { session: ["afterHours", startMs + 80 * second] } })
      .pass(minute)
      .set({ TSLA: { session: ["open", session + 6 * 60 * minute] } })
      .pass(minute),
  NearLiquidationAfterHours: () =>
    new World(
      { TSLA: { mark: 251.4, session: ["afterHours", session] } },
      {
        main: { collateral: 1_300, positions: { TSLA: [40, 247.9] } },
      },
    )
      .pass(2 * minute)
      .set({ TSLA: { mark: 275 } })
      .pass(3 * minute),
  ExitLargerThanBook: () =>
    new World({ SOL: { mark: 139, depth: [9_000, 9_000] } }, { main: calm })
      .pass(6 * minute)
      .set({ SOL: { depth: [3_500, 9_000] } })
      .pass(6 * minute)
      .set({ SOL: { depth: [40_000, 9_000] } })
      .pass(16 * minute),
  MarkOffOtherVenues: () =>
    new World({ SOL: { mark: 139, elsewhere: 139 } }, { main: calm })
      .pass(10 * second)
      .set(at(134))
      .pass(18 * minute)
      .set(at(139))
      .pass(8 * minute),
  WhalePosition: () =>
    new World(at(139), { whale: { collateral: 68_000, positions: { SOL: [4_000, 131] } } })
      .pass(minute)
      .set({}, { whale: { collateral: 100_000 } })
      .pass(minute),
  WhaleTrades: () =>
    new World(at(139), { whale: { collateral: 90_000, positions: { SOL: [4_000, 131] } } })
      .pass(11 * minute)
      .set({}, { whale: { collateral: 90_000, positions: { SOL: [6_000, 802_000 / 6_000] } } })
      .pass(12 * minute),
  WhaleNearLiquidation: () =>
    new World(at(139), { whale: { collateral: 68_000, positions: { SOL: [4_000, 131] } } })
      .pass(20 * second)
      .set(at(123))
      .pass(100 * second)
      .set(at(139))
      .pass(2 * minute),
};

export function computedLives(): readonly (readonly [name: string, world: World])[] {
  return Object.entries(lives).map(([name, life]) => [name, life()]);
}
