/** The funding rate of the running hour through the whole daemon, stated as a fraction and in percent. */
import { expect, test, vi } from "vitest";
import { every, openHouse } from "../support/daemon.ts";

// An upper bound for slow machines: nothing here waits for real time.
vi.setConfig({ testTimeout: 120_000 });

test.each([true, false])("observed: %s", async (observed) => {
  await using house = await openHouse({ simulator: { observed } });
  const rate = (symbol: string, ratePercentage: string) =>
    house.call("funding-rate", { symbol, ratePercentage });
  for (const symbol of ["SOL", "BTC", "ETH"]) await rate(symbol, "0.002");
  await house.hold({ collateral: "5000", symbol: "SOL", size: "10", entryPrice: "150" });
  await house.call("advance", { ms: 3_600_000 });
  await house.start({
    schedules: every("5s", ["traderState", "markets", "fundingRates"]),
    ruleOverrides: { FundingRateHigh: { for: "30s" } },
  });
  await house.clock.advance(10_000);
  const unit = observed ? "percentage" : "fraction";
  expect(house.log.map(({ msg }) => msg).filter((msg) => /taken as a/.test(msg))).toEqual([
    `funding rates in the market statistics are taken as a ${unit} an hour: 3 markets were compared with the funding history`,
  ]);
  // 87.6 % a year, above the 75 % of the rule, long before the hour is settled.
  await rate("SOL", "0.01");
  await house.clock.advance(25_000);
  expect(house.chats(/in funding/)).toEqual([]);
  await house.clock.advance(20_000);
  expect(house.chats(/SOL long pays 87.6% a year in funding/)).toHaveLength(1);
});
