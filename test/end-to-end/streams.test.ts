/** The whole daemon with the exchange's stream: what it tells is judged at once, and its silence hides nothing. */
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { PassThrough } from "node:stream";
import { pino } from "pino";
import { expect, test, vi } from "vitest";
import { startDaemon } from "../../src/daemon/app.ts";
import { settingsFromText } from "../../src/daemon/settings.ts";
import { seededRandom } from "../../src/domain/clock.ts";
import { startSimulator } from "../../src/simulator/index.ts";
import { every, openHouse } from "../support/daemon.ts";

vi.setConfig({ testTimeout: 180_000 });

const polled = [
  ...["traderState", "markets", "traderView", "notifications", "liquidations", "funding", "fundingRates"],
  ...["collateral", "orders", "fills", "pnl", "marketConfig", "exchangeStatus"],
];

/** Waits in real time; what is waited for is an event, and the limit only ends a test that would hang. */
async function happens(what: string, met: () => boolean): Promise<number> {
  const startMs = performance.now();
  while (!met()) {
    if (performance.now() - startMs > 150_000) throw new Error(`did not happen: ${what}`);
    await new Promise((next) => setTimeout(next, 5));
  }
  return performance.now() - startMs;
}

test("with polls ten minutes apart, a price move and a liquidation are told without one", async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "perpwatch-streams-"));
  await using simulator = await startSimulator({ walk: false, seed: 3, traders: 0, keysDir: folder });
  for (const [symbol, price] of [
    ["SOL", "150"],
    ["ETH", "3000"],
  ])
    await simulator.call("mark-price", { symbol, price });
  await simulator.call("trader", { name: "main" });
  const [{ authority, keyFile }] = simulator.traders as unknown as [{ authority: string; keyFile: string }];
  await simulator.call("collateral", { authority, amount: "4000" });
  await simulator.call("position", { authority, symbol: "SOL", size: "100", entryPrice: "150" });
  const read = settingsFromText(
    JSON.stringify({
      exchange: { baseUrl: simulator.url },
      wallets: [{ name: "main", keyFile }],
      schedules: every("10m", polled),
      history: { path: path.join(folder, "perpwatch.db") },
      channels: { here: { type: "console" } },
      dashboard: { listen: "off" },
    }),
    { file: null, folder, env: {} },
  );
  if ("problems" in read) throw new Error(read.problems.map(({ message }) => message).join("\n"));
  const out = new PassThrough();
  let shown = "";
  out.on("data", (text: Buffer) => {
    shown += String(text);
  });
  const log = pino({ level: "silent" });
  const daemon = await startDaemon(read.settings, { log, out, random: seededRandom(2) });
  try {
    await happens("everything polled, and streaming", () => {
      const { schedules, streams } = daemon.status();
      return (
        schedules.every((one) => one.lastOkMs !== null) &&
        streams!.connections.every((one) => one.connected && one.refused === 0) &&
        streams!.connections.length === 2
      );
    });
    const asked = () =>
      ["/v1/trader/state/*", "/v1/markets/stats/latest"].map((at) => simulator.requests.query(at).count);
    const before = asked();

    await simulator.call("mark-price", { symbol: "SOL", price: "117.5" });
    const firedMs = await happens("the alert", () => /SOL long is \d\.\d+% from liquidation/.test(shown));
    console.log(`a price move was told after ${Math.round(firedMs)} ms`);
    // No poll was due, and none was needed.
    expect(asked()).toEqual(before);

    await simulator.call("mark-price", { symbol: "SOL", price: "111" });
    const liquidatedMs = await happens("the liquidation", () => /LIQUIDATED SOL/.test(shown));
    console.log(`a liquidation was told after ${Math.round(liquidatedMs)} ms`);
  } finally {
    await daemon.stop();
    fs.rmSync(folder, { recursive: true, force: true });
  }
});

test("polls that fail beside a stream that is open and has nothing to tell are reported as no data", async () => {
  await using house = await openHouse();
  await house.hold({ collateral: "4000", symbol: "SOL", size: "10", entryPrice: "150" });
  const { daemon } = await house.start({
    exchange: { baseUrl: house.simulator.url, requestsPerSecond: 200, streams: "auto" },
  });
  await house.clock.until(() => daemon.status().streams!.connections.every((one) => one.connected), 5_000);
  await house.clock.advance(3_000);
  for (const at of ["/v1/trader/state/*", "/v1/markets/stats/latest"])
    await house.call("fault", { path: at, status: 503 });
  const blind = () => house.headlines().filter((line) => /FIRING warning: .*No data .*: no/.test(line));
  await house.clock.until(() => blind().length > 0, 120_000);
  expect(daemon.status().streams!.connections.every((one) => one.connected)).toBe(true);
  expect(daemon.status().watch.blind.map(({ source }) => source)).toContain("traderState");
  house.simulator.faults.clear();
  await house.clock.until(() => daemon.status().watch.blind.length === 0, 120_000);
});

test("what was acknowledged is not shown as unacknowledged until the next poll of an inbox that is streamed", async () => {
  await using house = await openHouse();
  await house.hold({ collateral: "4000", symbol: "SOL", size: "10", entryPrice: "150" });
  const { daemon } = await house.start({
    exchange: { baseUrl: house.simulator.url, requestsPerSecond: 200, streams: "auto" },
    schedules: { notifications: { every: "10s", whenStreaming: "10m" } },
    acknowledge: { unmatched: "always" },
  });
  await house.clock.until(() => daemon.status().streams!.connections.every((one) => one.connected), 5_000);
  await house.clock.advance(20_000);
  const unacked = () => daemon.status().watch.wallets[0]!.unacked;
  const confirmed = () => daemon.status().acknowledgements.confirmed;
  const before = confirmed();
  await house.call("mark-price", { symbol: "SOL", price: "170" });
  const { authority } = house.simulator.traders[0]!;
  await house.call("notification", { authority, source: "general", notificationType: "account", body: "x" });
  await house.clock.until(() => confirmed() > before, 60_000);
  await house.clock.until(() => unacked() === 0, 15_000);
});
