/** The earlier messages that a channel gets: the first message, the newest that tells of all, and edits of both. */
import { expect, test } from "vitest";
import type { Entry } from "../../src/alerts/pending/waiting.ts";
import type { Journal } from "../../src/deliver/journal.ts";
import { earlierMessages, rootOf } from "../../src/deliver/queue/attempt.ts";
import type { Message } from "../../src/domain/alerts/delivery.ts";
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
  return earlierMessages(next, entries, store, { unwritten: () => unwritten } as unknown as Journal);
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

test("ends of alerts stand with the messages that told of them; an edit takes none back", async () => {
  const first = delivered([1, 2], "m1");
  const made = message([change("ended", { id: 2, state: "ended" })]);
  const end: Message = { ...made, status: "delivered", receipt: "m2", deliveredAtMs: deliveredAtMs + 1 };
  const other = delivered([2, 3], "m3");
  const found = await before([first, end, other], [1]);
  const told = { messageId: first.id, receipt: "m1", message: first, since: [end] };
  expect(found).toEqual({ inReplyTo: told, latest: told });
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

test("the first message of an incident is the first that arrived, where that of its first alert did not", async () => {
  const incident = { id: "I1" };
  const of = (ids: readonly number[], receipt: string, parts: Partial<Message> = {}) => {
    const made = delivered(ids, receipt, parts);
    return { ...made, content: { ...made.content, incident } };
  };
  const refused = of([1], "", { status: "dead", receipt: null, deliveredAtMs: null });
  const [second, third] = [of([2], "m2"), of([3], "m3")];
  const rootFor = async (known: readonly Message[], ids: readonly number[]) => {
    const made = message(ids.map((id) => change("worsened", { id })));
    const next = { ...made, content: { ...made.content, incident, quiet: true as const } };
    const entries = [{ item: { alertId: ids[0], groupKey: "incident/{}/1" } }] as unknown as Entry[];
    const store = {
      messages: async (query: { readonly alertIds?: readonly number[]; readonly incident?: string }) =>
        known.filter(
          ({ alertIds, content }) =>
            content.incident?.id === query.incident || alertIds.some((id) => query.alertIds?.includes(id)),
        ),
    };
    return rootOf(next, entries, store, { unwritten: () => [] } as unknown as Journal);
  };
  expect(await rootFor([refused], [2])).toBeUndefined();
  expect(await rootFor([refused, second, third], [2])).toMatchObject({ receipt: "m2", since: [third] });
  expect(await rootFor([of([1], "m1"), second], [2])).toMatchObject({ receipt: "m1" });
});
