/** An outage that begins with some wallets, becomes total, and recovers in parts: few messages, each with what is missing. */
import { expect, test, vi } from "vitest";
import { every, openHouse } from "../support/daemon.ts";

// A bound for machines that do much else: nothing here waits for real time.
vi.setConfig({ testTimeout: 300_000 });

const often = ["traderState", "markets", "notifications", "liquidations", "exchangeStatus"] as const;
const seldom = [
  "collateral",
  "traderView",
  "orders",
  "fills",
  "funding",
  "fundingRates",
  "marketConfig",
] as const;
const minuteMs = 60_000;
const wallets = Array.from({ length: 12 }, (_, index) => `w${index + 1}`);

test("503 for 4 of 12 wallets, then for everything, then for the 4 again, then for none", async () => {
  await using house = await openHouse({ wallets });
  for (const trader of wallets)
    await house.hold({ trader, collateral: "800", symbol: "SOL", size: "10", entryPrice: "150" });
  const { daemon } = await house.start({
    channels: { chat: house.chat() },
    schedules: { ...every("5s", often), ...every("30s", seldom) },
    exchange: { baseUrl: house.simulator.url, requestsPerSecond: 200, streams: "off" },
    ruleOverrides: { StopLossMissing: { enabled: false } },
  });
  const delivered = () =>
    house.log
      .filter(({ msg }) => msg.startsWith("delivered: "))
      .map(({ msg }) => msg.slice("delivered: ".length));
  await house.clock.advance(2 * minuteMs);
  expect(house.chats()).toEqual([]);
  const four = async (): Promise<void> => {
    for (const trader of wallets.slice(0, 4)) {
      const { authority } = house.trader(trader);
      await house.call("fault", { path: `/v1/trader/state/${authority}`, status: 503 });
    }
  };
  await four();
  await house.clock.advance(3 * minuteMs);
  await house.call("fault", { path: "/v1/*", status: 503 });
  await house.clock.advance(3 * minuteMs);
  house.simulator.faults.clear();
  await four();
  await house.clock.advance(3 * minuteMs);
  house.simulator.faults.clear();
  await house.clock.advance(5 * minuteMs);
  expect(daemon.status().watch.blind).toEqual([]);
  const lead = String.raw`^w\d+ SOL long was 51\.7% from liquidation`;
  expect(delivered()).toEqual([
    expect.stringMatching(
      new RegExp(
        String.raw`${lead} 45s ago, mark unchanged since\. No data on 4 of 12 wallets for 45s: no positions and balances since 12:0[12]:\d\d UTC \(HTTP 503\)$`,
      ),
    ),
    expect.stringMatching(
      new RegExp(
        String.raw`${lead} 3m \d+s ago\. No data on 12 of 12 wallets for \d+s: no read of the exchange succeeds since 12:0[45]:\d\d UTC \(HTTP 503\)$`,
      ),
    ),
    expect.stringMatching(
      /^The exchange answers again: (?:prices; )?positions and balances; .* of 12 wallets, after 9m/,
    ),
  ]);
  const alerts = await house.read((store) => store.alerts({ limit: 100 }));
  expect(alerts.map(({ rule, state, ending }) => [rule, state, ending])).toEqual([
    ["ExchangeUnreachable", "ended", "recovered"],
  ]);
});
