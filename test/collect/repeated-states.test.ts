/** States of one wallet that the exchange repeats: one old answer of a cache or a replica that stands still. */
import { expect, test } from "vitest";
import { RepeatedStates } from "../../src/collect/anomalies/repeated-states.ts";
import { Rig } from "./rig.ts";

const every = { traderState: { every: "5s" } };

async function twoWallets() {
  const rig = await Rig.start({ traders: 2 });
  const daemon = await rig.boot(every);
  const [stuck, live] = rig.simulator.traders as readonly [
    (typeof rig.simulator.traders)[0],
    (typeof rig.simulator.traders)[0],
  ];
  const path = `/v1/trader/state/${stuck.authority}`;
  const read = (name: string, fromMs: number) =>
    daemon.of("accounts").filter(({ wallet, atMs }) => wallet === name && atMs > fromMs);
  return { rig, daemon, stuck, live, path, read, [Symbol.asyncDispose]: () => rig[Symbol.asyncDispose]() };
}

test("a state that is one old answer is a failed read of that wallet, until the exchange goes on", async () => {
  await using it = await twoWallets();
  const { rig, daemon, stuck, live, path, read } = it;
  await rig.clock.advance(30_000);
  const body = await (await fetch(new URL(path, rig.simulator.url))).json();
  await rig.call("fault", { path, body, status: 200 });
  const fromMs = rig.clock.nowMs();
  await rig.clock.advance(15_000);
  expect(daemon.failed("traderState")).toEqual([]);
  await rig.clock.advance(60_000);
  expect(daemon.failed("traderState")[0]).toMatchObject({
    wallet: stuck.name,
    reason: "server-error",
    detail: expect.stringMatching(/^traderState: repeats an answer of 12:00:3\d UTC$/),
  });
  expect(read(stuck.name, fromMs + 25_000)).toEqual([]);
  expect(read(live.name, fromMs).length).toBeGreaterThan(12);
  expect(daemon.failed("traderState").filter(({ wallet }) => wallet === live.name)).toEqual([]);
  rig.simulator.faults.clear();
  const endMs = rig.clock.nowMs();
  await rig.clock.advance(60_000);
  expect(read(stuck.name, endMs).length).toBeGreaterThan(3);
});

test("a state that was old at the start is noticed by the slots of other wallets", async () => {
  await using it = await twoWallets();
  const { rig, daemon, stuck, path } = it;
  const body = await (await fetch(new URL(path, rig.simulator.url))).json();
  await rig.call("fault", { path, body, status: 200 });
  await rig.clock.advance(60_000);
  expect(daemon.failed("traderState")[0]).toMatchObject({ wallet: stuck.name });
});

const snapshot = { sequence: 1 };
const states = () => new RepeatedStates(15_000);
const account = () => ({ newestSlot: -1, newestSinceMs: 0 });

test("where the slot is that of the last change of an account, an account that nobody touches is not old", () => {
  const repeated = states();
  const [busy, quiet] = [account(), account()];
  for (let ms = 0; ms < 600_000; ms += 5_000) {
    // One of them changes now and then, the other one never does.
    const sequence = Math.floor(ms / 55_000);
    expect(repeated.take(busy, { slot: 100 + sequence, snapshot: { sequence } }, ms)).toBe(null);
    expect(repeated.take(quiet, { slot: 50, snapshot }, ms)).toBe(null);
  }
});

test("answers of a cache that is renewed within the bound are not old", () => {
  const repeated = states();
  const cached = account();
  for (let ms = 0; ms < 600_000; ms += 1_000)
    expect(repeated.take(cached, { slot: Math.floor(ms / 15_000), snapshot }, ms)).toBe(null);
});

test("answers that alternate between two old ones are old, by the newest of them", () => {
  const repeated = states();
  const one = account();
  for (let ms = 0; ms <= 30_000; ms += 5_000) repeated.take(one, { slot: ms, snapshot }, ms);
  const taken: (number | null)[] = [];
  for (let ms = 35_000; ms <= 60_000; ms += 5_000)
    taken.push(repeated.take(one, { slot: ms % 10_000 === 0 ? 30_000 : 29_000, snapshot }, ms));
  expect(taken).toEqual([null, null, 15_000, 20_000, 25_000, 30_000]);
});
