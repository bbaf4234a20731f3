/** A whole daemon whose requests the exchange refuses with 429: for a minute, or all that exceed its own rate. */
import { expect, test, vi } from "vitest";
import type { DaemonStatus } from "../../src/domain/status.ts";
import { openHouse } from "../support/daemon.ts";

// A bound for machines that do much else: nothing here waits for real time.
vi.setConfig({ testTimeout: 180_000 });

const desk = Array.from({ length: 12 }, (_, i) => `w${i}`);
const sourcesThatRiskNeeds = new Set(["traderState", "markets", "notifications", "exchangeStatus"]);

/** Schedules whose last successful read is more than two intervals old. */
function late({ schedules }: DaemonStatus, nowMs: number): string[] {
  return schedules
    .filter(({ lastOkMs, everyMs }) => lastOkMs !== null && nowMs - lastOkMs > 2 * everyMs + 100)
    .map(({ source, wallet, lastOkMs }) => `${source} ${wallet}: ${nowMs - lastOkMs!} ms`);
}

test.each([
  ["with Retry-After", { retryAfter: "3" }],
  ["without Retry-After", {}],
])(
  "60 s of 429 (%s): five seconds later all is fresh, and a crash meanwhile is reported at once",
  async (_, more) => {
    await using house = await openHouse({ wallets: desk });
    for (const trader of desk)
      await house.hold({ trader, collateral: "4000", symbol: "SOL", size: "100", entryPrice: "150" });
    const { daemon } = await house.start({
      // All twelve wallets are at risk then, which is 12 requests a second of their own: at 20 a second nothing else is in time.
      exchange: { baseUrl: house.simulator.url, streams: "off", requestsPerSecond: 40 },
      schedules: {},
    });
    await house.clock.advance(90_000);
    expect(late(daemon.status(), house.clock.nowMs())).toEqual([]);
    expect(daemon.status().requests).toMatchObject({ limited: null, granted: null, refused: 0 });
    const sinceMs = house.clock.nowMs();
    await house.call("fault", { path: "/v1/*", status: 429, error: "rate_limited", ...more });
    await house.clock.advance(40_000);
    await house.bring("SOL", 0.03, "w0");
    await house.clock.advance(20_000);
    const { limited } = daemon.status().requests;
    expect(limited?.kind).toBe("rateLimited");
    expect(limited!.sinceMs).toBeGreaterThanOrEqual(sinceMs);
    expect(limited!.sinceMs).toBeLessThan(sinceMs + 5_000);
    expect(limited!.untilMs).toBeGreaterThanOrEqual(house.clock.nowMs());
    // One probe a pause, not the rate of before.
    expect(daemon.status().requests.refused).toBeLessThan(80);

    house.simulator.faults.clear();
    const before = house.discord.messages.length;
    // The exchange is asked again when it said.
    await house.clock.until(() => daemon.status().requests.limited === null, 3_100);
    await house.clock.advance(1_000);
    const critical = daemon
      .status()
      .watch.firing.filter(({ severity, subject }) => severity === "critical" && subject.includes("SOL"));
    expect(critical).not.toEqual([]);
    await house.clock.advance(4_000);
    expect(late(daemon.status(), house.clock.nowMs())).toEqual([]);
    expect(house.discord.messages.length).toBeGreaterThan(before);
    // What was missing is there: nobody is without data afterwards.
    await house.clock.advance(120_000);
    expect(daemon.status().watch.blind).toEqual([]);
    expect(late(daemon.status(), house.clock.nowMs())).toEqual([]);
    expect(house.log.map(({ msg }) => msg).filter((msg) => /takes requests again/.test(msg))).toHaveLength(1);
  },
);

