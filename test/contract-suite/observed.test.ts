/** Forms seen at the live exchange, read by the SDK: fills of orders over time, accounts without subaccounts. */
import * as sdk from "@ellipsis-labs/rise";
import { expect, onTestFinished, test } from "vitest";
import { type Desk, openDesk } from "./desk.ts";

async function trading() {
  const desk = await openDesk();
  onTestFinished(() => desk.stop());
  await desk.sim("trader", { name: "late" });
  await desk.sim("collateral", { trader: "late", amount: "1000" });
  const late = desk.simulator.traders.find(({ name }) => name === "late")!;
  return { desk, late };
}

/** The SDK's live state of an account, once it streams. */
async function follow(desk: Desk, authority: string) {
  const states = sdk.createTraderStateStore(desk.newClient({ auth: false }));
  onTestFinished(() => states.close());
  const resource = states.resource({ authority });
  resource.retain();
  await resource.ready();
  const until = (fits: () => boolean) =>
    new Promise<void>((met) => {
      const leave = resource.subscribe(() => {
        if (fits()) met();
      });
      onTestFinished(() => leave());
      if (fits()) met();
    });
  await until(() => resource.status().health === "live");
  return { resource, until };
}

test("fills of an order over time, without signature and id, are read in both histories and on the stream", async () => {
  const { desk, late } = await trading();
  const { resource, until } = await follow(desk, late.authority);
  const twap = { trader: "late", symbol: "SOL", side: "bid", size: "3", parts: 3, everyMs: 1_000 };
  const { parentTwapId } = (await desk.sim("twap", twap)) as { parentTwapId: string };
  await desk.sim("advance", { ms: 3_000 });
  // The SDK keeps one row of what it takes for the same trade.
  const trades = () => resource.subaccount(0)?.tradeHistory ?? [];
  await until(() => trades().length === 3);
  const { data } = await desk.client.api.trades().getTraderTradesHistory(late.authority, { pdaIndex: 0 });
  const second = await desk.client.api.trades().getTraderTradeHistoryV2(late.traderPda, {});
  for (const rows of [trades(), data, second.data]) {
    expect(rows).toHaveLength(3);
    for (const row of rows) expect(row).toMatchObject({ signature: null, fillId: null });
  }
  // Newer clients know the order's number; this one drops it.
  const plain = (await desk.plain(`/v1/trader/${late.authority}/trades-history`)) as { data: object[] };
  for (const row of plain.data) expect(row).toMatchObject({ parentTwapId });
  expect(resource.position(0, "SOL")?.basePositionUnits).toBe("3");
});

test("an account from which all was withdrawn has no subaccounts, over HTTP and on the stream, until money comes back", async () => {
  const { desk, late } = await trading();
  const before = await follow(desk, late.authority);
  expect(before.resource.subaccountIndices()).toEqual([0]);
  await desk.sim("collateral", { trader: "late", amount: "0" });
  const { snapshot } = await desk.client.api.traders().getTraderStateSnapshot(late.authority);
  expect(snapshot).toMatchObject({ capabilities: { state: "active" }, subaccounts: [] });
  const during = await follow(desk, late.authority);
  expect(during.resource.subaccountIndices()).toEqual([]);
  await desk.sim("collateral", { trader: "late", amount: "7" });
  for (const { resource, until } of [before, during])
    await until(() => resource.subaccount(0)?.snapshot.collateral === "7000000");
});
