/** A stop loss from request to transaction, against the simulated exchange and its ledger. */
import { describe, expect, test } from "vitest";
import { type Instruction, readStopLoss } from "../../src/contract/index.ts";
import { systemClock } from "../../src/domain/clock.ts";
import { createExchange } from "../../src/exchange/index.ts";
import { InstructionsRefused } from "../../src/ledger/review.ts";
import { createLedger } from "../../src/ledger/rpc.ts";
import { MarketDiffers, planStopLoss, type StopLossAsked, usd } from "../../src/ledger/stop-loss.ts";
import { BadStopLoss } from "../../src/ledger/stop-loss-band.ts";
import type { SimulatorOptions } from "../../src/simulator/index.ts";
import { signTransaction } from "../../src/wallet/ledger-transaction.ts";
import { testSigner } from "../exchange/local-exchange.ts";
import { MemorySessions } from "../exchange/rig.ts";
import { ask, quiet, read, sim } from "../simulator/support.ts";

/** `main` is long 0.25 BTC at 60400, short 90 SOL at 151.35, and long GOLD in subaccount 1. */
async function place(options: SimulatorOptions = {}) {
  const simulator = await quiet(options);
  const key = simulator.keyOf("main");
  const exchange = createExchange({
    settings: { baseUrl: simulator.url, requestsPerSecond: 1_000 },
    version: "0.0.0-test",
    clock: systemClock(),
    random: Math.random,
    wallets: [{ name: "main", key: testSigner(key), login: "message" }],
    store: new MemorySessions(),
    onSession: () => {},
    onTrouble: () => {},
    onBadRecord: () => {},
  });
  const ledger = createLedger({ rpcUrl: `${simulator.url}/rpc` });
  const usual: StopLossAsked = {
    ...{ authority: key.address, feePayer: key.address, pdaIndex: 0, subaccount: null, symbol: "BTC" },
    ...{
      triggerPrice: "58000",
      executionPrice: null,
      slippagePercent: 1,
      size: null,
      kind: "ioc",
      far: false,
    },
  };
  return {
    simulator,
    key,
    plan: (more: Partial<StopLossAsked> = {}) =>
      planStopLoss({ client: exchange.client, call: { wallet: "main" }, ledger }, { ...usual, ...more }),
    triggers: async (symbol: string, subaccount = 0) => {
      const { snapshot } = await read(simulator, "traderState", `/v1/trader/state/${key.address}`);
      const { positions } = snapshot.subaccounts[subaccount];
      const { stopLossTriggers } = positions.find((it: { symbol: string }) => it.symbol === symbol);
      return stopLossTriggers.map((it: { trigger: { triggerPriceTicks: string } }) =>
        Number(it.trigger.triggerPriceTicks),
      );
    },
    execute: (transaction: string) =>
      ask(simulator, "/rpc", {
        body: {
          jsonrpc: "2.0",
          id: 1,
          method: "sendTransaction",
          params: [transaction, { encoding: "base64" }],
        },
      }),
    [Symbol.asyncDispose]: async () => {
      await exchange.stop();
      await simulator.stop();
    },
  };
}

test("built, checked and simulated; sent by its owner, it is set on the position", async () => {
  await using it = await place();
  const plan = await it.plan();
  expect(plan).toMatchObject({
    order: {
      triggerTicks: 58_000n,
      executionTicks: 57_420n,
      baseLots: 2_500n,
      side: "ask",
      direction: "below",
    },
    mark: 60_400,
    replaces: [],
    warnings: [],
  });
  expect(plan.reviewed.signers).toEqual([it.key.address]);
  expect(plan.cost.lamports).toBeGreaterThan(5_000n);
  expect(await it.triggers("BTC")).toEqual([]);
  expect(it.simulator.world.ledger.transactions.size).toBe(0);
  const sent = await it.execute(signTransaction(plan.transaction, it.key).wire);
  expect(sent.json.error).toBeUndefined();
  expect(await it.triggers("BTC")).toEqual([58_000]);
  expect((await it.plan({ triggerPrice: "59000" })).replaces).toEqual(["58000"]);
  // And it triggers there.
  await sim(it.simulator, "mark-price", { symbol: "BTC", price: "57990" });
  const { subaccounts } = (await read(it.simulator, "traderState", `/v1/trader/state/${it.key.address}`))
    .snapshot;
  expect(subaccounts[0].positions.map((one: { symbol: string }) => one.symbol)).toEqual(["SOL"]);
});

