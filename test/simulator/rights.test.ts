/** Rights of simulated trader accounts in answers and the stream, and orders that rested before. */
import { expect, test } from "vitest";
import { rights } from "../../src/simulator/accounts/right.ts";
import { connect, quiet, read, sim } from "./support.ts";

const who = { trader: "w1" };
const yes = { immediate: true, viaColdActivation: false };
const no = { immediate: false, viaColdActivation: false };

async function open() {
  const simulator = await quiet();
  await sim(simulator, "trader", { name: "w1" });
  const { authority, traderPda } = simulator.traders.find(({ name }) => name === "w1")!;
  await sim(simulator, "collateral", { ...who, amount: "1000" });
  const state = async () => (await read(simulator, "traderState", `/v1/trader/state/${authority}`)).snapshot;
  const view = () => read(simulator, "traderView", `/v1/view/trader/${traderPda}`);
  return { simulator, authority, state, view };
}

test("a right that is taken away and given back appears in answers and the stream", async () => {
  const { simulator, authority, state, view } = await open();
  await using _open = { [Symbol.asyncDispose]: () => simulator.stop() };
  const { next, subscribe, socket } = await connect(simulator);
  await subscribe("traderState", { authority, traderPdaIndex: 0 });
  await next("traderState");
  await sim(simulator, "rights", { ...who, lost: ["placeLimitOrder", "withdrawCollateral"] });
  const lost = { flags: 30, state: "active", capabilities: { placeLimitOrder: no, placeMarketOrder: yes } };
  expect((await state()).subaccounts[0].capabilities).toMatchObject(lost);
  expect(await state()).toMatchObject({ capabilities: lost });
  expect(await view()).toMatchObject(lost);
  const told = async () => ((await next("traderState")).deltas as Record<string, unknown>[])[0]!;
  expect(await told()).toMatchObject({ capabilities: lost });
  await sim(simulator, "rights", { ...who, lost: [] });
  expect(await told()).toMatchObject({ capabilities: { flags: 63, state: "active" } });
  // A change that does not affect rights does not mention them.
  await sim(simulator, "collateral", { ...who, amount: "900" });
  expect(await told()).toMatchObject({ capabilities: null });
  socket.terminate();
});

test("an account that may only reduce, and one that may do nothing", async () => {
  const { simulator, view } = await open();
  await using _open = { [Symbol.asyncDispose]: () => simulator.stop() };
  await sim(simulator, "rights", { ...who, lost: ["riskIncreasingTrade"] });
  expect(await view()).toMatchObject({ state: "reduceOnly", flags: 59 });
  await sim(simulator, "rights", { ...who, lost: rights });
  expect(await view()).toMatchObject({ state: "frozen", flags: 0 });
});

test("the rights of a trader are those that one of its accounts has", async () => {
  const { simulator, state } = await open();
  await using _open = { [Symbol.asyncDispose]: () => simulator.stop() };
  await sim(simulator, "collateral", { ...who, subaccountIndex: 1, amount: "10" });
  await sim(simulator, "rights", { ...who, lost: ["placeLimitOrder", "withdrawCollateral"] });
  await sim(simulator, "rights", { ...who, subaccountIndex: 1, lost: ["placeLimitOrder"] });
  expect((await state()).capabilities).toMatchObject({
    capabilities: { placeLimitOrder: no, withdrawCollateral: yes },
  });
});

test("an order that rested before was placed then", async () => {
  const { simulator, authority } = await open();
  await using _open = { [Symbol.asyncDispose]: () => simulator.stop() };
  const restedMs = 73 * 3_600_000;
  const order = { ...who, symbol: "SOL", side: "bid", price: "100", size: "1" };
  await sim(simulator, "order", { ...order, restedMs });
  await sim(simulator, "order", order);
  const { data } = await read(simulator, "orderHistory", `/v1/trader/${authority}/order-history?limit=10`);
  const placed = data.map(({ placedAt }: { placedAt: string }) => Date.parse(placedAt));
  expect(placed[0]! - placed[1]!).toBe(restedMs);
});
