/** Prices by the newer channel of the stream, and by the older one where the newer one is not to be had. */
import { expect, test } from "vitest";
import { StreamRig } from "./stream-rig.ts";

/** Channels that are subscribed to for prices, as they were asked for over all connections. */
const asked = (own: StreamRig) =>
  own.line.asked
    .map((text) => JSON.parse(text) as { type: string; subscription: { channel: string } })
    .filter(({ subscription }) => subscription.channel.startsWith("marketStats"))
    .map(({ type, subscription }) => `${type} ${subscription.channel}`);
const notes = (own: StreamRig) =>
  own.booted.log.filter(({ message }) => message.includes("prices come by")).map(({ message }) => message);

test("prices of all markets come by marketStatsV2", async () => {
  await using own = await StreamRig.start();
  await own.mark(151);
  await own.until("151", () => own.marks(true).at(-1) === 151, 2_000);
  await own.pass(15_000);
  expect(asked(own)).toEqual(["subscribe marketStatsV2"]);
  expect(notes(own)).toEqual([]);
});

test("an exchange that refuses it is asked for marketStats at once, on each connection, and it is said once", async () => {
  await using own = await StreamRig.start({ simulator: { observed: false } });
  await own.mark(151);
  await own.until("151", () => own.marks(true).at(-1) === 151, 2_000);
  const first = ["subscribe marketStatsV2", "unsubscribe marketStatsV2", "subscribe marketStats"];
  expect(asked(own)).toEqual(first);
  own.line.cut();
  await own.until("connected again", () => asked(own).length >= 6, 20_000);
  expect(asked(own)).toEqual([...first, ...first]);
  await own.mark(152);
  await own.until("152", () => own.marks(true).at(-1) === 152, 2_000);
  expect(notes(own)).toEqual(["the stream's channel marketStatsV2 was refused: prices come by marketStats"]);
});

test("one that takes the subscription and sends nothing is asked for marketStats after 10 s", async () => {
  await using own = await StreamRig.start();
  own.line.through = (text, forward) => {
    if (!text.includes('"channel":"marketStatsV2","stats"')) forward(text);
  };
  own.line.cut();
  await own.until("fallen back", () => asked(own).at(-1) === "subscribe marketStats", 30_000);
  await own.mark(153);
  await own.until("153", () => own.marks(true).at(-1) === 153, 2_000);
  expect(notes(own)).toEqual([
    "the stream's channel marketStatsV2 sent nothing for 10 s: prices come by marketStats",
  ]);
});

test("one whose messages cannot be read is asked for marketStats", async () => {
  await using own = await StreamRig.start();
  own.line.through = (text, forward) =>
    forward(
      text.replace('"channel":"marketStatsV2","stats":', '"channel":"marketStatsV2","stats":7,"rows":'),
    );
  own.line.cut();
  await own.until("fallen back", () => asked(own).at(-1) === "subscribe marketStats", 15_000);
  await own.mark(155);
  await own.until("155", () => own.marks(true).at(-1) === 155, 2_000);
  expect(notes(own)[0]).toMatch(/sent what cannot be read/);
});

test("one whose messages can no longer be read is asked for marketStats after three of them", async () => {
  await using own = await StreamRig.start();
  await own.mark(151);
  await own.until("151", () => own.marks(true).at(-1) === 151, 2_000);
  own.line.through = (text, forward) =>
    forward(
      text.replace('"channel":"marketStatsV2","stats":', '"channel":"marketStatsV2","stats":7,"rows":'),
    );
  for (const usd of [152, 153, 154]) {
    await own.mark(usd);
    await own.pass(1_000);
  }
  await own.until("fallen back", () => asked(own).at(-1) === "subscribe marketStats", 5_000);
  await own.mark(170);
  await own.until("170", () => own.marks(true).at(-1) === 170, 2_000);
});
