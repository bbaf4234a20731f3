/** The messages to a person about a position from danger to its end: by a bot and by mail, from the whole daemon. */
import { expect, test, vi } from "vitest";
import { every, openHouse } from "../support/daemon.ts";

// A bound for machines that do much else: nothing here waits for real time.
vi.setConfig({ testTimeout: 180_000 });

const long = { collateral: "4000", symbol: "SOL", size: "100", entryPrice: "150" } as const;

/** Only this, so that each message is about it: the position's own rule. */
const onlyLiquidation = {
  AccountLiquidationNear: { enabled: false },
  MarginHigh: { enabled: false },
  OrdersMayBeCancelled: { enabled: false },
  AccountLiquidatable: { enabled: false },
  Drawdown: { enabled: false },
  LosingFast: { enabled: false },
  DailyLoss: { enabled: false },
  StopLossMissing: { enabled: false },
};

test("started beside a liquidation, the message leaves within the first poll", async () => {
  await using house = await openHouse();
  await house.hold(long);
  await house.bring("SOL", 0.03);
  // The intervals of a configuration that says nothing about them.
  const startMs = house.clock.nowMs();
  await house.start({ schedules: {}, exchange: { baseUrl: house.simulator.url, streams: "off" } });
  await house.clock.until(() => house.discord.messages.length > 0 && house.smtp.mails.length > 0, 5_000);
  const states = house.simulator.requests.query("/v1/trader/state/*");
  expect(states.count).toBe(1);
  const [chat] = house.chats(/SOL long is 3% from liquidation/);
  expect(chat?.sentAtMs).toBeLessThanOrEqual(startMs + 5_000);
  expect(chat?.text).toContain("FIRING critical");
  expect(chat?.text).toContain("Already so when perpwatch started watching.");
  expect(house.smtp.mails[0]?.subject).toContain("FIRING critical: main: SOL long is 3% from liquidation");
  expect(house.smtp.mails[0]?.text).toContain("Already so when perpwatch started watching.");
});