test("a short, a part of it, given prices; an isolated position; and what would come too late", async () => {
  await using it = await place();
  const short = await it.plan({
    symbol: "sol",
    triggerPrice: "160.004",
    executionPrice: "161",
    size: "30.5",
  });
  expect(short.order).toEqual({
    ...{ triggerTicks: 16_000n, executionTicks: 16_100n, baseLots: 3_050n },
    ...{ side: "bid", direction: "above", kind: "ioc" },
  });
  expect(short.replaces).toHaveLength(1);
  const gold = await it.plan({ symbol: "GOLD", triggerPrice: "1000", kind: "limit", far: true });
  expect(gold).toMatchObject({ subaccount: 1, order: { kind: "limit" } });
  expect(gold.warnings).toEqual([
    expect.stringMatching(/liquidated at 1486\.7, before this stop loss .* 1000/),
  ]);
  const sent = await it.execute(signTransaction(gold.transaction, it.key).wire);
  expect(sent.json.error).toBeUndefined();
  expect(await it.triggers("GOLD", 1)).toEqual([10_000]);
});

describe("what makes no sense is refused before the exchange is asked", () => {
  const cases: [Partial<StopLossAsked>, RegExp][] = [
    [{ symbol: "ETH" }, /no position in ETH; there are: BTC, SOL, GOLD/],
    [{ subaccount: 1 }, /no position in BTC in subaccount 1/],
    [{ triggerPrice: "60400" }, /the trigger 60400 is not below the mark 60400/],
    [{ symbol: "SOL", triggerPrice: "151" }, /is not above the mark/],
    [{ executionPrice: "58001" }, /above the trigger/],
    [{ symbol: "SOL", triggerPrice: "160", executionPrice: "159" }, /below the trigger/],
    [{ size: "0.26" }, /the position has 0\.2500 units/],
    [{ size: "0" }, /the size is a number above 0/],
    [{ size: "0.00001" }, /at most 4 digits/],
    [{ triggerPrice: "-1" }, /the trigger price is a number above 0/],
    [{ triggerPrice: "1e3" }, /the trigger price is a number above 0/],
    [{ triggerPrice: "0.1" }, /out of range/],
    [
      { triggerPrice: "30199" },
      /the trigger 30199 is 50\.0% away from the mark 60400; 50% are the most.*--far/,
    ],
    [{ symbol: "SOL", triggerPrice: "230" }, /the trigger 230 is 5\d\.\d% away from the mark/],
    [{ executionPrice: "46399" }, /the execution price 46399 is 20\.0% away from the trigger 58000; 20%/],
    [{ symbol: "SOL", triggerPrice: "160", executionPrice: "193" }, /the execution price 193 is 20\.6% away/],
    [{ triggerPrice: "6039", far: true }, /more than a factor of 10: no such stop loss is signed/],
    [{ symbol: "SOL", triggerPrice: "160", executionPrice: "1601", far: true }, /more than a factor of 10/],
    [{ symbol: "GOLD", triggerPrice: "1480" }, /would be liquidated at 1486\.7, before .*--far/],
  ];
  test.each(cases)("%j", async (asked, said) => {
    await using it = await place();
    const error = await it.plan(asked).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(BadStopLoss);
    expect((error as Error).message).toMatch(said);
    const { json } = await ask(it.simulator, "/sim/requests?path=/v1/ix/place-stop-loss-order");
    expect(json.count).toBe(0);
  });
});

test("an instruction that is another than the one asked for is refused, whatever differs", async () => {
  await using it = await place();
  const path = "/v1/ix/place-stop-loss-order";
  const good = (await it.plan()).reviewed.instructions[0]!;
  const instruction: Instruction = {
    programId: good.programId,
    keys: good.accounts.map(({ pubkey, isSigner, isWritable }) => ({ pubkey, isSigner, isWritable })),
    data: [...good.data],
  };
  const withByte = (at: number, value: number) => ({
    ...instruction,
    data: instruction.data.map((byte, index) => (index === at ? value : byte)),
  });
  const answered = async (body: Instruction[], more: Partial<StopLossAsked> = {}) => {
    await sim(it.simulator, "fault", { path, times: 1, status: 200, body });
    return it.plan(more).then(
      () => "passed",
      (error: unknown) => (error instanceof InstructionsRefused ? error.reasons.join("; ") : String(error)),
    );
  };
  expect(await answered([instruction])).toBe("passed");
  expect(await answered([])).toMatch(/0 instructions instead of 1/);
  expect(await answered([instruction, instruction])).toMatch(/2 instructions instead of 1/);
  const drain = { ...instruction, programId: "11111111111111111111111111111111" };
  expect(await answered([drain])).toMatch(/program 1{32} instead of/);
  // Trigger, execution, side, direction, kind.
  for (const at of [8, 16, 32, 33, 34])
    expect(await answered([withByte(at, instruction.data[at]! ^ 1)]), String(at)).toMatch(/its data are/);
  const swapped = instruction.keys.with(4, { ...instruction.keys[4]!, pubkey: good.accounts[5]!.pubkey });
  expect(await answered([{ ...instruction, keys: swapped }])).toMatch(/account 4 \(trader account\)/);
  // 0 lots stand for the whole position: accepted only where the whole position was requested.
  const whole = instruction.data.map((byte, index) => (index >= 24 && index < 32 ? 0 : byte));
  expect(readStopLoss(Uint8Array.from(whole))?.baseLots).toBe(0n);
  expect(await answered([{ ...instruction, data: whole }])).toBe("passed");
  expect(await answered([{ ...instruction, data: whole }], { size: "0.1" })).toMatch(/its data are/);
});

