/** The earlier messages that a channel gets: the first message, the newest that tells of all, and edits of both. */
import { expect, test } from "vitest";
import type { Entry } from "../../src/alerts/waiting.ts";
import { toldBefore } from "../../src/deliver/attempt.ts";
import type { Journal } from "../../src/deliver/journal.ts";
import type { Message } from "../../src/domain/delivery.ts";
import { change, message } from "../channels/messages.ts";

let deliveredAtMs = 0;

function delivered(ids: readonly number[], receipt: string, parts: Partial<Message> = {}): Message {
  deliveredAtMs += 1_000;
  const made = message(ids.map((id) => change("fired", { id })));
  return { ...made, status: "delivered", receipt, deliveredAtMs, ...parts };
}

function before(known: readonly Message[], ids: readonly number[], unwritten: readonly Message[] = []) {
  const next = message(ids.map((id) => change("acknowledged", { id })));
  const entries = next.content.items.map(({ change: one }) => ({
    item: { alertId: one.alertId },
    change: one,
  })) as unknown as Entry[];
  const store = {
    messages: async ({ alertIds = [] }: { readonly alertIds?: readonly number[] }) =>
      known.filter((one) => one.alertIds.some((id) => alertIds.includes(id))),
  };
  return toldBefore(next, entries, store, { unwritten: () => unwritten } as unknown as Journal);
}

test("nothing was: nothing is", async () => {
  expect(await before([], [1])).toEqual({ inReplyTo: null });
});

test("edits stand with what they edited, those of other alerts in it too", async () => {
  const first = delivered([1, 2], "m1");
  const ofOther = delivered([2], "m1");
  const rise = delivered([1], "m2");
  const ofRise = delivered([1], "m2");
  const found = await before([rise, ofRise, first], [1], [ofOther]);
  expect(found.inReplyTo).toEqual({ messageId: first.id, receipt: "m1", message: first, since: [ofOther] });
  expect(found.latest).toEqual({ messageId: rise.id, receipt: "m2", message: rise, since: [ofRise] });
});

test("the newest tells of all of it, or it is none; other receivers and the dead do not count", async () => {
  const both = delivered([1, 2], "m1");
  const one = delivered([1], "m2");
  const elsewhere = delivered([1, 2], "x", { receiver: "mail" });
  const dead = delivered([1, 2], "y", { status: "dead" });
  const found = await before([both, one, elsewhere, dead], [1, 2]);
  expect(found.latest?.receipt).toBe("m1");
  expect((await before([one], [1, 2])).latest).toBeUndefined();
});
