/** A quiet change of an incident holds up nothing that calls. */
import { describe, expect, test } from "vitest";
import type { Alert } from "../../src/domain/alerts/alert.ts";
import { type Changes, changes } from "../../src/domain/stored/changes.ts";
import { type Rig, rig, together } from "./support.ts";

const second = 1_000;
const incident = "incident/{}/1";
const quiet = (one: Changes): Changes =>
  changes({ ...one, deliveryItems: one.deliveryItems.map((item) => ({ ...item, quiet: true as const })) });

test("an account that is critical calls while a quiet change has no answer", async () => {
  await using one = await rig();
  one.far.answer = ({ items }) => (items.includes(1) ? "hang" : { status: 200 });
  await one.owe(quiet(one.alerts.step("worsened", one.alerts.alert(), ["chat"], incident)));
  await one.clock.settle();
  await one.owe(one.alerts.step("fired", one.alerts.alert(), ["chat"], incident));
  await one.clock.advance(second);
  expect(one.far.accepted.map(({ items }) => items)).toEqual([[2]]);
});

/** The first attempt of a channel is answered so, and the others with 200. */
const first = (one: Rig, answer: 503 | 400 | "hang") => {
  const found = answer === "hang" ? answer : { status: answer };
  one.far.answer = () => (one.far.arrivals.length > 0 ? { status: 200 } : found);
};

/** Nothing is open, and each item is in the one message that names it. */
async function isSettled({ store }: Rig): Promise<void> {
  const [owed, messages] = [await store.deliveryItems({}), await store.messages({})];
  expect(owed.map(({ status }) => status)).toEqual(owed.map(() => "delivered"));
  expect(messages.flatMap(({ id, itemIds }) => itemIds.map((item) => `${item} ${id}`)).sort()).toEqual(
    owed.map(({ id, messageId }) => `${id} ${messageId}`).sort(),
  );
}

const liquidated = (alert: Alert): Alert => ({ ...alert, ending: "liquidated" });

describe.each(["worsened", "ended"] as const)("what calls of an alert, %s,", (kind) => {
  test("takes its own quiet change along that failed, and what else that told", async () => {
    await using one = await rig();
    first(one, 503);
    const [alert, other] = [one.alerts.alert(), one.alerts.alert()];
    await one.owe(
      quiet(
        together([
          one.alerts.step("worsened", alert, ["chat"], incident),
          one.alerts.step("worsened", other, ["chat"], incident),
        ]),
      ),
    );
    await one.clock.settle();
    await one.owe(one.alerts.step(kind, liquidated(alert), ["chat"], incident));
    await one.clock.advance(second);
    expect(one.far.accepted.map(({ items }) => items)).toEqual([[1, 2, 3]]);
    const lead = kind === "ended" ? "LIQUIDATED" : "WORSE, still critical";
    expect(one.far.accepted[0]?.leads).toEqual([lead, "WORSE, still critical"]);
    await one.clock.advance(600 * second);
    expect(one.far.arrivals).toHaveLength(2);
    await isSettled(one);
  });

  test("passes its own quiet change that has no answer, which is not sent after it", async () => {
    await using one = await rig();
    first(one, "hang");
    const [alert, other] = [one.alerts.alert(), one.alerts.alert()];
    await one.owe(
      quiet(
        together([
          one.alerts.step("worsened", alert, ["chat"], incident),
          one.alerts.step("worsened", other, ["chat"], incident),
        ]),
      ),
    );
    await one.clock.settle();
    await one.owe(quiet(one.alerts.step("worsened", alert, ["chat"], incident, 60 * second)));
    await one.owe(one.alerts.step(kind, liquidated(alert), ["chat"], incident));
    await one.clock.advance(second);
    expect(one.far.accepted.map(({ items }) => items)).toEqual([[3, 4]]);
    // It had no answer in time: what it told of the other one is sent, and nothing else.
    await one.clock.advance(600 * second);
    expect(one.far.accepted.map(({ items }) => items)).toEqual([[3, 4], [2]]);
    await isSettled(one);
  });
});

test("what calls takes a quiet change along that an earlier run could not send", async () => {
  await using one = await rig();
  one.far.answer = () => ({ status: 503 });
  const alert = one.alerts.alert();
  await one.owe(quiet(one.alerts.step("worsened", alert, ["chat"], incident)));
  await one.clock.settle();
  await one.restart();
  await one.clock.advance(second);
  one.far.answer = () => ({ status: 200 });
  await one.owe(one.alerts.step("ended", liquidated(alert), ["chat"], incident));
  await one.clock.advance(second);
  expect(one.far.accepted.map(({ items }) => items)).toEqual([[1, 2]]);
  await isSettled(one);
});

