/** The acknowledgements to the exchange and their times: through the real client, on real sockets, with real rows. */

import { expect, test } from "vitest";
import { type Acknowledger, acknowledgeWith, createAcknowledger } from "../../src/deliver/index.ts";
import type { Acknowledgement } from "../../src/domain/alerts/delivery.ts";
import { seededRandom } from "../../src/domain/clock.ts";
import type { Event } from "../../src/domain/event.ts";
import { type Changes, changes } from "../../src/domain/stored/changes.ts";
import { testKey } from "../exchange/local-exchange.ts";
import { type Rig as ExchangeRig, rig as exchangeRig, traderPubkey } from "../exchange/rig.ts";
import { type Rig as OutboxRig, rig as outboxRig, together } from "./support.ts";

const second = 1_000;

interface Rig extends AsyncDisposable {
  readonly exchange: ExchangeRig;
  readonly deliveries: OutboxRig;
  acknowledger: Acknowledger;
  readonly steps: string[];
  /** Commits changes and tells both, as the daemon does. */
  take(...changes: readonly Changes[]): Promise<void>;
  restart(): Promise<void>;
  /** Bodies of the acknowledgements that the exchange took or refused, by event index. */
  asked(): readonly (readonly (number | string)[])[];
  rows(): Promise<readonly string[]>;
}

async function rig(): Promise<Rig> {
  const exchange = await exchangeRig();
  await exchange.exchange.start();
  const { clock } = exchange;
  const deliveries = await outboxRig({ clock });
  const steps: string[] = [];
  const boot = () => {
    const made = createAcknowledger({
      store: deliveries.store,
      acknowledge: acknowledgeWith(exchange.exchange.client),
      clock,
      random: seededRandom(3),
      probe: (step) => void steps.push(step),
    });
    deliveries.outbox.onSettled((ids) => made.settled(ids));
    return made;
  };
  const self: Rig = {
    ...{ exchange, deliveries, steps, acknowledger: boot() },
    async take(...all) {
      await deliveries.store.commit(all);
      for (const one of all) {
        self.acknowledger.committed(one);
        deliveries.outbox.committed(one);
      }
    },
    async restart() {
      await clock.finish(self.acknowledger.stop());
      await deliveries.restart();
      self.acknowledger = boot();
      await self.acknowledger.start(new AbortController().signal);
    },
    asked: () =>
      exchange.venue
        .asked(`/v1/traders/${traderPubkey}/notifications/ack/notifications`)
        .map(({ body }) =>
          (JSON.parse(body) as { items: { type: string; id?: number; eventIndex?: number }[] }).items.map(
            ({ type, id, eventIndex }) => eventIndex ?? `${type} ${id}`,
          ),
        ),
    rows: async () =>
      (await deliveries.store.acknowledgements({})).map(({ key, status }) => `${key} ${status}`),
    async [Symbol.asyncDispose]() {
      await clock.finish(self.acknowledger.stop());
      await deliveries[Symbol.asyncDispose]();
      await exchange[Symbol.asyncDispose]();
    },
  };
  await self.acknowledger.start(new AbortController().signal);
  return self;
}

function notification(index: number, parts: Partial<Event> = {}): Event {
  return {
    ...{ kind: "notification", key: `n${index}`, wallet: "main", pdaIndex: 0, subaccount: 0, symbol: "SOL" },
    ...{
      happenedMs: 1_000 * index,
      seenMs: 0,
      slot: 300,
      slotIndex: 1,
      eventIndex: index,
      fields: {},
      data: null,
    },
    ...{ backfilled: false, notificationKey: null },
    inbox: {
      ...{
        source: "event",
        notificationType: "order_filled",
        traderPubkey,
        acked: false,
        liquidationKey: null,
      },
      item: {
        type: "event",
        slot: 300,
        slotIndex: 1,
        instructionIndex: 0,
        eventIndex: index,
        recipientIndex: 2,
      },
    },
    ...parts,
  };
}

function row(index: number, parts: Partial<Acknowledgement> = {}): Acknowledgement {
  return {
    ...{ key: `n${index}`, wallet: "main", word: "always", rules: [], status: "due", dueAtMs: 0 },
    ...{ confirmedAtMs: null, reason: "" },
    ...parts,
  };
}

