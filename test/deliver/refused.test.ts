/** A message that a channel refused for good counts as not sent: the next message of its incident has what it told. */
import { expect, test } from "vitest";
import { type Changes, changes } from "../../src/domain/stored/changes.ts";
import { type Arrival, type Rig, rig } from "./support.ts";

const second = 1_000;
const incident = "incident/{}/1";

/** Refuses messages with one of these items, so many times. */
function refusing({ far }: Rig, items: readonly number[], times = Number.POSITIVE_INFINITY): void {
  let count = 0;
  far.answer = (arrival) =>
    arrival.items.some((item) => items.includes(item)) && ++count <= times
      ? { status: 400 }
      : { status: 200 };
}

const fires = ({ alerts }: Rig, groupKey: string | null = incident): Changes =>
  alerts.step("fired", alerts.alert(), ["chat"], groupKey);
const quiet = (one: Changes): Changes =>
  changes({ ...one, deliveryItems: one.deliveryItems.map((item) => ({ ...item, quiet: true as const })) });
const itemsOf = (arrivals: readonly Arrival[]) => arrivals.map(({ items }) => items);
const statuses = async ({ store }: Rig) => (await store.deliveryItems({})).map(({ status }) => status);

test("an account whose message was refused is in the next message of the incident", async () => {
  await using one = await rig();
  refusing(one, [1], 1);
  await one.owe(fires(one));
  await one.clock.advance(second);
  expect(one.far.accepted).toEqual([]);
  await one.owe(fires(one));
  await one.clock.advance(second);
  expect(itemsOf(one.far.accepted)).toEqual([[1, 2]]);
  expect(one.far.accepted[0]?.leads).toEqual(["FIRING critical", "FIRING critical"]);
  expect(await statuses(one)).toEqual(["delivered", "delivered"]);
  // Each item is in the message that told it.
  const messages = await one.store.messages({});
  expect(messages.map(({ status, itemIds }) => [status, itemIds]).sort()).toEqual([
    ["dead", []],
    ["delivered", [1, 2]],
  ]);
});

test("what adds to it calls then, and does not wait for a reminder, over a restart, too", async () => {
  await using one = await rig();
  refusing(one, [1], 1);
  const alert = one.alerts.alert();
  await one.owe(one.alerts.step("fired", alert, ["chat"], incident));
  await one.clock.advance(second);
  await one.restart();
  await one.owe(quiet(one.alerts.step("worsened", alert, ["chat"], incident, 300 * second)));
  await one.clock.advance(30 * second);
  expect(one.far.accepted).toMatchObject([{ items: [1, 2], leads: ["FIRING critical"], quiet: false }]);
});

test("where nothing follows it is tried once more by itself, under another id", async () => {
  await using one = await rig();
  refusing(one, [1]);
  await one.owe(fires(one));
  await one.clock.advance(29 * second);
  expect(one.far.arrivals).toHaveLength(1);
  expect(one.outbox.figures()).toMatchObject({ deadMessages: 0, undelivered: 1 });
  await one.clock.advance(600 * second);
  expect(itemsOf(one.far.arrivals)).toEqual([[1], [1]]);
  expect(new Set(one.far.arrivals.map(({ id }) => id)).size).toBe(2);
  expect(await statuses(one)).toEqual(["dead"]);
  expect(one.outbox.figures()).toMatchObject({ deadMessages: 1, undelivered: 0 });
});

test("what is refused each time takes nothing else of the incident along", async () => {
  await using one = await rig();
  refusing(one, [1]);
  await one.owe(fires(one));
  await one.clock.advance(second);
  await one.owe(fires(one));
  await one.clock.advance(second);
  await one.owe(fires(one));
  await one.clock.advance(second);
  expect(itemsOf(one.far.arrivals)).toEqual([[1], [1, 2], [2, 3]]);
  expect(await statuses(one)).toEqual(["dead", "delivered", "delivered"]);
});

test("an end takes the place of a beginning that was refused", async () => {
  await using one = await rig();
  refusing(one, [1], 1);
  const alert = one.alerts.alert();
  await one.owe(one.alerts.step("fired", alert, ["chat"], incident));
  await one.clock.advance(second);
  await one.owe(one.alerts.step("ended", alert, ["chat"], incident));
  await one.clock.advance(60 * second);
  expect(one.far.accepted).toMatchObject([{ items: [1, 2], leads: ["RESOLVED"] }]);
});

test("outside of incidents what is refused is given up", async () => {
  await using one = await rig();
  refusing(one, [1]);
  await one.owe(fires(one, "group"));
  await one.clock.advance(second);
  await one.owe(fires(one, "group"));
  await one.clock.advance(600 * second);
  expect(itemsOf(one.far.arrivals)).toEqual([[1], [2]]);
  expect(await statuses(one)).toEqual(["dead", "delivered"]);
});

test("what is told again long after it was owed says so", async () => {
  await using one = await rig();
  let status = 503;
  one.far.answer = () => ({ status });
  await one.owe(fires(one));
  await one.clock.advance(600 * second);
  status = 400;
  await one.clock.until(() => one.far.arrivals.at(-1)?.answered === 400, 120 * second);
  status = 200;
  expect(one.outbox.critical().waitingSinceMs).toBe(one.far.arrivals[0]!.atMs);
  await one.clock.advance(30 * second);
  expect(one.far.accepted[0]?.late?.heldMs).toBeGreaterThanOrEqual(600 * second);
});