test("a market with negative lot decimals: prices and sizes are its own", async () => {
  await using it = await place({ markets: ["PUMP"] });
  // 1,234,500 units at 0.0045 USD; one base lot is 100 units, one tick a micro-dollar.
  await sim(it.simulator, "position", {
    trader: "main",
    symbol: "PUMP",
    size: "1234500",
    entryPrice: "0.0045",
  });
  const plan = await it.plan({ symbol: "PUMP", triggerPrice: "0.0041", slippagePercent: 2 });
  expect(plan.order).toMatchObject({
    triggerTicks: 4_100n,
    executionTicks: 4_018n,
    baseLots: 12_345n,
    direction: "below",
  });
  expect(plan.mark).toBe(0.00452);
  expect(usd(plan.market, plan.order.triggerTicks)).toBe("0.0041");
  const part = await it.plan({ symbol: "PUMP", triggerPrice: "0.0041", size: "5000" });
  expect(part.order.baseLots).toBe(50n);
  await expect(it.plan({ symbol: "PUMP", triggerPrice: "0.0041", size: "5050" })).rejects.toThrow(
    "the size is a multiple of 100 above 0, not 5050",
  );
  // A price may have as many digits as the smallest tick that a market with these lots can have.
  const fine = await it.plan({ symbol: "PUMP", triggerPrice: "0.00410049", executionPrice: "0.00401851" });
  expect(fine.order).toMatchObject({ triggerTicks: 4_100n, executionTicks: 4_019n });
  // Above the mark of 0.00452: a long's stop loss would trigger at once.
  await expect(it.plan({ symbol: "PUMP", triggerPrice: "0.0046" })).rejects.toThrow(BadStopLoss);
  await it.execute(signTransaction(plan.transaction, it.key).wire);
  expect(await it.triggers("PUMP")).toEqual([4_100]);
});

describe("an exchange that lies about a market", () => {
  const path = "/v1/view/exchange/market/BTC";
  const lied = async (change: Record<string, unknown>) => {
    await using it = await place();
    const honest = (await ask(it.simulator, path)).json;
    await sim(it.simulator, "fault", { path, times: 1, status: 200, body: { ...honest, ...change } });
    const error = await it.plan().catch((thrown: unknown) => thrown);
    const { json } = await ask(it.simulator, "/sim/requests?path=/v1/ix/place-stop-loss-order");
    expect(json.count).toBe(0);
    return error as Error;
  };
  test.each([10, 1_000, 1])(
    "a tick size of %d instead of 100 is refused with both values",
    async (tickSize) => {
      const error = await lied({ tickSize });
      expect(error).toBeInstanceOf(MarketDiffers);
      expect(error.message).toContain(
        `the tick size of BTC is ${tickSize} by the exchange and 100 by the ledger`,
      );
    },
  );
  test("decimals, another market's account, and one that is no market", async () => {
    expect((await lied({ baseLotsDecimals: 3 })).message).toMatch(
      /base lot decimals of BTC is 3 by the exchange and 4 by/,
    );
    const sol = "Ac1YUrvRysk37ukazMSMKH3LSp1Vb9Pn2kqnZEG1FjcP";
    expect((await lied({ marketPubkey: sol })).message).toMatch(
      /symbol of BTC is BTC by the exchange and SOL by/,
    );
    await using it = await place();
    const [main] = it.simulator.traders;
    expect((await lied({ marketPubkey: main!.traderPda })).message).toMatch(/another kind of account/);
    expect((await lied({ marketPubkey: main!.authority })).message).toMatch(/it belongs to 1{32}/);
  });
});

test("a mark that is off by ten leaves no plausible stop loss", async () => {
  await using it = await place();
  const path = "/v1/market/BTC/mark-price";
  const honest = (await ask(it.simulator, path)).json;
  for (const price of [604_000, 6_040]) {
    const markPrice = { ...honest.markPrice, price };
    await sim(it.simulator, "fault", { path, times: 1, status: 200, body: { ...honest, markPrice } });
    await expect(it.plan()).rejects.toThrow(BadStopLoss);
  }
});