/** A notification whose rule waits for the delivery of an alert to these receivers. */
function told(one: Rig, index: number, receivers: readonly string[] = ["chat"]): Changes {
  const alert = one.deliveries.alerts.alert({ severity: "info", event: true, state: "ended" });
  const waiting = row(index, {
    ...{ word: "whenDelivered", status: "waiting", dueAtMs: null },
    rules: [{ rule: "Filled", alertIds: [alert.id] }],
  });
  return together([
    one.deliveries.alerts.step("fired", alert, receivers),
    changes({ events: [notification(index)], acknowledgements: [waiting] }),
  ]);
}

test("a notification is acknowledged by item once the last delivery that it waits for is recorded, not before", async () => {
  await using one = await rig();
  const { far, other, store } = one.deliveries;
  other.answer = () => ({ status: 503 });
  await one.take(told(one, 1, ["chat", "mail"]));
  await one.exchange.clock.advance(60 * second);
  expect(far.accepted).toHaveLength(1);
  expect([one.asked(), await one.rows()]).toEqual([[], ["n1 waiting"]]);
  other.answer = () => ({ status: 200 });
  await one.exchange.clock.until(() => other.accepted.length === 1);
  await one.exchange.clock.advance(second);
  expect([one.asked(), await one.rows()]).toEqual([[[1]], ["n1 confirmed"]]);
  expect(one.steps).toEqual(["ack-due", "ack-sent", "ack-recorded"]);
  expect(await store.acknowledgements({})).toMatchObject([
    { dueAtMs: expect.any(Number), confirmedAtMs: expect.any(Number), word: "whenDelivered" },
  ]);
  const [seen] = one.exchange.venue.asked(`/v1/traders/${traderPubkey}/notifications/ack/`);
  expect(JSON.parse(seen?.body ?? "")).toEqual({
    items: [
      { type: "event", slot: 300, slotIndex: 1, instructionIndex: 0, eventIndex: 1, recipientIndex: 2 },
    ],
  });
  await one.restart();
  await one.exchange.clock.advance(3_600 * second);
  expect(one.asked()).toHaveLength(1);
});

test("a delivery that was made but is not recorded acknowledges nothing", async () => {
  await using one = await rig();
  const changes = told(one, 1);
  await one.deliveries.store.commit([changes]);
  one.acknowledger.committed(changes);
  one.deliveries.store.full = true;
  one.deliveries.outbox.stuck({
    ...changes,
    deliveryItems: changes.deliveryItems.map((item) => ({ ...item, severity: "critical" })),
  });
  await one.exchange.clock.advance(30 * second);
  expect(one.deliveries.far.accepted).toHaveLength(1);
  expect(one.asked()).toEqual([]);
  one.deliveries.store.full = false;
  one.deliveries.outbox.committed(changes);
  await one.exchange.clock.advance(30 * second);
  expect([one.asked(), await one.rows()]).toEqual([[[1]], ["n1 confirmed"]]);
});

test("where a message died nobody was told, so the notification stays", async () => {
  await using one = await rig();
  one.deliveries.far.answer = () => ({ status: 400 });
  await one.take(told(one, 1), told(one, 2, ["chat", "mail"]));
  await one.exchange.clock.advance(60 * second);
  expect([one.asked(), await one.rows()]).toEqual([[[2]], ["n1 waiting", "n2 confirmed"]]);
});

test("one that waits for a person is acknowledged when that person has, and left while it says never", async () => {
  await using one = await rig();
  const alert = one.deliveries.alerts.alert({ event: true });
  const rules = [{ rule: "Liquidated", alertIds: [alert.id] }];
  const waiting = row(1, { word: "whenAcknowledged", status: "waiting", rules });
  const left = row(2, { word: "never", status: "left" });
  await one.take(
    one.deliveries.alerts.step("fired", alert),
    changes({ events: [notification(1), notification(2)], acknowledgements: [waiting, left] }),
  );
  await one.exchange.clock.advance(60 * second);
  expect(one.asked()).toEqual([]);
  await one.take(changes({ alerts: [{ ...alert, acknowledgedBy: "ann", acknowledgedAtMs: 1 }] }));
  await one.exchange.clock.advance(second);
  expect([one.asked(), await one.rows()]).toEqual([[[1]], ["n1 confirmed", "n2 left"]]);
  expect(one.acknowledger.figures()).toEqual({ waiting: 0, due: 0, confirmed: 1, left: 1 });
});

