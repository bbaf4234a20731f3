/** Deliveries to a rota: each person has a circuit of their own, and others stand in for a person whose channel fails. */
import { expect, test } from "vitest";
import { seededRandom } from "../../src/domain/clock.ts";
import { desk, handOver, type RotaRig } from "./rota-desk.ts";
import type { FarSide } from "./support.ts";

const minute = 60_000;

/** The hour before the hand-over to Ben. */
const before = "2026-11-23T08:00:00Z";
const times = ({ arrivals }: FarSide, fromMs: number) => arrivals.map(({ atMs }) => atMs - fromMs);
const fire = (one: RotaRig, severity: "critical" | "info" = "critical") =>
  one.owe(one.alerts.step("fired", one.alerts.alert({ severity }), ["oncall"]));

test.each([
  ["asks for a wait of five minutes", { status: 429, afterMs: 5 * minute }],
  ["refuses its key", { status: 401 }],
  ["does not answer", "hang"],
] as const)("a channel of the person before that %s costs the next person no time", async (_name, answer) => {
  await using one = await desk("2026-11-23T08:59:58Z");
  one.far.answer = () => answer;
  one.other.answer = () => ({ status: 503 });
  one.carla.answer = () => ({ status: 503 });
  await fire(one);
  await one.clock.advance(10_000);
  one.other.answer = () => ({ status: 200 });
  const after = one.other.arrivals.length;
  const nowMs = one.clock.nowMs();
  await fire(one);
  await one.clock.advance(2_000);
  const [first] = one.other.arrivals.slice(after);
  expect(first!.atMs - nowMs).toBeLessThanOrEqual(1_000);
  expect(nowMs).toBeGreaterThan(Date.parse(handOver));
});

test("a limit of a person's service holds what goes to that person directly, too", async () => {
  await using one = await desk(before);
  one.far.answer = () => (one.far.arrivals.length === 0 ? { status: 429, afterMs: 20_000 } : { status: 200 });
  await fire(one);
  await one.clock.settle();
  await one.owe(one.alerts.step("fired", one.alerts.alert(), ["anna"]));
  await one.clock.advance(19_000);
  expect(one.far.arrivals).toHaveLength(1);
  await one.clock.advance(5_000);
  expect(one.far.accepted).toHaveLength(2);
});

test("a person on duty whose channel refuses its key is stood in for at once, and the message says so", async () => {
  await using one = await desk(before);
  one.far.answer = () => ({ status: 401 });
  await fire(one);
  await one.clock.settle();
  expect(one.far.arrivals).toHaveLength(1);
  const [told] = one.other.accepted;
  expect(told).toMatchObject({
    id: one.far.arrivals[0]!.id,
    late: { insteadOf: "anna", because: "anna: status 401" },
  });
  expect(one.carla.arrivals).toEqual([]);
  const [message] = await one.store.messages({});
  expect(message).toMatchObject({ receiver: "oncall", receipt: `ben: receipt of ${told!.id}` });
  // Those after it do not try her channel each time.
  await fire(one);
  await one.clock.settle();
  expect([one.far.arrivals.length, one.other.accepted.length]).toEqual([1, 2]);
  // It is her channel that is deaf, not the rota.
  expect(
    one.observed.filter(({ working }) => !working).map(({ channel, detail }) => [channel, detail]),
  ).toEqual([["anna", "anna: status 401"]]);
  expect(one.outbox.status().find(({ name }) => name === "oncall")).toMatchObject({
    working: true,
    detail: "anna is on duty: anna: status 401; ben stands in: delivers",
    waiting: 0,
  });
  // Her channel is mended: she is on duty still.
  one.far.answer = () => ({ status: 200 });
  await one.clock.until(() => one.observed.at(-1)?.working === true, 10 * minute);
  await fire(one);
  await one.clock.settle();
  expect([one.far.accepted.length, one.other.accepted.length]).toEqual([1, 2]);
  expect(one.far.accepted[0]!.late).toBeNull();
});