test("a crash during 60 s of 429 is reported within 2 s while prices stream, with the age of the positions", async () => {
  await using house = await openHouse({ wallets: desk });
  for (const trader of desk)
    await house.hold({ trader, collateral: "4000", symbol: "SOL", size: "100", entryPrice: "150" });
  const { daemon } = await house.start({
    exchange: { baseUrl: house.simulator.url, requestsPerSecond: 40, streams: "auto" },
    schedules: {},
  });
  await house.clock.advance(90_000);
  const connected = () => daemon.status().streams!.connections.every((one) => one.connected);
  expect(connected()).toBe(true);
  const near = () => house.headlines().filter((line) => /FIRING critical #\d+: w\d+: SOL/.test(line));
  expect(near()).toEqual([]);
  await house.call("fault", { path: "/v1/*", status: 429, error: "rate_limited", retryAfter: "3" });
  await house.clock.advance(40_000);
  expect([connected(), daemon.status().requests.limited?.kind]).toEqual([true, "rateLimited"]);
  await house.bring("SOL", 0.03, "w0");
  await house.clock.until(() => near().length > 0, 2_000);
  expect(near()).toEqual([
    expect.stringMatching(/w0: SOL long is 3% from liquidation \(positions as of [\d:]+ UTC, 4\ds old\)$/),
  ]);
});

test("an exchange that grants 1.5 requests a second is asked at that rate, which the status states; prices stay fresh", async () => {
  await using house = await openHouse({
    wallets: ["main", "spare"],
    simulator: { requestsPerSecond: 1.5 },
  });
  const { daemon } = await house.start({
    exchange: { baseUrl: house.simulator.url, streams: "off" },
    schedules: {},
  });
  await house.clock.advance(240_000);
  const settledMs = house.clock.nowMs();
  let oldestMs = 0;
  for (let second = 0; second < 300; second++) {
    await house.clock.advance(1_000);
    for (const { source, lastOkMs } of daemon.status().schedules)
      if (source === "markets") oldestMs = Math.max(oldestMs, house.clock.nowMs() - lastOkMs!);
  }
  const { requests, schedules } = daemon.status();
  expect(requests.ceilingPerSecond).toBeNull();
  expect(requests.granted!.perSecond).toBeGreaterThan(1);
  // Callers with a session get twice as much, beside what is asked without one.
  expect(requests.granted!.perSecond).toBeLessThan(4.5);
  expect(requests.granted!.sinceMs).toBeLessThanOrEqual(house.clock.nowMs());
  expect(oldestMs).toBeLessThan(8_000);
  // Nothing starves: each schedule was read since the rate was found.
  for (const { source, wallet, lastOkMs, everyMs } of schedules) {
    if (everyMs < 60_000 || sourcesThatRiskNeeds.has(source))
      expect(lastOkMs, `${source} ${wallet}`).toBeGreaterThan(settledMs);
  }
  expect(house.log.some(({ msg }) => /grants about [12](\.\d)? requests a second/.test(msg))).toBe(true);
});

test("60 s of 429 at 20 requests a second, where no position is at risk: five seconds later the last interval but one is there of all", async () => {
  await using house = await openHouse({ wallets: desk });
  for (const trader of desk)
    await house.hold({ trader, collateral: "4000", symbol: "SOL", size: "100", entryPrice: "150" });
  const { daemon } = await house.start({
    exchange: { baseUrl: house.simulator.url, streams: "off", requestsPerSecond: 20 },
    schedules: {},
  });
  await house.clock.advance(120_000);
  await house.call("fault", { path: "/v1/*", status: 429, error: "rate_limited", retryAfter: "3" });
  await house.clock.advance(60_000);
  house.simulator.faults.clear();
  await house.clock.until(() => daemon.status().requests.limited === null, 3_100);
  await house.clock.advance(5_000);
  expect(late(daemon.status(), house.clock.nowMs())).toEqual([]);
});

test("429 with Retry-After for two minutes: the no-data alert ends with the first readings, and nothing is told of it in between", async () => {
  await using house = await openHouse({ wallets: ["main", "side", "cold"] });
  for (const trader of ["main", "side", "cold"])
    await house.hold({ trader, collateral: "4000", symbol: "SOL", size: "100", entryPrice: "150" });
  const { daemon } = await house.start({
    exchange: { baseUrl: house.simulator.url, streams: "off" },
    schedules: {},
    channels: { chat: house.chat() },
  });
  await house.clock.advance(9_000);
  await house.call("fault", { path: "/v1/*", status: 429, retryAfter: "30" });
  await house.clock.advance(131_000);
  house.simulator.faults.clear();
  const told = house.log.length;
  await house.clock.until(() => daemon.status().requests.limited === null, 6_000);
  const againMs = house.clock.nowMs();
  await house.clock.advance(90_000);
  const later = house.log.slice(told).filter(({ rule }) => rule === "Blind");
  expect(later.map(({ msg }) => msg)).toEqual([
    expect.stringMatching(/^resolved: The exchange answers again: .*, after 2m 1\ds$/),
  ]);
  expect(later[0]!.atMs - againMs).toBeLessThan(5_000);
});
