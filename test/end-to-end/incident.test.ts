/** A crash over several accounts, from the whole daemon: what a phone shows, what the first message comes to, what mail says. */
import { expect, test, vi } from "vitest";
import { type House, openHouse } from "../support/daemon.ts";

vi.setConfig({ testTimeout: 180_000 });

const person = "1200000000000000001";

async function opened(): Promise<House> {
  const house = await openHouse({ wallets: ["main", "second", "third"] });
  // 100 SOL from 150: the less collateral, the sooner.
  const collateral = { main: "3500", second: "3300", third: "3100" };
  for (const [trader, amount] of Object.entries(collateral))
    await house.hold({ trader, collateral: amount, symbol: "SOL", size: "100", entryPrice: "150" });
  return house;
}

const sections = {
  rules: ["shipped:liquidation-risk"],
  mention: { critical: `<@${person}>` },
  ruleOverrides: { LiquidationNear: { keepFiringFor: "1s" } },
};

test("further accounts call, all else is edited into the first message, over a restart; the end is one message", async () => {
  await using house = await opened();
  const first = await house.start(sections);
  await house.clock.advance(5_000);
  const falls = async (price: string, ms = 8_000) => {
    await house.call("mark-price", { symbol: "SOL", price });
    await house.clock.advance(ms);
  };
  await falls("128.5");
  const calls = () => house.discord.messages.filter(({ pings }) => pings.users.length > 0);
  const [root] = calls();
  expect(root!.pings.users).toEqual([person]);
  expect(root!.content).toContain("third: SOL long is");
  await falls("126.5");
  await first.stop();
  await house.start(sections);
  await house.clock.advance(5_000);
  await falls("124.4");
  const [, ...later] = calls();
  expect(later.map(({ content }) => /(main|second|third): SOL/.exec(content)?.[1])).toEqual([
    "second",
    "main",
  ]);
  // The first message tells of all of them, as they are now.
  const shown = JSON.stringify(calls()[0]);
  for (const wallet of ["main", "second", "third"]) expect(shown).toContain(`${wallet}: SOL long`);
  expect(calls()[0]!.content).toMatch(
    /third: SOL long is 1\.05% from liquidation \(\\?\+2 more alerts, second\/0\.0, main\/0\.0 got worse\)/,
  );
  const mails = house.smtp.mails.map(({ subject }) => subject);
  expect(mails.filter((subject) => subject.includes("critical"))).toEqual([
    expect.stringMatching(/^WORSE, now critical: third: .* \(#2\)$/),
    expect.stringMatching(/^WORSE, now critical: second: .* \(\+1 more alert, third\/0\.0 got worse\)$/),
    expect.stringMatching(
      /^WORSE, now critical: main: .* \(\+2 more alerts, third\/0\.0, second\/0\.0 got worse\)$/,
    ),
  ]);
  const [sent, mailed] = [house.discord.messages.length, mails.length];
  await falls("150", 20_000);
  // Nothing critical is left: one message, which calls nobody. Mail tells of all three in it.
  expect(house.discord.messages.slice(sent).map(({ pings }) => pings.users)).toEqual([[]]);
  const ends = house.smtp.mails.slice(mailed);
  expect(ends).toHaveLength(1);
  for (const wallet of ["main", "second", "third"])
    expect(ends[0]!.text).toMatch(new RegExp(`^BETTER, now info #\\d: ${wallet}: SOL long`, "m"));
  expect(JSON.stringify(calls()[0]!.embeds).match(/BETTER, now info/g)).toHaveLength(3);
  // Alerts that outlive it are told by themselves, and take nothing of the first message back.
  await falls("200", 20_000);
  await vi.waitFor(() => {
    const [{ content, embeds }] = calls() as [ReturnType<typeof calls>[number]];
    expect(JSON.stringify(embeds).match(/RESOLVED/g)).toHaveLength(3);
    expect(embeds.map(({ title }) => title)).toEqual(
      embeds.map(() => expect.stringMatching(/^~~.*info #\d/)),
    );
    expect(content).toContain("RESOLVED");
  });
});