test.each([{ status: 503 }, "drop", "hang"] as const)(
  "a person on duty whose channel fails (%o) is stood in for within 40 s",
  async (answer) => {
    await using one = await desk(before);
    one.far.answer = () => answer;
    const fromMs = one.clock.nowMs();
    await fire(one);
    await one.clock.advance(29_000);
    expect(one.other.arrivals).toEqual([]);
    expect(one.far.arrivals.length).toBeGreaterThan(2);
    await one.clock.advance(11_000);
    expect(one.other.accepted).toMatchObject([{ id: one.far.arrivals[0]!.id, late: { insteadOf: "anna" } }]);
    // A check that her channel passes is no reason.
    await one.clock.advance(10_000);
    // Later messages wait for an attempt by her channel at most.
    const laterMs = one.clock.nowMs();
    await fire(one);
    await one.clock.advance(6_000);
    expect(one.other.accepted).toHaveLength(2);
    expect(one.other.accepted[1]!.atMs - laterMs).toBeLessThanOrEqual(5_000);
    const reasons = new Set(one.other.accepted.map(({ late }) => late!.because));
    expect([...reasons]).toEqual([
      expect.stringMatching(/^anna: (status 503|connection lost)$|^no answer within 5 s$/),
    ]);
    expect(times(one.carla, fromMs)).toEqual([]);
  },
);

test("a person whose service asks for a wait of minutes is stood in for at once", async () => {
  await using one = await desk(before);
  one.far.answer = () => ({ status: 429, afterMs: 5 * minute });
  await fire(one);
  await one.clock.advance(1_000);
  expect(one.other.accepted).toHaveLength(1);
});

test("a message that the person's channel refuses for good goes to the next, and is dead when nobody takes it", async () => {
  await using one = await desk(before);
  one.far.answer = () => ({ status: 400 });
  one.other.answer = () => ({ status: 400 });
  await fire(one, "info");
  await one.clock.settle();
  expect([one.far.arrivals.length, one.other.arrivals.length, one.carla.accepted.length]).toEqual([1, 1, 1]);
  const why = { insteadOf: "anna", because: "anna: status 400" };
  expect([one.other, one.carla].map(({ arrivals }) => arrivals[0]!.late)).toMatchObject([why, why]);
  one.carla.answer = () => ({ status: 400 });
  await fire(one, "info");
  await one.clock.advance(minute);
  expect([one.far, one.other, one.carla].map(({ arrivals }) => arrivals.length)).toEqual([2, 2, 2]);
  expect((await one.store.messages({})).map(({ status }) => status).sort()).toEqual(["dead", "delivered"]);
});

test("while all channels fail each is tried again and again, and the first that is back gets the message", async () => {
  await using one = await desk(before);
  for (const far of [one.far, one.other, one.carla]) far.answer = () => ({ status: 503 });
  one.other.answer = () => ({ status: 401 });
  await fire(one);
  await one.clock.advance(10 * minute);
  for (const far of [one.far, one.carla]) expect(far.arrivals.length).toBeGreaterThan(8);
  expect(one.other.arrivals.length).toBeGreaterThan(1);
  one.carla.answer = () => ({ status: 200 });
  await one.clock.advance(2 * minute);
  expect(one.carla.accepted).toHaveLength(1);
  expect(one.outbox.figures().undelivered).toBe(0);
});

test("a restart tries the person on duty first, and knows who was told", async () => {
  await using one = await desk(before);
  one.far.answer = () => ({ status: 429, afterMs: 10 * minute });
  one.other.answer = () => ({ status: 503 });
  one.carla.answer = () => ({ status: 503 });
  await fire(one);
  await one.clock.advance(10_000);
  one.other.answer = () => ({ status: 200 });
  const tried = one.far.arrivals.length;
  await one.restart();
  await one.clock.advance(1_000);
  expect(one.far.arrivals).toHaveLength(tried + 1);
  expect(one.other.accepted).toHaveLength(1);
  await one.restart();
  await one.clock.advance(11 * minute);
  expect([one.far.accepted.length, one.other.accepted.length, one.carla.accepted.length]).toEqual([0, 1, 0]);
});

