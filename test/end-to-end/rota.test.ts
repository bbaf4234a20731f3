/** A rota in the whole daemon: alerts, retries and hand-overs, over restarts and reloads. */
import { expect, test, vi } from "vitest";
import { type House, openHouse, type Sections } from "../support/daemon.ts";

// A bound for machines that do much else: nothing here waits for real time.
vi.setConfig({ testTimeout: 180_000 });

/** Anna reads Discord, Ben mail; Ben's turn begins ten minutes after the start. */
function desk(house: House, more: object = {}): Sections {
  const oncall = { type: "rota", people: ["anna", "ben"], turn: "Sun 12:10", since: "2026-02-22", ...more };
  return {
    channels: { anna: house.chat(), ben: house.mail(), oncall },
    routing: { receivers: ["oncall"] },
    rules: ["shipped:liquidation-risk"],
  };
}

const minute = 60_000;
const handOver = /Hand-over of oncall: anna to ben/;
const near = /from liquidation/;

async function opened(): Promise<House> {
  const house = await openHouse();
  await house.hold({ collateral: "4000", symbol: "SOL", size: "100", entryPrice: "150" });
  return house;
}

const mails = (house: House, fits: RegExp) => house.subjects().filter((one) => fits.test(one));
const receipts = (house: House) =>
  house.read(async (store) =>
    (await store.messages({})).filter(({ receiver }) => receiver === "oncall").map(({ receipt }) => receipt),
  );

test("an alert goes to who is on duty, its reminders and its end to who has taken over, the hand-over once to both", async () => {
  await using house = await opened();
  const first = await house.start(desk(house));
  await house.bring("SOL", 0.03);
  await house.clock.advance(6_000);
  expect([house.chats(near).length, mails(house, near).length]).toEqual([1, 0]);

  await house.clock.advance(10 * minute);
  expect([house.chats(handOver).length, mails(house, handOver).length]).toEqual([1, 1]);
  const told = house.chats(handOver)[0]!.text;
  expect(told).toContain("ben until Sun 2026-03-08 12:10 UTC");
  expect(told).toContain("anna from Sun 2026-03-08 12:10 UTC");
  expect(told).toMatch(/#\d+ critical/);

  const before = house.discord.messages.length;
  await house.clock.advance(6 * minute);
  expect(mails(house, /^STILL FIRING critical/).length).toBeGreaterThan(0);
  await first.stop();
  await house.start(desk(house));
  await house.bring("SOL", 0.5);
  await house.clock.advance(3 * minute);
  expect(mails(house, /^RESOLVED/)).toHaveLength(1);
  expect(house.discord.messages.length).toBe(before);
  expect([house.chats(/Hand-over/).length, mails(house, /Hand-over/).length]).toEqual([1, 1]);
  const all = await receipts(house);
  expect(all[0]).toMatch(/^anna: \d+/);
  expect(all.at(-1)).toMatch(/^ben: /);
});

test("a message that is tried again after a restart and the hand-over goes to the person for whom it was sealed", async () => {
  await using house = await opened();
  const { channelId } = house.discord;
  const path = `/channels/${channelId}/messages`;
  house.discord.fail({ path, method: "POST", times: 99, effect: { kind: "status", status: 503 } });
  const first = await house.start(desk(house));
  await house.bring("SOL", 0.03);
  await house.clock.advance(30_000);
  await first.stop();
  expect(house.chats(near)).toEqual([]);
  const [sealed] = await house.read((store) => store.messages({ open: true }));
  expect(sealed).toMatchObject({ receiver: "oncall", content: { onDuty: "anna" }, status: "sealed" });
  house.discord.clearFaults();
  await house.clock.advance(10 * minute);
  await house.start(desk(house));
  await house.clock.advance(minute);
  expect(house.chats(near).length).toBeGreaterThan(0);
  const known = await house.read((store) => store.messages({ ids: [sealed!.id] }));
  expect(known[0]).toMatchObject({ status: "delivered", receipt: expect.stringMatching(/^anna: /) });
  expect(house.chats(new RegExp(sealed!.id))).toHaveLength(1);
});

test("a hand-over while perpwatch is not running is told at the start, once", async () => {
  await using house = await opened();
  const first = await house.start(desk(house));
  await house.clock.advance(5_000);
  await first.stop();
  await house.clock.advance(20 * minute);
  const second = await house.start(desk(house));
  await house.clock.advance(minute);
  await second.stop();
  await house.start(desk(house));
  await house.clock.advance(minute);
  expect([house.chats(/Hand-over/).length, mails(house, /Hand-over/).length]).toEqual([1, 1]);
});

test("a reload takes overrides, which hand over at once, and back when they are over", async () => {
  await using house = await opened();
  const { daemon } = await house.start(desk(house));
  await house.clock.advance(5_000);
  const overrides = [{ person: "ben", from: "2026-03-01 12:00", to: "2026-03-01 12:05" }];
  const changed = await house.clock.finish(daemon.reload(house.settings(desk(house, { overrides }))));
  expect(changed).toEqual([]);
  await house.clock.advance(10_000);
  expect([house.chats(handOver).length, mails(house, handOver).length]).toEqual([1, 1]);
  await house.bring("SOL", 0.03);
  await house.clock.advance(6_000);
  expect([house.chats(near).length, mails(house, near).length]).toEqual([0, 1]);
  await house.clock.advance(6 * minute);
  expect(house.chats(/Hand-over of oncall: ben to anna/)).toHaveLength(1);
});

test("others stand in for the person on duty whose channel takes nothing, are told why, and hear of the channel", async () => {
  await using house = await opened();
  house.discord.fail({ method: "POST", times: 99, effect: { kind: "status", status: 401 } });
  const { daemon } = await house.start(desk(house));
  await house.bring("SOL", 0.03);
  await house.clock.advance(6_000);
  expect(house.chats(near)).toEqual([]);
  const [mail] = house.smtp.mails.filter(({ subject }) => near.test(subject));
  expect(mail!.text).toMatch(/In place of anna, who is on duty and did not get it: anna: .*401/);
  expect(mails(house, /anna does not take messages/)).toHaveLength(1);
  expect(daemon.status().channels.find(({ name }) => name === "oncall")).toMatchObject({
    ...{ working: true, waiting: 0 },
    detail: expect.stringMatching(/^anna is on duty: .*; ben stands in: delivers$/),
  });
  expect((await receipts(house))[0]).toMatch(/^ben: /);

  house.discord.clearFaults();
  await house.clock.advance(6 * minute);
  await house.bring("SOL", 0.5);
  await house.clock.advance(3 * minute);
  expect(house.chats(/^.*RESOLVED/m).length).toBeGreaterThan(0);
  expect(mails(house, /anna takes messages again/)).toHaveLength(0);
});

test("a fire drill fails for a rota whose person on duty did not get it, whoever stood in", async () => {
  await using house = await opened();
  house.discord.fail({ method: "POST", times: 99, effect: { kind: "status", status: 401 } });
  const { daemon } = await house.start(desk(house));
  await house.clock.finish(house.ask("POST", "/api/v1/drill", { by: "joe", channels: ["oncall", "ben"] }));
  await house.clock.advance(10_000);
  expect(mails(house, /DRILL/)).toHaveLength(2);
  await house.clock.advance(2 * minute);
  const channels = daemon.status().drill?.last?.channels;
  expect(channels).toEqual([
    { channel: "oncall", failure: "It was taken by ben in place of anna, who is on duty" },
    { channel: "ben", failure: null },
  ]);
});