test("quiet changes that failed are tried again, over a restart, too, and after them goes what is lesser", async () => {
  await using one = await rig();
  one.far.answer = () => ({ status: 503 });
  await one.owe(quiet(one.alerts.step("worsened", one.alerts.alert(), ["chat"], incident)));
  await one.clock.settle();
  await one.restart();
  await one.owe(one.alerts.step("fired", one.alerts.alert({ severity: "warning" })));
  one.far.answer = () => ({ status: 200 });
  await one.clock.advance(300 * second);
  expect(one.far.accepted.map(({ items }) => items)).toEqual([[1], [2]]);
});

test("what calls is in the first of several messages of an incident, before what is quiet", async () => {
  await using one = await rig();
  const alerts = Array.from({ length: 55 }, () => one.alerts.alert());
  await one.owe(
    ...alerts.map((alert) => quiet(one.alerts.step("worsened", alert, ["chat"], incident, 5 * second))),
    one.alerts.step("fired", one.alerts.alert(), ["chat"], incident),
  );
  await one.clock.advance(second);
  expect(one.far.accepted[0]?.items).toContain(56);
  await one.clock.advance(5 * second);
  expect(one.far.accepted.flatMap(({ items }) => items)).toHaveLength(56);
});

test("degraded: quiet changes leave from memory, those that were owed before, too", async () => {
  await using one = await rig();
  const alert = one.alerts.alert();
  const before = quiet(one.alerts.step("worsened", alert, ["chat"], incident, second));
  await one.store.commit([before]);
  one.store.full = true;
  one.outbox.committed(before);
  await one.clock.advance(5 * second);
  expect(one.far.accepted).toEqual([]);
  const after = quiet(one.alerts.step("worsened", alert, ["chat"], incident, second));
  one.outbox.stuck(after);
  await one.clock.advance(3 * second);
  expect(one.far.accepted.map(({ items }) => items)).toEqual([[1], [2]]);
  one.store.full = false;
  await one.owe(after);
  await one.clock.advance(60 * second);
  expect((await one.store.deliveryItems({})).map(({ status }) => status)).toEqual(["delivered", "delivered"]);
  expect(one.far.arrivals).toHaveLength(2);
});

test("degraded: what calls does not wait for the disk to take what goes before it", async () => {
  await using one = await rig();
  const alert = one.alerts.alert();
  const before = quiet(one.alerts.step("worsened", alert, ["chat"], incident, 300 * second));
  await one.store.commit([before]);
  one.store.full = true;
  one.outbox.committed(before);
  await one.clock.advance(6 * second);
  one.outbox.stuck(one.alerts.step("worsened", alert, ["chat"], incident));
  await one.clock.advance(second);
  expect(one.far.accepted.map(({ items }) => items)).toEqual([[1, 2]]);
});

test("what waits of an alert leaves, in whatever groups it waits", async () => {
  await using one = await rig();
  const alert = one.alerts.alert();
  await one.owe(
    one.alerts.step("fired", alert, ["chat"], incident, 2 * second),
    quiet(one.alerts.step("worsened", alert, ["chat"], incident, 2 * second)),
    one.alerts.step("worsened", alert, ["chat"], "group", 3 * second),
  );
  await one.clock.advance(60 * second);
  expect(one.far.accepted.map(({ items }) => items)).toEqual([[1], [2, 3]]);
  await isSettled(one);
});

test("what calls of an alert that left its incident takes a quiet change of that along", async () => {
  await using one = await rig();
  one.far.answer = ({ quiet: isQuiet }) => ({ status: isQuiet ? 503 : 200 });
  const alert = one.alerts.alert({ severity: "warning" });
  await one.owe(quiet(one.alerts.step("fell", alert, ["chat"], incident)));
  await one.clock.settle();
  await one.owe(one.alerts.step("ended", alert, ["chat"], "group"));
  await one.clock.advance(60 * second);
  expect(one.far.accepted.map(({ items }) => items)).toEqual([[1, 2]]);
  await isSettled(one);
});

test("degraded: what calls takes its own quiet change along that failed", async () => {
  await using one = await rig();
  one.far.answer = ({ quiet: isQuiet }) => ({ status: isQuiet ? 503 : 200 });
  const alert = one.alerts.alert();
  await one.owe(quiet(one.alerts.step("worsened", alert, ["chat"], incident)));
  await one.clock.settle();
  one.store.full = true;
  const after = one.alerts.step("worsened", alert, ["chat"], incident);
  one.outbox.stuck(after);
  await one.clock.advance(20 * second);
  expect(one.far.accepted.map(({ items }) => items)).toEqual([[1, 2]]);
  one.store.full = false;
  await one.owe(after);
  await one.clock.advance(60 * second);
  await isSettled(one);
});

test("each of several messages that call takes along what is quiet about its alerts", async () => {
  await using one = await rig();
  one.far.answer = ({ quiet: isQuiet }) => ({ status: isQuiet ? 503 : 200 });
  const alerts = ["a", "b"].map((desk) => ({
    alert: one.alerts.alert(),
    group: `incident/{desk=${desk}}/1`,
  }));
  for (const { alert, group } of alerts) {
    await one.owe(quiet(one.alerts.step("worsened", alert, ["chat"], group)));
    await one.clock.advance(5 * second);
  }
  await one.owe(
    together(alerts.map(({ alert, group }) => one.alerts.step("worsened", alert, ["chat"], group))),
  );
  one.far.answer = () => ({ status: 200 });
  await one.clock.advance(300 * second);
  expect(one.far.accepted.map(({ items }) => items).sort()).toEqual([
    [1, 3],
    [2, 4],
  ]);
  await isSettled(one);
});

