/** What one account costs to assess, in microseconds: `node test/bench/risk.ts`. */

import { assessAccount } from "../../src/risk/assess.ts";
import type { AccountRisk } from "../../src/risk/model.ts";
import { exampleAccount, markets, marks } from "../risk/wire.ts";

const cross = exampleAccount(0);
const isolated = exampleAccount(1);
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
    const start = performance.now();
    for (let i = 0; i < rounds; i += 1) sink += run(i).markets.length;
    times.push(((performance.now() - start) * 1000) / rounds);
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
measure("the same without liquidation prices", 100_000, (i) =>
  assessAccount(cross, markets, at(i), { liquidation: false }),
);
measure("isolated, 1 position, with its liquidation price", 100_000, (i) =>
  assessAccount(isolated, markets, at(i)),
);
measure("2 positions, 2 orders, in bigints throughout", 2_000, (i) =>
  assessAccount(cross, markets, at(i), { arithmetic: "exact" }),
);
measure("collateral beyond 2^53", 2_000, (i) => assessAccount(large, markets, at(i)));
if (sink === 0) throw new Error("nothing was computed");