test("a liquidated position ends its alert as liquidated, and nowhere as resolved", async () => {
  await using house = await openHouse();
  await house.hold(long);
  await house.start({ ruleOverrides: onlyLiquidation });
  await house.clock.advance(3_000);
  expect(house.headlines()).toEqual([]);

  await house.bring("SOL", 0.04);
  await house.clock.advance(2_000);
  expect(house.subjects()).toEqual(["FIRING critical: main: SOL long is 4% from liquidation (#1)"]);
  const first = house.discord.messages[0];

  // Through the liquidation price: the exchange takes the position in steps.
  await house.call("mark-price", { symbol: "SOL", price: "111" });
  await house.clock.advance(40_000);
  await house.call("mark-price", { symbol: "SOL", price: "105" });
  await house.clock.advance(120_000);
  expect((await house.truth()).accounts[0]?.positions).toEqual([]);

  expect(first?.edits).toBeGreaterThan(0);
  expect(first?.content).toMatch(/LIQUIDATED/);
  const ended = /LIQUIDATED(?: #\d+)?: main\/0\.0\/SOL/;
  const endings = house.discord.messages.slice(1).filter(({ text }) => ended.test(text));
  expect(endings).toHaveLength(1);
  expect(endings[0]?.replyTo).toBe(first?.id);
  const everything = [
    ...house.discord.messages.map(({ text }) => text),
    ...house.smtp.mails.map(({ raw }) => raw),
  ];
  expect(everything.filter((text) => /resolved|recovered/i.test(text))).toEqual([]);

  const mails = house.smtp.mails;
  const ending = mails.find(({ subject, text }) => ended.test(subject) || ended.test(text));
  expect(ending?.headers.get("in-reply-to")).toBe(mails[0]?.messageId);

  // Each liquidation is told once, whichever of inbox and history brought it first, and then acknowledged.
  const { acked, open } = await house.inbox();
  expect(open).toEqual([]);
  expect(acked.length).toBeGreaterThan(0);
  const messages = await house.read((store) => store.messages({}));
  const told = messages
    .filter(({ receiver }) => receiver === "chat")
    .flatMap(({ content }) => content.items.map(({ change }) => change.alert))
    .filter(({ rule }) => rule === "Liquidated");
  expect(told).toHaveLength(acked.length);
  expect(new Set(told.map(({ eventKey }) => eventKey)).size).toBe(acked.length);
});

test("after a deposit that removes the liquidation price it is resolved, in green", async () => {
  await using house = await openHouse();
  await house.hold(long);
  await house.bring("SOL", 0.03);
  await house.start({ ruleOverrides: onlyLiquidation });
  await house.clock.advance(2_000);
  expect(house.headlines()).toHaveLength(1);
  const first = house.discord.messages[0];
  const red = first?.embeds[0]?.color;

  await house.call("collateral", { trader: "main", amount: "20000" });
  expect((await house.truth()).accounts[0]?.positions[0]?.liquidationPrice).toBeNull();
  await house.clock.advance(90_000);

  expect(house.headlines()).toHaveLength(2);
  expect(first?.content).toContain("RESOLVED");
  // In the thread below it.
  expect(house.discord.messages[1]?.channelId).toBe(first?.id);
  expect(house.discord.messages[1]?.content).toContain("RESOLVED: main: SOL long is");
  expect(house.discord.messages[1]?.embeds[0]?.color).not.toBe(red);
  const [firing, resolved, ...more] = house.smtp.mails;
  expect(resolved?.subject).toMatch(/^RESOLVED: main: SOL long/);
  expect(resolved?.headers.get("in-reply-to")).toBe(firing?.messageId);
  expect(more).toEqual([]);
  expect((await house.read((store) => store.alerts({}))).map(({ ending }) => ending)).toEqual(["recovered"]);
});

test("an alert that fires is shown as it is now, wherever one looks", async () => {
  await using house = await openHouse();
  await house.hold(long);
  await house.bring("SOL", 0.04);
  await house.start({ ruleOverrides: onlyLiquidation });
  await house.clock.advance(2_000);
  await house.bring("SOL", 0.037);
  await house.clock.advance(2_000);
  expect(house.headlines()).toHaveLength(1);
  const summary = "main: SOL long is 3.7% from liquidation";
  expect(await house.ask("GET", "/api/v1/status")).toMatchObject({ watch: { firing: [{ summary }] } });
  expect(await house.ask("GET", "/api/v1/alerts/1")).toMatchObject({
    alert: { id: 1, summary },
    changes: [{ alert: { summary: "main: SOL long is 4% from liquidation" } }],
  });
  expect(await house.ask("GET", "/api/v1/alerts?limit=5")).toMatchObject({ alerts: [{ id: 1, summary }] });
});

test("a closed position ends its alert as closed", async () => {
  await using house = await openHouse();
  await house.hold(long);
  await house.bring("SOL", 0.03);
  await house.start({ ruleOverrides: onlyLiquidation });
  await house.clock.advance(2_000);
  await house.call("position", { trader: "main", symbol: "SOL", size: "0" });
  await house.clock.advance(30_000);
  expect((await house.read((store) => store.alerts({}))).map(({ ending }) => ending)).toEqual(["closed"]);
  expect(house.subjects()[1]).toMatch(/^CLOSED: main\/0\.0\/SOL/);
  expect(house.headlines().join()).not.toMatch(/RESOLVED|LIQUIDATED/);
});

test("a price that rises and falls through the levels is one alert, told at each rise", async () => {
  await using house = await openHouse();
  await house.hold(long);
  await house.start({ ruleOverrides: { ...onlyLiquidation, LiquidationNear: { keepFiringFor: "5s" } } });
  for (const distance of [0.18, 0.08, 0.04, 0.5]) {
    await house.bring("SOL", distance);
    await house.clock.advance(10_000);
  }
  expect(house.subjects()).toEqual([
    "FIRING info: main: SOL long is 18% from liquidation (#1)",
    "WORSE, now warning: main: SOL long is 8% from liquidation (#1)",
    "WORSE, now critical: main: SOL long is 4% from liquidation (#1)",
    "RESOLVED: main: SOL long is 50% from liquidation (#1)",
  ]);
  // The figure behind it, once there is a line to draw; when it is over there is nothing to look at.
  expect(house.smtp.mails.slice(1).map(({ inline }) => inline.map(({ type }) => type))).toEqual([
    ["image/png"],
    ["image/png"],
    [],
  ]);
  expect(house.smtp.mails[2]?.html).toMatch(
    /alt="main\/0\.0\/SOL: [^"]* to 4%[^"]*; fires at [^"]*5% \(critical\)/,
  );
  const ids = house.smtp.mails.map(({ messageId }) => messageId);
  expect(house.smtp.mails.map(({ headers }) => headers.get("in-reply-to"))).toEqual([
    undefined,
    ids[0],
    ids[0],
    ids[0],
  ]);
  expect(new Set(house.discord.messages.map(({ nonce }) => nonce)).size).toBe(house.discord.messages.length);
});

test("a wallet without a key is watched by public reads alone", async () => {
  await using house = await openHouse({ wallets: ["main"] });
  await house.hold(long);
  await house.bring("SOL", 0.08);
  const { authority } = house.trader();
  await house.call("notification", { trader: "main", notificationType: "order_filled" });
  await house.start({
    wallets: [{ name: "watched", authority }],
    schedules: every("1s", ["traderState", "markets"]),
  });
  await house.clock.advance(5_000);
  expect(house.subjects()).toContain("FIRING warning: watched: SOL long is 8% from liquidation (#1)");
  await house.call("mark-price", { symbol: "SOL", price: "111" });
  await house.clock.advance(180_000);
  expect(house.subjects().some((subject) => /LIQUIDATED SOL/.test(subject))).toBe(true);
  expect(house.simulator.requests.query("/v1/auth/*").count).toBe(0);
  const asked = Object.keys(house.simulator.requests.query("/v1/*").counts);
  expect(asked.filter((path) => /notifications/.test(path))).toEqual([]);
  expect((await house.inbox()).acked).toEqual([]);
  // Nothing is left of the account: the exchange lists no subaccounts, which the daemon believes when answers repeat it.
  expect(house.warnings().filter((one) => !/in \d of 3 answers/.test(one))).toEqual([]);
});