test("a refusal, a hang-up, a lost answer: asked again until it is confirmed", async () => {
  for (const fault of [{ status: 500, body: {} }, { kind: "drop" }, { kind: "lose" }] as const) {
    await using one = await rig();
    one.exchange.venue.fault("/v1/traders/", fault, 12);
    await one.take(changes({ events: [notification(1)], acknowledgements: [row(1)] }));
    await one.exchange.clock.until(() => one.asked().length === 13, 1_200 * second);
    await one.exchange.clock.advance(3_600 * second);
    expect(one.asked()).toHaveLength(13);
    expect(await one.rows()).toEqual(["n1 confirmed"]);
  }
});

test("a hundred items a request; an inbox of its own for each trader account", async () => {
  await using one = await rig();
  const many = Array.from({ length: 250 }, (_, index) => index);
  await one.take(
    changes({
      events: many.map((index) => notification(index)),
      acknowledgements: many.map((index) => row(index)),
    }),
  );
  await one.exchange.clock.advance(10 * second);
  expect(one.asked().map((items) => items.length)).toEqual([100, 100, 50]);
  expect(new Set(one.asked().flat()).size).toBe(250);
  // Another account, and a notice that is known by its id.
  const pubkey = testKey("another trader").address;
  const other = notification(300);
  const inbox = {
    ...other.inbox!,
    item: { type: "general", id: 77 },
    source: "general",
    traderPubkey: pubkey,
  } as const;
  await one.take(changes({ events: [{ ...other, inbox }], acknowledgements: [row(300)] }));
  await one.exchange.clock.advance(second);
  expect(one.asked()).toHaveLength(3);
  const [seen] = one.exchange.venue.asked(`/v1/traders/${pubkey}/notifications/ack/notifications`);
  expect(JSON.parse(seen?.body ?? "")).toEqual({ items: [{ type: "general", id: 77 }] });
});

test("an item that the exchange will not have stands alone in the end; the others are acknowledged", async () => {
  await using one = await rig();
  const real = acknowledgeWith(one.exchange.exchange.client);
  await one.exchange.clock.finish(one.acknowledger.stop());
  const tried: number[] = [];
  one.acknowledger = createAcknowledger({
    store: one.deliveries.store,
    acknowledge: (wallet, account, items, signal) => {
      tried.push(items.length);
      const bad = items.some((item) => item.type === "event" && item.eventIndex === 13);
      if (bad)
        one.exchange.venue.fault("/v1/traders/", { status: 400, body: { error: "unknown_notification" } });
      return real(wallet, account, items, signal);
    },
    clock: one.exchange.clock,
    random: seededRandom(3),
  });
  await one.acknowledger.start(new AbortController().signal);
  const many = Array.from({ length: 40 }, (_, index) => index);
  await one.take(
    changes({
      events: many.map((index) => notification(index)),
      acknowledgements: many.map((index) => row(index)),
    }),
  );
  await one.exchange.clock.advance(20 * second);
  expect((await one.rows()).filter((line) => !line.endsWith("confirmed"))).toEqual(["n13 due"]);
  expect(tried.length).toBeLessThan(30);
  const before = tried.length;
  await one.exchange.clock.advance(6 * 3_600 * second);
  expect(tried.length - before).toBeLessThan(12);
});

test("what is due when the program ends is acknowledged by the next run", async () => {
  await using one = await rig();
  one.exchange.venue.fault("/v1/traders/", { kind: "hang" }, 100);
  await one.take(changes({ events: [notification(1)], acknowledgements: [row(1)] }), told(one, 2));
  await one.exchange.clock.advance(5 * second);
  one.exchange.venue.heal();
  await one.restart();
  await one.exchange.clock.advance(60 * second);
  expect(await one.rows()).toEqual(["n1 confirmed", "n2 confirmed"]);
});

