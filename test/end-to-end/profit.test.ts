/** The profit of a wallet through the whole daemon: losses at once, deposits and withdrawals never as such. */
import fs from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { every, type House, openHouse } from "../support/daemon.ts";

interface Start {
  readonly severity?: "critical" | "warning";
  readonly streams?: "auto" | "off";
}

const rulesOf = (severity: string): string => `
rules:
  - { name: Lost, scope: wallet, when: "wallet.pnl < -300.0", severity: ${severity}, keepFiringFor: 0s, summary: "{{ wallet.name }} lost {{ usd(-wallet.pnl) }}" }
  - { name: Gained, scope: wallet, when: "wallet.pnl > 300.0", severity: critical, keepFiringFor: 0s, summary: "{{ wallet.name }} gained {{ usd(wallet.pnl) }}" }
`;

async function watching(of: Start = {}): Promise<House> {
  const house = await openHouse();
  await house.hold({ collateral: "10000", symbol: "SOL", size: "100", entryPrice: "150" });
  await start(house, of);
  return house;
}

async function start(house: House, { severity = "critical", streams = "off" }: Start = {}) {
  const file = path.join(house.folder, "profit.yaml");
  fs.writeFileSync(file, rulesOf(severity));
  const run = await house.start({
    rules: [file],
    exchange: { baseUrl: house.simulator.url, requestsPerSecond: 200, streams },
    channels: { chat: house.chat() },
    schedules: {
      ...every("2s", ["traderState"]),
      ...every(streams === "off" ? "2s" : "10s", ["markets"]),
      ...every("1m", ["collateral", "fills"]),
    },
  });
  await house.clock.advance(20_000);
  return run;
}

/** First lines of what was sent about the rules here, without markup: `FIRING critical: main lost $500.00`. */
const headlines = (house: House) =>
  house.headlines().flatMap((line) => {
    const text = /\*\*(.*)\*\*/.exec(line)?.[1] ?? line;
    return text.includes("not watching") ? [] : [text];
  });

const paid = (house: House, amount: string) => house.call("collateral", { trader: "main", amount });

/** The collateral history shows nothing of what happened, until it is cleared. */
async function delayHistory(house: House): Promise<void> {
  const { authority } = house.trader();
  const body = { data: [], nextCursor: null, prevCursor: null, hasMore: false };
  await house.call("fault", { path: `/v1/users/${authority}/collateral-history`, body });
}

test.each([
  ["critical", "frame"],
  ["critical", "answer"],
  ["warning", "frame"],
  ["warning", "answer"],
] as const)("a %s loss is notified within two seconds of the %s that shows it", async (severity, shownBy) => {
  await using house = await watching({ severity, streams: shownBy === "frame" ? "auto" : "off" });
  const answers = (): number => house.simulator.requests.query("/v1/markets/stats/latest").count;
  await house.call("mark-price", { symbol: "SOL", price: "145" });
  const before = answers();
  if (shownBy === "answer") while (answers() === before) await house.clock.advance(50);
  await house.clock.advance(2_000);
  expect(headlines(house)).toEqual([`FIRING ${severity}: main lost $500.00`]);
});

test("money that is paid in and out is asked for at once, and nobody is notified", async () => {
  await using house = await watching();
  const asked = () => house.simulator.requests.query(undefined).counts;
  const { authority } = house.trader();
  const history = `/v1/users/${authority}/collateral-history`;
  const before = Number(asked()[`GET ${history}`] ?? asked()[history] ?? 0);
  await paid(house, "6000");
  await house.clock.advance(8_000);
  expect(Number(asked()[`GET ${history}`] ?? asked()[history] ?? 0)).toBeGreaterThan(before);
  await paid(house, "14000");
  await house.clock.advance(60_000);
  expect(headlines(house)).toEqual([]);
  await house.call("mark-price", { symbol: "SOL", price: "145" });
  await house.clock.advance(3_000);
  expect(headlines(house)).toEqual(["FIRING critical: main lost $500.00"]);
});

test.each([
  [
    "withdrawal",
    "7000",
    "main lost $3,000.00 (a withdrawal, or a loss of $3,000.00)",
    "a withdrawal of $3,000.00, no loss",
  ],
  [
    "deposit",
    "14000",
    "main gained $4,000.00 (a deposit, or a profit of $4,000.00)",
    "a deposit of $4,000.00, no profit",
  ],
])(
  "a %s that the history shows two minutes late is reported as what it may be",
  async (_, amount, fired, ended) => {
    await using house = await watching();
    await delayHistory(house);
    await paid(house, amount);
    await house.clock.advance(8_000);
    expect(headlines(house)).toEqual([]);
    await house.clock.advance(8_000);
    expect(headlines(house)).toEqual([`FIRING critical: ${fired}`]);
    await house.clock.advance(100_000);
    house.simulator.faults.clear();
    await house.clock.advance(20_000);
    expect(headlines(house).at(-1)).toBe(`EXPLAINED: main: ${ended}`);
    expect(headlines(house).filter((one) => one.startsWith("RESOLVED"))).toEqual([]);
  },
);

test("money that is paid in while the daemon is stopped is no profit", async () => {
  await using house = await openHouse();
  await house.hold({ collateral: "10000", symbol: "SOL", size: "100", entryPrice: "150" });
  await (await start(house)).stop();
  await house.clock.advance(30_000);
  await paid(house, "15000");
  await house.clock.advance(30_000);
  await start(house);
  await house.clock.advance(60_000);
  expect(headlines(house)).toEqual([]);
});
