/** Faults that last: the daemon says that it is blind, judges nothing meanwhile, and sees again by itself. */
import { expect, test, vi } from "vitest";
import { every, type House, openHouse } from "../support/daemon.ts";

// A bound for machines that do much else: nothing here waits for real time.
vi.setConfig({ testTimeout: 180_000 });

const sources = ["traderState", "markets", "notifications", "liquidations", "exchangeStatus"] as const;
const rest = [
  "collateral",
  "traderView",
  "orders",
  "fills",
  "funding",
  "fundingRates",
  "marketConfig",
  "orderbook",
  "calendars",
  "candles",
] as const;
const minuteMs = 60_000;

const sections = (house: House) => ({
  schedules: { ...every("5s", sources), ...every("30s", rest) },
  channels: { chat: house.chat() },
  ruleOverrides: {
    MarginHigh: { enabled: false },
    OrdersMayBeCancelled: { enabled: false },
    Drawdown: { enabled: false },
    LosingFast: { enabled: false },
    PollsFailing: { enabled: false },
  },
});

const lasting = [
  ["503", { status: 503 }],
  ["hang-ups", { drop: "request" }],
  ["slow answers", { delayMs: 120_000 }],
  ["records that break off", { body: '{"slot": 12, "tra' }],
] as const;

test.each(lasting)(
  "%s on everything for ten minutes: one no-data alert fires, nothing resolves, all of it ends by itself",
  async (_name, fault) => {
    await using house = await openHouse();
    await house.hold({ collateral: "4000", symbol: "SOL", size: "100", entryPrice: "150" });
    await house.bring("SOL", 0.08);
    const { daemon } = await house.start(sections(house));
    await house.clock.advance(15_000);
    expect(house.headlines()).toHaveLength(1);
    const lines = house.log.length;

    await house.call("fault", { path: "/v1/*", ...fault });
    // Meanwhile the position is out of danger, and something happens; nobody can see it.
    await house.bring("SOL", 0.5);
    await house.call("notification", { trader: "main", notificationType: "stop_loss_executed" });
    await house.clock.advance(2 * minuteMs);
    const blind = house.headlines().filter((line) => /FIRING critical: .*No data .*: no/.test(line));
    expect(blind, house.headlines().join("\n")).toHaveLength(1);
    expect(daemon.status().watch.blind.length).toBeGreaterThan(0);
    await house.clock.advance(8 * minuteMs);
    expect(house.headlines().filter((line) => /RESOLVED|CLOSED|LIQUIDATED/.test(line))).toEqual([]);
    expect(
      house
        .headlines()
        .filter((line) => /FIRING critical: .*No data .*: no/.test(line) && !/STILL/.test(line)),
    ).toEqual(blind);
    expect((await house.inbox()).acked).toEqual([]);

    // One line, however much was tried, and the session; an answer that is kept for inspection is named besides.
    const kept = "body" in fault ? sources.length + rest.length : 0;
    const said = house.warnings(lines);
    const { hits = 0 } = house.simulator.faults.list()[0] ?? {};
    expect(new Set(said).size, said.join("\n")).toBe(said.length);
    expect(said.length, said.join("\n")).toBeLessThanOrEqual(3 + kept);
    expect(hits).toBeGreaterThan(3 * said.length);

    house.simulator.faults.clear();
    await house.clock.advance(4 * minuteMs);
    const { schedules, watch } = daemon.status();
    expect(schedules.filter(({ failuresInRow }) => failuresInRow > 0)).toEqual([]);
    expect(watch.blind).toEqual([]);
    const ended = await house.read((store) => store.alerts({ limit: 100 }));
    const open = ended.filter(({ state, event }) => state === "firing" && !event);
    expect(open.map(({ rule }) => rule)).toEqual([]);
    // Alone, or in one message with the end of a no-data alert.
    expect(house.chats(/RESOLVED(?: #\d+)?: main: SOL long/)).toHaveLength(1);
    expect(house.chats(/a stop or take profit was executed/)).toHaveLength(1);
    expect((await house.inbox()).open).toEqual([]);
  },
);

test("more than three wallets without data are one message", async () => {
  const wallets = ["a", "b", "c", "d", "e"];
  await using house = await openHouse({ wallets });
  for (const trader of wallets) {
    await house.hold({ trader, collateral: "4000", symbol: "SOL", size: "100", entryPrice: "150" });
  }
  const all = sections(house);
  // The last known positions are judged on, so the time that they have no stop loss counts.
  const ruleOverrides = { ...all.ruleOverrides, StopLossMissing: { enabled: false } };
  const { daemon } = await house.start({ ...all, ruleOverrides });
  await house.clock.advance(15_000);
  expect(house.headlines()).toEqual([]);
  // Prices are seen, accounts are not.
  await house.call("fault", { path: "/v1/trader/state/*", status: 500 });
  await house.clock.advance(4 * minuteMs);
  expect(house.headlines().map((line) => line.replace(/ \*\* .*$|\*\*/g, ""))).toEqual([
    expect.stringMatching(
      /FIRING critical: [a-e] SOL long was .* from liquidation .* ago, .*\. No data on 5 of 5 wallets for .*: no positions and balances since .* \(HTTP 500\)/,
    ),
  ]);
  const named = house.warnings().filter((line) => /traderState/.test(line));
  expect(named.length, named.join("\n")).toBeLessThanOrEqual(4);
  house.simulator.faults.clear();
  await house.clock.advance(2 * minuteMs);
  expect(daemon.status().watch.blind).toEqual([]);
  expect(
    house
      .headlines()
      .filter((line) => /RESOLVED: Read again: positions and balances of 5 wallets, after/.test(line)),
  ).toHaveLength(1);
  expect(house.headlines(), house.headlines().join("\n")).toHaveLength(2);
});
