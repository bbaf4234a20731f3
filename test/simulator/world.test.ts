import { expect, test } from "vitest";
import { stateSnapshot } from "../../src/simulator/server/answers/trader.ts";
import { ask, quiet, sim } from "./support.ts";

const hourMs = 3_600_000;

test("the same seed and the same calls give the same bytes; another seed does not", {
  timeout: 30_000,
}, async () => {
  const run = async (seed: number) => {
    await using simulator = await quiet({ seed, traders: 4, walk: true, pastMs: 6 * hourMs });
    await sim(simulator, "advance", { ms: 2 * hourMs });
    await sim(simulator, "mark-price", { symbol: "SOL", price: "120" });
    await sim(simulator, "collateral", { trader: "trader-2", amount: "10" });
    await sim(simulator, "advance", { ms: 10_000 });
    const texts = [(await ask(simulator, "/sim/state")).text];
    for (const { authority, traderPda } of simulator.traders) {
      texts.push((await ask(simulator, `/v1/trader/state/${authority}`)).text);
      texts.push((await ask(simulator, `/v1/trader/${authority}/trades-history`)).text);
      texts.push((await ask(simulator, `/v1/view/trader/${traderPda}`)).text);
      texts.push((await ask(simulator, `/v1/auth/nonce?wallet_pubkey=${authority}`)).text);
    }
    return texts.join("\n");
  };
  const first = await run(11);
  expect(await run(11)).toBe(first);
  expect(await run(12)).not.toBe(first);
});

test.each([true, false])(
  "one long step and many short ones are the same world (prices walk: %s)",
  async (walk) => {
    const run = async (parts: number[]) => {
      await using simulator = await quiet({ seed: 3, traders: 3, walk, pastMs: 0 });
      await sim(simulator, "mark-price", { symbol: "SOL", price: "150", oraclePrice: "149" });
      for (const ms of parts) await sim(simulator, "advance", { ms });
      return (await ask(simulator, "/sim/state")).text;
    };
    const hour = await run([3_600_000]);
    expect(await run([1, 999, 300_000, 500, 298_500, 3_000_000])).toBe(hour);
  },
);

test("a quiet world does not change", async () => {
  await using simulator = await quiet({ traders: 3 });
  const accounts = async () => (await ask(simulator, "/sim/state")).json.accounts;
  const before = await accounts();
  await sim(simulator, "advance", { ms: 2 * hourMs - 1 });
  const after = await accounts();
  for (const account of [...before, ...after]) delete account.sequence;
  expect(after).toEqual(before);
});

test("the text of a trader state is never an old one", async () => {
  await using simulator = await quiet({ seed: 5, traders: 6, walk: true, pastMs: hourMs });
  const { world } = simulator;
  let changes = 0;
  for (let i = 0; i < 60; i++) {
    const name = `trader-${2 + (i % 5)}`;
    if (i % 4 === 0) await sim(simulator, "collateral", { trader: name, amount: String(4_000 + i) });
    if (i % 7 === 0) await sim(simulator, "position", { trader: name, symbol: "ETH", size: `${i % 3}` });
    if (i % 9 === 0)
      await sim(simulator, "order", {
        trader: name,
        symbol: "BTC",
        side: "bid",
        price: "20000",
        size: "0.01",
      });
    await sim(simulator, "advance", { ms: 150_000 });
    for (const wallet of world.wallets.values()) {
      for (const pdaIndex of [0, 1]) {
        const path = `/v1/trader/state/${wallet.authority}?traderPdaIndex=${pdaIndex}`;
        const { json } = await ask(simulator, path);
        expect(json.snapshot).toEqual(stateSnapshot(world, wallet, pdaIndex));
        changes += json.snapshot.subaccounts[0].sequence;
      }
    }
  }
  expect(changes).toBeGreaterThan(1_000);
});
