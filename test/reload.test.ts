/** The parts of a new configuration that a running daemon applies, and those that need a restart. */
import { expect, test } from "vitest";
import { every, openHouse } from "./support/daemon.ts";

test("routes to a channel that does not run are refused, and the old ones go on", {
  timeout: 30_000,
}, async () => {
  await using house = await openHouse();
  await house.hold({ collateral: "4000", symbol: "SOL", size: "100", entryPrice: "150" });
  const { daemon } = await house.start({ channels: { chat: house.chat() } });
  await house.clock.advance(3_000);
  await expect(house.clock.finish(daemon.reload(house.settings()))).rejects.toThrow(/mail.*restart/);
  await house.bring("SOL", 0.03);
  await house.clock.advance(5_000);
  expect(house.chats(/LiquidationNear|from liquidation/).length).toBeGreaterThan(0);
});

test("a wallet that was renamed is watched under its old name until the restart", {
  timeout: 30_000,
}, async () => {
  await using house = await openHouse();
  await house.hold({ collateral: "4000", symbol: "SOL", size: "100", entryPrice: "150" });
  const { daemon } = await house.start();
  await house.clock.advance(3_000);
  const { keyFile } = house.trader();
  const changed = await house.clock.finish(
    daemon.reload(house.settings({ wallets: [{ name: "prime", keyFile }] })),
  );
  expect(changed).toContain("wallets");
  await house.clock.advance(3_000);
  await house.bring("SOL", 0.03);
  await house.clock.advance(5_000);
  expect(house.chats(/from liquidation/).length).toBeGreaterThan(0);
});

test("positions that cannot be read are reported at the schedule that runs, however long the new one is", {
  timeout: 30_000,
}, async () => {
  await using house = await openHouse();
  await house.hold({ collateral: "4000", symbol: "SOL", size: "100", entryPrice: "150" });
  const { daemon } = await house.start({ schedules: schedules("5s") });
  await house.clock.advance(30_000);
  const changed = await house.clock.finish(daemon.reload(house.settings({ schedules: schedules("10m") })));
  expect(changed).toEqual(["schedules"]);
  await house.clock.advance(10_000);
  expect(house.chats(/No data/)).toEqual([]);
  await house.call("fault", { path: "/v1/trader/*", status: 503 });
  await house.clock.advance(75_000);
  expect(house.chats(/No data/).length).toBeGreaterThan(0);
});

test("positions that are read at the schedule that runs are not too old, however short the new one is", {
  timeout: 30_000,
}, async () => {
  await using house = await openHouse();
  await house.hold({ collateral: "4000", symbol: "SOL", size: "100", entryPrice: "150" });
  const { daemon } = await house.start({ schedules: schedules("60s") });
  await house.clock.advance(70_000);
  const changed = await house.clock.finish(daemon.reload(house.settings({ schedules: schedules("1s") })));
  expect(changed).toEqual(["schedules"]);
  await house.clock.advance(240_000);
  expect(house.chats(/No data/)).toEqual([]);
});

function schedules(traderState: string) {
  return { ...every("1s", ["markets"]), ...every(traderState, ["traderState"]) };
}

test("a channel's own words are taken by a reload, with what they name of the account", {
  timeout: 30_000,
}, async () => {
  await using house = await openHouse();
  await house.hold({ collateral: "4000", symbol: "SOL", size: "100", entryPrice: "150" });
  const { daemon } = await house.start({
    channels: { chat: house.chat() },
    routing: { receivers: ["chat"] },
  });
  await house.clock.advance(3_000);
  const templates = {
    title: "{{ alert.symbol }} at {{ price(position.markPrice) }}",
    resolved: { title: "{{ alert.symbol }} is well, equity {{ usd(trader.equity) }}" },
  };
  const next = house.settings({
    channels: { chat: { ...house.chat(), templates } },
    routing: { receivers: ["chat"] },
  });
  expect(await house.clock.finish(daemon.reload(next))).toEqual([]);
  await house.clock.advance(3_000);
  await house.bring("SOL", 0.03);
  await house.clock.advance(5_000);
  expect(house.chats(/FIRING critical:\** SOL at \$\d+\.\d\d(?!\d)/).length).toBeGreaterThan(0);
  await house.bring("SOL", 0.6);
  await house.clock.advance(90_000);
  expect(house.chats(/SOL is well, equity \$[\d,.]+/).length).toBeGreaterThan(0);
});

test("the number of messages above which they are folded is taken by a reload", {
  timeout: 30_000,
}, async () => {
  await using house = await openHouse();
  for (const subaccountIndex of [0, 1])
    await house.hold({ collateral: "4000", symbol: "SOL", size: "100", entryPrice: "150", subaccountIndex });
  const settings = (stormFold: number) => ({
    channels: { chat: house.chat() },
    routing: { receivers: ["chat"], groupBy: ["subject"], incidentBy: "never", stormFold },
  });
  const { daemon } = await house.start(settings(100));
  await house.clock.advance(3_000);
  await house.bring("SOL", 0.03);
  await house.clock.advance(5_000);
  const alone = house.chats(/./).length;
  expect(alone).toBeGreaterThan(1);
  expect(house.chats(/the worst:/)).toEqual([]);
  await house.bring("SOL", 0.6);
  await house.clock.advance(90_000);
  expect(await house.clock.finish(daemon.reload(house.settings(settings(1))))).toEqual([]);
  await house.bring("SOL", 0.03);
  await house.clock.advance(5_000);
  expect(house.chats(/the worst:/).length).toBeGreaterThan(0);
});

test("how often inboxes are audited is taken by a reload", { timeout: 30_000 }, async () => {
  await using house = await openHouse();
  const { daemon } = await house.start();
  await house.clock.advance(130_000);
  const [first] = daemon.status().inbox?.audits ?? [];
  const reload = (audit: string) =>
    house.clock.finish(daemon.reload(house.settings({ acknowledge: { audit } })));
  expect(await reload("1m")).toEqual([]);
  await house.clock.advance(65_000);
  const [second] = daemon.status().inbox?.audits ?? [];
  expect((second?.atMs ?? 0) - (first?.atMs ?? 0)).toBeLessThanOrEqual(75_000);
  expect(second?.atMs).toBeGreaterThan(first?.atMs ?? 0);
  await reload("off");
  await house.clock.advance(180_000);
  expect(daemon.status().inbox).toMatchObject({ everyMs: null, audits: [{ atMs: second?.atMs }] });
});

test("twenty reloads of an unchanged configuration send no message and forget nothing", {
  timeout: 60_000,
}, async () => {
  await using house = await openHouse();
  await house.hold({ collateral: "4000", symbol: "SOL", size: "10", entryPrice: "150" });
  const { daemon } = await house.start({ channels: { chat: house.chat() } });
  await house.clock.advance(130_000);
  const figures = () => Object.keys(daemon.status().watch.wallets[0]?.figures ?? {}).sort();
  const before = figures();
  const known = daemon.status().watch;
  const messages = house.chats(/./).length;
  expect(before).toContain("equity");
  for (let i = 0; i < 20; i++) {
    await house.clock.finish(daemon.reload(house.settings({ channels: { chat: house.chat() } })));
    // Nothing was read since: all figures are from before.
    expect(figures()).toEqual(before);
    expect(daemon.status().watch.unjudged).toEqual(known.unjudged);
    await house.clock.advance(1_700);
  }
  await house.clock.advance(150_000);
  expect(house.chats(/./).slice(messages)).toEqual([]);
});
