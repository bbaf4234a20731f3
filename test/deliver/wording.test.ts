/** A channel's own words are part of what is sealed. */
import { expect, test } from "vitest";
import type { Message } from "../../src/domain/alerts/delivery.ts";
import { rig } from "./support.ts";

const saying = (text: string) => (message: Message) => ({
  ...message,
  content: {
    ...message.content,
    items: message.content.items.map((item) => ({ ...item, body: [{ own: text }] })),
  },
});

test("every attempt says the same, in the words of when it was sealed, past a restart with others", async () => {
  await using one = await rig({ applyTemplates: saying("first words") });
  one.far.answer = () => ({ status: 503 });
  await one.owe(one.alerts.step("fired", one.alerts.alert()));
  await one.clock.settle();
  await one.clock.advance(30_000);
  const [sealed] = await one.store.messages({});
  expect(sealed?.content.items[0]?.body).toEqual([{ own: "first words" }]);
  await one.restart({ applyTemplates: saying("second words") });
  one.far.answer = () => ({ status: 200 });
  await one.clock.advance(60_000);
  expect(one.far.arrivals.length).toBeGreaterThan(2);
  expect(one.far.arrivals.at(-1)!.answered).toBe(200);
  const [sent] = await one.store.messages({});
  expect(sent).toMatchObject({ id: sealed!.id, status: "delivered", content: sealed!.content });
  await one.owe(one.alerts.step("fired", one.alerts.alert()));
  await one.clock.settle();
  expect((await one.store.messages({})).at(-1)?.content.items[0]?.body).toEqual([{ own: "second words" }]);
});

test("words that fail leave the usual ones, and hold nothing up", async () => {
  await using one = await rig({
    applyTemplates: () => {
      throw new Error("no words");
    },
  });
  await one.owe(one.alerts.step("fired", one.alerts.alert()));
  await one.clock.settle();
  const [sent] = await one.store.messages({});
  expect(sent).toMatchObject({ status: "delivered", content: { title: "alert 1" } });
  expect(sent?.content.items[0]).not.toHaveProperty("body");
  expect(one.logged.join()).toContain("no words");
});
