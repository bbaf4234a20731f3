/** A quiet change of an incident holds up nothing that calls. */
import { expect, test } from "vitest";
import { type Changes, changes } from "../../src/domain/changes.ts";
import { rig } from "./support.ts";

const second = 1_000;
const incident = "incident/{}/1";
const quiet = (one: Changes): Changes =>
  changes({ ...one, owed: one.owed.map((item) => ({ ...item, quiet: true as const })) });

test("an account that is critical calls while a quiet change has no answer", async () => {
  await using one = await rig();
  one.far.answer = ({ items }) => (items.includes(1) ? "hang" : { status: 200 });
  await one.owe(quiet(one.alerts.step("worsened", one.alerts.alert(), ["chat"], incident)));
  await one.clock.settle();
  await one.owe(one.alerts.step("fired", one.alerts.alert(), ["chat"], incident));
  await one.clock.advance(second);
  expect(one.far.accepted.map(({ items }) => items)).toEqual([[2]]);
});

test.each([503, "hang"] as const)(
  "an alert that rises passes its own quiet change; answer: %s",
  async (answer) => {
    await using one = await rig();
    const status = answer === "hang" ? answer : { status: answer };
    one.far.answer = ({ items }) => (items.includes(1) ? status : { status: 200 });
    const risen = one.alerts.alert();
    await one.owe(quiet(one.alerts.step("worsened", risen, ["chat"], incident)));
    await one.clock.settle();
    await one.owe(one.alerts.step("worsened", risen, ["chat"], incident));
    await one.clock.advance(second);
    expect(one.far.accepted.map(({ items }) => items)).toEqual([[2]]);
  },
);

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
