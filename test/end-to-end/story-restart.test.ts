/** The daemon's knowledge after it was not running: its timers, what it missed, and what it must not repeat. */
import fs from "node:fs";
import path from "node:path";
import { expect, test, vi } from "vitest";
import { formatTime } from "../../src/domain/text/time-text.ts";
import { type House, openHouse } from "../support/daemon.ts";

// A bound for machines that do much else: nothing here waits for real time.
vi.setConfig({ testTimeout: 180_000 });

const long = { collateral: "4000", symbol: "SOL", size: "100", entryPrice: "150" } as const;

/** One rule with timers that a test can tell apart. */
function slowRule(house: House): { readonly rules: readonly string[] } {
  const file = path.join(house.folder, "slow.yaml");
  const rule = `
rules:
  - name: Slow
    scope: position
    when: position.liquidationDistance < 0.10
    severity: warning
    for: 60s
    keepFiringFor: 30s
    summary: "{{ wallet.name }} is near"
`;
  fs.writeFileSync(file, rule);
  return { rules: [file] };
}

test("a restart in the middle of `for` and of `keepFiringFor` neither counts nor forgets", async () => {
  await using house = await openHouse();
  await house.hold(long);
  const rules = slowRule(house);
  await house.bring("SOL", 0.08);
  const first = await house.start(rules);
  await house.clock.advance(40_000);
  await first.stop();
  await house.clock.advance(600_000);
  const second = await house.start(rules);
  await house.clock.advance(17_000);
  // The downtime itself is told, as nothing that a rule counts.
  expect(house.subjects()).toEqual([
    expect.stringMatching(
      /^WARNING: I was not watching from 2026-03-01 12:00:40 UTC to 12:10:4[01] UTC \(10m( 1s)?\) \(#1\)$/,
    ),
  ]);
  await house.clock.advance(6_000);
  expect(house.subjects().slice(1)).toEqual(["FIRING warning: main is near (#2)"]);

  await house.bring("SOL", 0.3);
  await house.clock.advance(20_000);
  await second.stop();
  await house.clock.advance(600_000);
  await house.start(rules);
  await house.clock.advance(7_000);
  expect(house.subjects().slice(2)).toEqual([expect.stringMatching(/^WARNING: I was not watching /)]);
  await house.clock.advance(6_000);
  expect(house.subjects().slice(3)).toEqual(["RESOLVED: main is near (#2)"]);
  expect(house.smtp.mails[3]?.headers.get("in-reply-to")).toBe(house.smtp.mails[1]?.messageId);
  expect(house.discord.messages[3]?.replyTo).toBe(house.discord.messages[1]?.id);
  expect(house.discord.messages).toHaveLength(4);
});

test("a firing alert is not told again by a restart, and its end is told by the next run", async () => {
  await using house = await openHouse();
  await house.hold(long);
  await house.bring("SOL", 0.08);
  for (let run = 0; run < 3; run++) {
    const { stop } = await house.start();
    await house.clock.advance(20_000);
    await stop();
    await house.clock.advance(5_000);
  }
  expect(house.subjects()).toEqual(["FIRING warning: main: SOL long is 8% from liquidation (#1)"]);
  // It recovers while nobody looks.
  await house.bring("SOL", 0.5);
  await house.start();
  await house.clock.advance(75_000);
  expect(house.subjects().slice(1)).toEqual(["RESOLVED: main: SOL long is 50% from liquidation (#1)"]);
  expect(house.discord.messages).toHaveLength(2);
});

test("polls that say the same for ten minutes tell nothing, but timers go on in them", async () => {
  await using house = await openHouse();
  await house.hold(long);
  const remind = { warning: { every: "2m", upTo: "1h" } };
  await house.start({ ...slowRule(house), remind });
  await house.clock.advance(10_000);
  const lines = house.log.length;
  const events = (await house.read((store) => store.events({}))).length;
  await house.clock.advance(600_000);
  expect([house.subjects(), house.headlines()]).toEqual([[], []]);
  expect(house.log.slice(lines)).toEqual([]);
  expect(await house.read((store) => store.events({}))).toHaveLength(events);

  await house.bring("SOL", 0.08);
  const sinceMs = house.clock.nowMs();
  await house.clock.until(() => house.discord.messages.length > 0, 120_000);
  const lateMs = (house.discord.messages[0]?.sentAtMs ?? 0) - sinceMs;
  expect(lateMs).toBeGreaterThanOrEqual(60_000);
  expect(lateMs).toBeLessThanOrEqual(62_000);
  // It is told again after two minutes, and then after four.
  const { sentAtMs = 0 } = house.discord.messages[0] ?? {};
  await house.clock.advance(400_000);
  const minutes = house.discord.messages.map((one) => Math.round((one.sentAtMs - sentAtMs) / 60_000));
  expect(minutes).toEqual([0, 2, 6]);
  expect(house.headlines()[1]).toContain("STILL FIRING warning");
});

test("what happened in a downtime is told once, with its true time; what was before the first start is not", async () => {
  await using house = await openHouse();
  await house.hold(long);
  // The losses of a liquidation have rules of their own, which are not what this is about.
  const quiet = { ruleOverrides: { Drawdown: { enabled: false }, LosingFast: { enabled: false } } };
  for (let i = 0; i < 5; i++) {
    await house.call("notification", { trader: "main", notificationType: "stop_loss_executed" });
    await house.clock.advance(1_000);
  }
  const first = await house.start(quiet);
  await house.clock.advance(30_000);
  expect(house.subjects()).toEqual([]);
  expect((await house.inbox()).acked).toEqual([]);
  await first.stop();

  // More than a page of the inbox, a liquidation among them.
  const happened: number[] = [];
  const missed = 130;
  for (let i = 0; i < missed; i++) {
    await house.clock.advance(10_000);
    happened.push(house.simulator.nowMs());
    await house.call("notification", { trader: "main", notificationType: "stop_loss_executed" });
  }
  await house.call("mark-price", { symbol: "SOL", price: "111" });
  await house.clock.advance(60_000);
  await house.call("mark-price", { symbol: "SOL", price: "105" });
  await house.clock.advance(3_600_000);

  const second = await house.start(quiet);
  await house.clock.advance(120_000);
  const alerts = (await house.read((store) => store.alerts({ limit: 1_000 }))).filter(({ event }) => event);
  const stops = alerts.filter(({ rule }) => rule === "StopLossExecuted");
  expect(stops.map(({ sinceMs }) => sinceMs).sort((a, b) => a - b)).toEqual(happened);
  const liquidations = alerts.filter(({ rule }) => rule === "Liquidated");
  expect(liquidations.length).toBeGreaterThan(0);
  // The downtime itself is one more.
  expect(alerts.filter(({ rule }) => rule === "NotWatched")).toHaveLength(1);
  expect(alerts).toHaveLength(stops.length + liquidations.length + 1);

  const { acked, open } = await house.inbox();
  expect([acked.length, open.length]).toEqual([missed + liquidations.length, 5]);
  const told = (text: string, id: number) => text.split(new RegExp(`#${id}\\b`)).length > 1;
  // Each in exactly one message of each receiver, and that message arrived once.
  const messages = await house.read((store) => store.messages({}));
  const arrived = [
    ...house.discord.messages.map(({ text }) => text),
    ...house.smtp.mails.map(({ raw }) => raw),
  ];
  for (const { id: message, status } of messages) {
    expect(status).toBe("delivered");
    expect(
      arrived.filter((text) => text.includes(message)),
      message,
    ).toHaveLength(1);
  }
  for (const { id } of alerts)
    for (const receiver of ["chat", "mail"])
      expect(
        messages.filter((one) => one.receiver === receiver && one.alertIds.includes(id)),
        `alert ${id} to ${receiver}`,
      ).toHaveLength(1);
  const [liquidation] = liquidations;
  const mail = house.smtp.mails.find(({ text }) => told(text, liquidation?.id ?? 0));
  expect(mail?.text).toContain(`Happened ${formatTime(liquidation?.sinceMs ?? 0)}`);

  // And nothing of it again.
  const mails = house.smtp.mails.length;
  const chats = house.discord.messages.length;
  await second.stop();
  await house.start(quiet);
  await house.clock.advance(120_000);
  expect(house.subjects().slice(mails)).toEqual([]);
  expect(house.headlines().slice(chats)).toEqual([]);
});

test("a second daemon on the same database is refused, and the first goes on", async () => {
  await using house = await openHouse();
  await house.hold(long);
  await house.start();
  await house.clock.advance(5_000);
  await expect(house.start()).rejects.toThrow(
    /another perpwatch \(process \d+\) is writing to this database/,
  );
  await house.bring("SOL", 0.04);
  await house.clock.advance(3_000);
  expect(house.subjects()).toEqual(["FIRING critical: main: SOL long is 4% from liquidation (#1)"]);
  expect(house.headlines()).toHaveLength(1);
});