test("after a kill whoever stood in and may have a message is asked first: nobody else is sent it too", async () => {
  await using one = await desk(before);
  one.far.answer = () => ({ status: 401 });
  let over = false;
  const probe = (step: string) => {
    over ||= step === "sent";
    return over ? new Promise<void>(() => {}) : undefined;
  };
  await one.restart({ probe });
  await fire(one);
  await one.clock.until(() => over);
  one.far.answer = () => ({ status: 200 });
  await one.restart();
  await one.clock.settle();
  const [first, again] = one.other.accepted;
  expect(again).toMatchObject({ id: first!.id, attempt: 2, late: { insteadOf: "anna" } });
  expect(one.far.accepted).toEqual([]);
  const [message] = await one.store.messages({});
  expect(message).toMatchObject({ status: "delivered", receipt: `ben: receipt of ${first!.id}` });
});

test("each person's attempt has the deadline of that person's channel, whoever was tried before", async () => {
  await using one = await desk(before, { deadlineMs: { ben: 20_000 } });
  one.far.answer = () => "hang";
  await fire(one);
  await one.clock.until(() => one.far.arrivals.length > 0);
  one.other.answer = () => "hang";
  await one.clock.until(() => one.carla.arrivals.length > 0, minute);
  const [toBen] = one.other.arrivals;
  expect(one.carla.arrivals[0]!.atMs - toBen!.atMs).toBe(20_000);
});

test.each([1, 2, 3, 4])(
  "whatever the channels of three people do, each change arrives once, in order; seed %i",
  async (seed) => {
    await using one = await desk(before);
    const random = seededRandom(seed);
    const answers = [
      { status: 200 },
      { status: 200 },
      { status: 503 },
      { status: 400 },
      { status: 401 },
      { status: 429, afterMs: 2_000 },
      { status: 429, afterMs: 90_000 },
      "hang",
    ] as const;
    const people = [one.far, one.other, one.carla];
    const shuffle = () => {
      for (const far of people) {
        const answer = answers[Math.floor(random() * answers.length)]!;
        far.answer = () => answer;
      }
    };
    const fired = [];
    for (let round = 0; round < 25; round++) {
      shuffle();
      const alert = one.alerts.alert({ severity: random() < 0.6 ? "critical" : "info" });
      fired.push(alert);
      await one.owe(one.alerts.step("fired", alert, ["oncall"]));
      await one.clock.advance(Math.floor(random() * 40_000));
      if (random() < 0.1) await one.restart();
      const over = random() < 0.5 ? fired.shift() : undefined;
      if (over !== undefined) await one.owe(one.alerts.step("ended", over, ["oncall"]));
    }
    for (const far of people) far.answer = () => ({ status: 200 });
    await one.clock.until(() => one.outbox.figures().undelivered === 0, 15 * minute);
    const accepted = people.flatMap((far) => far.accepted);
    const items = accepted.flatMap((arrival) => arrival.items);
    expect(items.length).toBe(new Set(items).size);
    const dead = (await one.store.messages({})).filter(({ status }) => status === "dead");
    // Dead is only what everybody refused.
    for (const { id } of dead)
      for (const far of people)
        expect(far.arrivals.some((arrival) => arrival.id === id && arrival.answered === 400)).toBe(true);
    const owed = await one.store.deliveryItems({});
    const given = new Set(dead.flatMap(({ itemIds }) => itemIds));
    expect(owed.filter(({ id }) => !given.has(id)).map(({ id }) => id)).toEqual(
      [...items].sort((a, b) => a - b),
    );
    const atMs = new Map(
      accepted.flatMap((arrival) => arrival.items.map((id) => [id, arrival.atMs] as const)),
    );
    for (const item of owed)
      for (const later of owed.filter(({ alertId, id }) => alertId === item.alertId && id > item.id))
        if (atMs.has(item.id) && atMs.has(later.id))
          expect(atMs.get(item.id)).toBeLessThanOrEqual(atMs.get(later.id)!);
  },
);