test("a quiet change is not lost with what passed it and was refused", async () => {
  await using one = await rig();
  one.far.answer = ({ quiet: isQuiet, items }) =>
    isQuiet ? "hang" : { status: items.includes(2) && one.far.arrivals.length < 2 ? 400 : 200 };
  const alert = one.alerts.alert();
  await one.owe(quiet(one.alerts.step("worsened", alert, ["chat"], incident)));
  await one.clock.settle();
  await one.owe(one.alerts.step("worsened", alert, ["chat"], incident));
  await one.clock.advance(600 * second);
  expect(one.outbox.critical()).toEqual({ waitingSinceMs: null, lost: 0 });
  await isSettled(one);
});

test.each([false, true])(
  "a quiet message that two others passed is not sent after them; restart: %s",
  async (restarts) => {
    await using one = await rig();
    first(one, "hang");
    const alerts = [one.alerts.alert(), one.alerts.alert()];
    await one.owe(
      quiet(together(alerts.map((alert) => one.alerts.step("worsened", alert, ["chat"], incident)))),
    );
    await one.clock.settle();
    for (const alert of alerts) {
      await one.owe(one.alerts.step("ended", liquidated(alert), ["chat"], incident));
      await one.clock.advance(second);
    }
    if (restarts) await one.restart();
    await one.clock.advance(600 * second);
    expect(one.far.accepted.map(({ leads }) => leads)).toEqual([["LIQUIDATED"], ["LIQUIDATED"]]);
    await isSettled(one);
  },
);

test("a quiet message that is given up after what calls passed it counts as told", async () => {
  await using one = await rig({ patienceMs: 3 * second });
  first(one, "hang");
  const alert = one.alerts.alert();
  await one.owe(quiet(one.alerts.step("worsened", alert, ["chat"], incident)));
  await one.clock.settle();
  await one.owe(one.alerts.step("worsened", alert, ["chat"], incident));
  await one.clock.advance(60 * second);
  expect(one.outbox.figures().deadMessages).toBe(0);
  await isSettled(one);
});

test.each([{ status: 200 }, "hang"] as const)(
  "a quiet message that what calls passed (%o) is not sent after it, over a restart either",
  async (answer) => {
    await using one = await rig();
    one.far.answer = ({ quiet: isQuiet }) => (isQuiet ? "hang" : answer);
    const [alert, other] = [one.alerts.alert(), one.alerts.alert()];
    await one.owe(
      quiet(
        together([
          one.alerts.step("worsened", alert, ["chat"], incident),
          one.alerts.step("worsened", other, ["chat"], incident),
        ]),
      ),
    );
    await one.clock.settle();
    await one.owe(one.alerts.step("ended", liquidated(alert), ["chat"], incident));
    await one.clock.advance(second);
    expect(one.far.arrivals.map(({ items }) => items)).toEqual([[1, 2], [3]]);
    await one.restart();
    one.far.answer = () => ({ status: 200 });
    await one.clock.advance(600 * second);
    expect(one.far.accepted.map(({ leads }) => leads)).toEqual([["LIQUIDATED"], ["WORSE, still critical"]]);
    await isSettled(one);
  },
);

test.each([
  ["is recorded", false],
  ["waits for the disk, too", true],
])(
  "a quiet message that fails while what calls is being sealed is not sent after it: its failure %s",
  async (_how, waits) => {
    await using one = await rig();
    let isOpen = false;
    one.far.answer = ({ quiet: isQuiet }) => {
      if (one.far.arrivals.length === 0) return "hang";
      return { status: isQuiet && !isOpen ? 503 : 200 };
    };
    const alert = one.alerts.alert();
    await one.owe(quiet(one.alerts.step("worsened", alert, ["chat"], incident)));
    await one.clock.settle();
    const gate = Promise.withResolvers<void>();
    const commit = one.store.commit.bind(one.store);
    one.store.commit = async (batch) => {
      const isSeal = batch.some(({ messages }) => messages.some(({ content }) => content.quiet !== true));
      const isRecord = batch.some(({ messages }) => messages.some(({ attempts }) => attempts > 0));
      if (isSeal || (isRecord && waits)) await gate.promise;
      await commit(batch);
    };
    await one.owe(one.alerts.step("ended", liquidated(alert), ["chat"], incident));
    await one.clock.advance(6 * second);
    expect(one.far.accepted).toEqual([]);
    isOpen = true;
    gate.resolve();
    await one.clock.advance(600 * second);
    expect(one.far.accepted.map(({ leads }) => leads)).toEqual([["LIQUIDATED"]]);
    await isSettled(one);
  },
);
