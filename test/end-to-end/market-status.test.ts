/** Pauses and sessions of a market, and a halt of the exchange, are notified within 15 s, and their end too, by polls alone. */
import { test, vi } from "vitest";
import { every, type House, openHouse } from "../support/daemon.ts";

// An upper bound for slow machines: nothing here waits for real time.
vi.setConfig({ testTimeout: 120_000 });

/** Everything but the market list and the exchange's status at a pace that says nothing of it. */
const usual = {
  ...every("1s", ["traderState", "markets"]),
  ...every("1h", ["notifications", "liquidations", "collateral", "traderView", "orders", "fills", "funding"]),
};

async function within(house: House, limitMs: number, text: RegExp): Promise<void> {
  const fromMs = house.clock.elapsedMs();
  const before = house.chats(text).length;
  while (house.chats(text).length === before) {
    if (house.clock.elapsedMs() - fromMs >= limitMs)
      throw new Error(`not within ${limitMs} ms: ${text}; there are ${house.headlines().join(" | ")}`);
    await house.clock.advance(250);
  }
}

const ceilings: readonly (readonly [string, number, readonly string[]])[] = [
  ["without a tight ceiling", 200, ["main"]],
  ["with one request a second for four wallets", 1, ["main", "b", "c", "d"]],
];

test.each(ceilings)("%s", async (_, requestsPerSecond, wallets) => {
  await using house = await openHouse({ wallets: [...wallets] });
  await house.hold({ collateral: "5000", symbol: "SOL", size: "10", entryPrice: "150" });
  const gold = { symbol: "GOLD", size: "1", entryPrice: "2400", subaccountIndex: 1 };
  await house.hold({ collateral: "2000", ...gold });
  await house.start({
    exchange: { baseUrl: house.simulator.url, requestsPerSecond, streams: "off" },
    ruleOverrides: { MarketNotTrading: { keepFiringFor: "1s" }, TradingHalted: { keepFiringFor: "1s" } },
    schedules: requestsPerSecond === 1 ? { ...usual, traderState: { every: "5s" } } : usual,
  });
  await house.clock.advance(requestsPerSecond === 1 ? 120_000 : 20_000);
  const market = (body: object) => house.call("market", body);

  for (const offsetMs of [0, 3_000, 7_000]) {
    await house.clock.advance(offsetMs);
    await market({ symbol: "SOL", status: "paused" });
    const pausedMs = house.clock.elapsedMs();
    await within(house, 15_000, /SOL is paused while you hold/);
    await house.clock.advance(30_000 - (house.clock.elapsedMs() - pausedMs));
    await market({ symbol: "SOL", status: "active" });
    await within(house, 15_000, /RESOLVED.*SOL/);
  }

  for (const offsetMs of [0, 3_000, 7_000]) {
    await house.clock.advance(offsetMs);
    await house.call("exchange", { active: false });
    const haltedMs = house.clock.elapsedMs();
    await within(house, 15_000, /FIRING.*Trading on the exchange is halted/);
    await house.clock.advance(30_000 - (house.clock.elapsedMs() - haltedMs));
    await house.call("exchange", { active: true });
    await within(house, 15_000, /RESOLVED.*Trading on the exchange/);
  }

  await market({ symbol: "GOLD", session: "afterHours" });
  await within(house, 15_000, /GOLD is after hours, you hold/);
  await house.clock.advance(60_000);
  await market({ symbol: "GOLD", session: "open" });
  await within(house, 15_000, /GOLD is in session again/);
});