test("while commits fail nothing is acknowledged, and a confirmation that could not be recorded is recorded later", async () => {
  await using one = await rig();
  const held = changes({ events: [notification(1)], acknowledgements: [row(1)] });
  one.acknowledger.hold(true);
  await one.take(held);
  await one.exchange.clock.advance(60 * second);
  expect(one.asked()).toEqual([]);
  one.exchange.venue.fault("/v1/traders/", { kind: "late", ms: 5_000 });
  one.acknowledger.hold(false);
  await one.exchange.clock.until(() => one.asked().length === 1);
  await one.take(changes({ events: [notification(2)], acknowledgements: [row(2)] }));
  one.deliveries.store.full = true;
  await one.exchange.clock.advance(60 * second);
  expect([one.asked(), await one.rows()]).toEqual([[[1]], ["n1 due", "n2 due"]]);
  one.deliveries.store.full = false;
  await one.exchange.clock.advance(60 * second);
  expect([one.asked(), await one.rows()]).toEqual([
    [[1], [2]],
    ["n1 confirmed", "n2 confirmed"],
  ]);

  // What waits for another try is held too.
  one.exchange.venue.fault("/v1/traders/", { kind: "drop" }, 99);
  await one.take(changes({ events: [notification(3)], acknowledgements: [row(3)] }));
  await one.exchange.clock.until(() => one.asked().length > 2);
  await one.exchange.clock.advance(20 * second);
  one.acknowledger.hold(true);
  one.exchange.venue.heal();
  await one.exchange.clock.advance(600 * second);
  expect((await one.rows())[2]).toBe("n3 due");
  one.acknowledger.hold(false);
  await one.exchange.clock.advance(second);
  expect((await one.rows())[2]).toBe("n3 confirmed");
});

test("a wallet that is signed out waits, and goes on when it is signed in", async () => {
  await using one = await rig();
  one.exchange.venue.refuseAll = "session_missing";
  await one.take(changes({ events: [notification(1)], acknowledgements: [row(1)] }));
  await one.exchange.clock.advance(3_600 * second);
  expect(await one.rows()).toEqual(["n1 due"]);
  one.exchange.venue.refuseAll = null;
  await one.exchange.clock.advance(600 * second);
  expect(await one.rows()).toEqual(["n1 confirmed"]);
});

test("a due row whose notification is lost is left, with the reason", async () => {
  await using one = await rig();
  await one.take(changes({ acknowledgements: [row(9)] }));
  await one.exchange.clock.advance(second);
  expect(await one.deliveries.store.acknowledgements({})).toMatchObject([
    { status: "left", reason: "its notification is not in the history" },
  ]);
});

test("a person acknowledges by key or up to a time; each item once, and says what could not be", async () => {
  await using one = await rig();
  const events = [1, 2, 3, 4, 5].map((index) => notification(index));
  await one.take(
    changes({
      events,
      acknowledgements: [row(1, { word: "never", status: "left" }), row(2, { status: "left" })],
    }),
  );
  const { clock } = one.exchange;
  expect(await clock.finish(one.acknowledger.acknowledgeItems("main", ["n1", "n7"]))).toEqual({
    ...{ confirmed: ["n1"], already: [], unknown: ["n7"], failed: [] },
  });
  expect(await clock.finish(one.acknowledger.acknowledgeItems("other", ["n2"]))).toMatchObject({
    unknown: ["n2"],
  });
  expect(await clock.finish(one.acknowledger.acknowledgeUpTo("main", 4_000))).toEqual({
    ...{ confirmed: ["n2", "n3"], already: ["n1"], unknown: [], failed: [] },
  });
  expect(one.asked()).toEqual([[1], [2, 3]]);
  expect(await one.deliveries.store.acknowledgements({ keys: ["n3"] })).toMatchObject([
    { status: "confirmed", reason: "acknowledged by hand", wallet: "main" },
  ]);
  one.exchange.venue.fault("/v1/traders/", { status: 400, body: { error: "unknown_notification" } }, 9);
  const refused = await clock.finish(one.acknowledger.acknowledgeItems("main", ["n5"]));
  expect(refused).toMatchObject({ confirmed: [], failed: [{ key: "n5" }] });
});
