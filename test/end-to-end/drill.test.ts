/** Fire drills through the whole daemon: to Discord and by mail, over sockets. */
import { expect, test, vi } from "vitest";
import { receiptsOf } from "../../src/domain/alerts/receipt.ts";
import type { AlertStory } from "../../src/domain/ports.ts";
import type { DaemonStatus } from "../../src/domain/status.ts";
import { every, openHouse } from "../support/daemon.ts";

// A bound for machines that do much else: nothing here waits for real time.
vi.setConfig({ testTimeout: 120_000 });

const silence = { matchers: ["severity=~.*"], upTo: "critical", author: "me", comment: "all of it" };

test("reaches every channel, marked everywhere, whatever is routed or silenced; and nothing happened", async () => {
  await using house = await openHouse();
  const role = "<@&123456789012345678>";
  await house.start({
    mention: { critical: role },
    // Nothing is routed to the mail.
    routing: { receivers: ["chat"], groupWait: "5m" },
  });
  await house.clock.advance(3_000);
  await house.ask("POST", "/api/v1/silences", { ...silence, endsMs: house.clock.nowMs() + 3_600_000 });
  const [chats, mails] = [house.chats().length, house.subjects().length];

  const asked = house.ask("POST", "/api/v1/drill", { by: "ann" }) as Promise<{ alertId: number }>;
  const { alertId } = await house.clock.finish(asked);
  await house.clock.advance(2_000);
  expect(house.chats().length - chats).toBe(1);
  expect(house.subjects().length - mails).toBe(1);

  const title = "DRILL: Fire drill, nothing happened: a liquidation would reach you like this";
  const chat = house.chats().at(-1)!;
  expect(house.headlines().at(-1)).toContain(title);
  expect(chat.text).toContain("This is a fire drill. Nothing has happened, and there is nothing to do.");
  expect(chat.text).toContain("by ann");
  // It wakes whom a liquidation would wake.
  expect(chat.pings.roles).toEqual(["123456789012345678"]);
  const mail = house.smtp.mails.at(-1)!;
  expect(mail.subject).toContain("DRILL: Fire drill, nothing happened");
  expect(mail.raw).toContain("fire drill");

  const story = (await house.ask("GET", `/api/v1/alerts/${alertId}`)) as AlertStory;
  expect(story.alert).toMatchObject({ rule: "FireDrill", drill: true, event: true, wallet: null });
  const receipts = receiptsOf(story);
  expect(receipts.map(({ receiver, status }) => [receiver, status])).toEqual([
    ["chat", "delivered"],
    ["mail", "delivered"],
  ]);
  expect(receipts[0]?.receipt).toContain(chat.id);
  for (const { atMs } of receipts) {
    const { happened, seen, fired, owed, sealed, accepted, acknowledged } = atMs;
    const times = [happened, seen, fired, owed, sealed, accepted] as number[];
    expect(times).toEqual([...times].sort((a, b) => a - b));
    expect(acknowledged).toBeNull();
  }
  // It happened nowhere, and the exchange hears nothing of it.
  await house.read(async (store) => {
    expect(await store.events({ kind: "liquidation" })).toEqual([]);
    expect(await store.events({ kind: "notification" })).toEqual([]);
    expect(await store.acknowledgements({})).toEqual([]);
  });
  const status = (await house.ask("GET", "/api/v1/status")) as DaemonStatus;
  expect(status.drill).toMatchObject({
    nextMs: null,
    last: {
      by: "ann",
      alertId,
      channels: [
        { channel: "chat", failure: null },
        { channel: "mail", failure: null },
      ],
    },
  });
});

test("one that the calendar runs tells the others of a channel that does not take it, until it does", async () => {
  await using house = await openHouse();
  const mailDown = { at: "connect", code: 451, times: 1_000 } as const;
  // It is 12:00.
  await house.start({
    drill: { cron: "0 1 12 * * *", timezone: "UTC", within: "20s" },
    schedules: every("30s", ["traderState", "markets", "notifications", "exchangeStatus", "liquidations"]),
  });
  await house.clock.advance(2_000);
  const status = (await house.ask("GET", "/api/v1/status")) as DaemonStatus;
  expect(status.drill?.nextMs).toBe(Date.UTC(2026, 2, 1, 12, 1));
  house.smtp.fail(mailDown);
  await house.clock.advance(90_000);
  const titles = house.headlines();
  expect(titles.filter((one) => one.includes("Fire drill, nothing happened"))).toHaveLength(1);
  const failed = house.chats(/did not take the fire drill/);
  expect(failed).toHaveLength(1);
  expect(failed[0]?.text).toContain("FIRING warning: The channel mail did not take the fire drill");
  expect(failed[0]?.text).toMatch(/It was not taken within 20s: /);

  // A person who tries it again looks on: nothing more is told, neither of the failure nor twice.
  await house.clock.finish(house.ask("POST", "/api/v1/drill", { channels: ["mail"], by: "ann" }));
  await house.clock.advance(30_000);
  expect(house.chats(/did not take the fire drill/)).toHaveLength(1);
  house.smtp.clearFaults();
  await house.clock.advance(120_000);
  await house.clock.finish(house.ask("POST", "/api/v1/drill", { channels: ["mail"], by: "ann" }));
  await house.clock.advance(30_000);
  expect(house.chats(/RESOLVED: The channel mail took a fire drill in time/)).toHaveLength(1);
});

test("a channel that there is not is named, and nothing is sent", async () => {
  await using house = await openHouse();
  await house.start();
  await expect(
    house.ask("POST", "/api/v1/drill", { channels: ["chat", "pager"], by: "ann" }),
  ).rejects.toThrow('404 {"error":"no channel is called pager"}');
  expect(house.headlines().filter((one) => one.startsWith("DRILL"))).toEqual([]);
});
