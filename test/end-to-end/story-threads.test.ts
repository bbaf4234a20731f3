/** One incident on Discord, from the whole daemon: a message in the channel, and all that follows in the thread below it. */
import fs from "node:fs";
import path from "node:path";
import { expect, test, vi } from "vitest";
import { type House, openHouse, type Sections } from "../support/daemon.ts";

vi.setConfig({ testTimeout: 180_000 });

const person = "1200000000000000001";
const usual = { SOL: "150", BTC: "100000", ETH: "3000" } as const;
type Market = keyof typeof usual;

/** An alert a market, all of one group. */
function lowPrices(house: House): Sections {
  const file = path.join(house.folder, "low.yaml");
  const rules = Object.entries(usual).map(
    ([symbol, price]) =>
      `  - { name: ${symbol}Low, scope: market, select: { symbol: [${symbol}] }, when: market.markPrice < ${price}.0, severity: critical, summary: ${symbol} is low, keepFiringFor: 0s }\n`,
  );
  fs.writeFileSync(file, `rules:\n${rules.join("")}`);
  return { rules: [file], mention: { critical: `<@${person}>` } };
}

test("what joins while something of its group fires goes below it, over restarts; a new incident begins anew", async () => {
  await using house = await openHouse();
  const sections = lowPrices(house);
  const falls = (symbol: Market) =>
    house.call("mark-price", { symbol, price: String(Number(usual[symbol]) * 0.9) });
  const recovers = (symbol: Market) => house.call("mark-price", { symbol, price: usual[symbol] });
  /** Each message: where it stands (0 is the channel, 1 the thread below its first message, …), what it says, whom it calls. */
  const told = () => {
    const inChannel = house.discord.messages.filter(({ channelId }) => channelId === house.discord.channelId);
    const places = [house.discord.channelId, ...inChannel.map(({ id }) => id)];
    return house.discord.messages.map(({ channelId, content, pings }) => {
      // What is over stands struck below what it came to.
      const found = /(STILL FIRING|FIRING|RESOLVED)[^:]*: (\w+)/.exec(content.replace(/^.*\n~~/s, ""));
      const words = found === null ? content : `${found[1]} ${found[2]}`;
      return `${places.indexOf(channelId)} ${words}${pings.users.length > 0 ? ", calls" : ""}`;
    });
  };
  for (const symbol of Object.keys(usual) as Market[]) await recovers(symbol);
  const first = await house.start(sections);
  await house.clock.advance(3_000);
  await falls("SOL");
  await house.clock.advance(5_000);
  await first.stop();
  const second = await house.start(sections);
  await falls("BTC");
  await house.clock.advance(5_000);
  await recovers("SOL");
  await house.clock.advance(600_000);
  await second.stop();
  await house.start(sections);
  await falls("ETH");
  await house.clock.advance(5_000);
  await recovers("BTC");
  await recovers("ETH");
  await house.clock.advance(600_000);
  expect(house.discord.messages[0]?.content).toMatch(/^🟢 \*\*RESOLVED/);
  await falls("SOL");
  await house.clock.advance(5_000);

  expect(told()).toEqual([
    "0 FIRING SOL, calls",
    "1 FIRING BTC, calls",
    "1 RESOLVED SOL",
    "1 STILL FIRING BTC, calls",
    "1 STILL FIRING BTC, calls",
    "1 FIRING ETH, calls",
    // The ends of BTC and ETH, together.
    "1 RESOLVED 2",
    "0 FIRING SOL, calls",
  ]);
  expect(house.discord.threads).toHaveLength(1);
  // As many as by mail, each once.
  expect(house.discord.messages).toHaveLength(house.smtp.mails.length);
  expect(new Set(house.discord.messages.map(({ nonce }) => nonce)).size).toBe(house.discord.messages.length);
  expect(house.warnings()).toEqual([]);
});
