/** Spot collateral in the simulated exchange: it liquidates at the liquidation price that it states. */
import { describe, expect, test } from "vitest";
import { quiet, read, sim } from "./support.ts";

const trader = { trader: "backed" };

async function open(spot: string, collateral: string, symbol: string, size: string) {
  const simulator = await quiet();
  await sim(simulator, "trader", { name: "backed" });
  const { authority, traderPda } = simulator.traders.find(({ name }) => name === "backed")!;
  await sim(simulator, "mark-price", { symbol: "SOL", price: "150" });
  await sim(simulator, "mark-price", { symbol: "BTC", price: "60000" });
  await sim(simulator, "collateral", { ...trader, amount: collateral });
  await sim(simulator, "spot-collateral", { ...trader, balance: spot });
  await sim(simulator, "position", { ...trader, symbol, size });
  const view = () => read(simulator, "traderView", `/v1/view/trader/${traderPda}`);
  const liquidations = async () =>
    (await read(simulator, "liquidationHistory", `/v1/users/${authority}/liquidation-history`)).data.length;
  const mark = (usd: number) => sim(simulator, "mark-price", { symbol: "SOL", price: usd.toFixed(2) });
  return { simulator, view, liquidations, mark };
}

describe("an account that is backed by SOL", () => {
  test.each([
    ["a long", "60", 1],
    ["a short", "-60", -1],
  ] as const)("is liquidated at the printed price, and not one tick before: %s", async (_, size, side) => {
    const { simulator, view, liquidations, mark } = await open("20", "300", "SOL", size);
    await using _open = { [Symbol.asyncDispose]: () => simulator.stop() };
    const before = await view();
    const printed = Number(before.positions[0].liquidationPrice.ui);
    expect(printed).toBeGreaterThan(0);
    await mark(printed + side * 0.01);
    expect(await liquidations()).toBe(0);
    expect(Number((await view()).positions[0].positionSize.ui)).toBe(Number(size));
    await mark(printed);
    expect(await liquidations()).toBe(1);
  });

  test("falls short by the price of SOL alone, though it holds nothing there", async () => {
    const { simulator, view, liquidations, mark } = await open("20", "0", "BTC", "0.5");
    await using _open = { [Symbol.asyncDispose]: () => simulator.stop() };
    expect((await view()).riskTier).toBe("safe");
    await mark(20);
    expect(await liquidations()).toBe(1);
  });
});
