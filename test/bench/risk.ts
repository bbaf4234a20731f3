/** Measures the cost of assessing one account, in microseconds of processor time: `node test/bench/risk.ts`. */

import { assessAccount } from "../../src/margin/assess.ts";
import type { AccountRisk } from "../../src/margin/model.ts";
import { movesToLiquidation } from "../../src/margin/moves.ts";
import { Sheet } from "../../src/margin/sheet.ts";
import { exampleAccount, markets, marks } from "../margin/wire.ts";

const cross = exampleAccount(0);
const isolated = exampleAccount(1);
const bigints: AccountRisk = {
  collateralQuoteLots: BigInt(cross.collateralQuoteLots),
  positions: cross.positions.map((position) => ({
    ...position,
    baseLots: BigInt(position.baseLots),
    virtualQuoteLots: BigInt(position.virtualQuoteLots),
    unsettledFundingQuoteLots: BigInt(position.unsettledFundingQuoteLots),
  })),
  orders: cross.orders.map((order) => ({
    ...order,
    priceTicks: BigInt(order.priceTicks),
    remainingLots: BigInt(order.remainingLots),
  })),
};
const large: AccountRisk = { ...cross, collateralQuoteLots: 2n ** 60n };
let sink = 0;

function measure(
  name: string,
  rounds: number,
  run: (round: number) => { markets: readonly unknown[] },
): void {
  for (let i = 0; i < rounds / 5; i += 1) sink += run(i).markets.length;
  const times: number[] = [];
  for (let repeat = 0; repeat < 7; repeat += 1) {
    const start = process.cpuUsage();
    for (let i = 0; i < rounds; i += 1) sink += run(i).markets.length;
    const { user, system } = process.cpuUsage(start);
    times.push((user + system) / rounds);
  }
  times.sort((a, b) => a - b);
  console.log(`${name.padEnd(58)} ${times[3]!.toFixed(2)} µs (best ${times[0]!.toFixed(2)})`);
}

// Marks move with every call, as they do live.
const moving = Array.from({ length: 64 }, (_, i) => new Map([...marks].map(([s, ticks]) => [s, ticks + i])));
const at = (round: number) => moving[round & 63]!;
measure("2 positions, 2 orders, with liquidation prices", 100_000, (i) =>
  assessAccount(cross, markets, at(i)),
);
measure("the same, handed in as bigints", 100_000, (i) => assessAccount(bigints, markets, at(i)));
measure("the same without liquidation prices", 100_000, (i) =>
  assessAccount(cross, markets, at(i), { liquidation: false }),
);
measure("the same with the moves of all marks to liquidation", 50_000, (i) => {
  const assessed = assessAccount(cross, markets, at(i));
  sink += movesToLiquidation(cross, markets, at(i), assessed).together;
  return assessed;
});
const sheet = new Sheet();
measure("the same on a sheet", 50_000, (i) => {
  if (!sheet.assess(cross, markets, at(i))) throw new Error("the example is no hard case");
  sink += sheet.together() + sheet.adverse();
  return { markets: sheet.legs };
});
measure("isolated, 1 position, with its liquidation price", 100_000, (i) =>
  assessAccount(isolated, markets, at(i)),
);
measure("2 positions, 2 orders, in bigints throughout", 2_000, (i) =>
  assessAccount(cross, markets, at(i), { arithmetic: "exact" }),
);
measure("collateral beyond 2^53", 2_000, (i) => assessAccount(large, markets, at(i)));
if (sink === 0) throw new Error("nothing was computed");
