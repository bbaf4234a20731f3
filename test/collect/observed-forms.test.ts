/** Answers in forms that the live exchange was seen to use: accounts without subaccounts, fills of orders over time. */
import { expect, test } from "vitest";
import { Rig } from "./rig.ts";

const state = "/v1/trader/state/*";

test("an active account without subaccounts is read; of one that holds something it is a failed read", async () => {
  await using rig = await Rig.start();
  const daemon = await rig.boot({ traderState: { every: "1s" } });
  await rig.clock.advance(3_000);
  const before = daemon.of("accounts").length;
  expect(daemon.of("accounts").at(-1)!.subaccounts.length).toBeGreaterThan(0);
  await rig.call("fault", { path: state, set: { "snapshot.subaccounts": [] } });
  await rig.clock.advance(5_000);
  expect(daemon.of("accounts")).toHaveLength(before);
  expect(daemon.of("failed").filter(({ source }) => source === "traderState")[0]).toMatchObject({
    reason: "bad-record",
    detail: expect.stringContaining("no subaccounts of an account that holds something"),
  });

  const other = await rig.boot({ traderState: { every: "1s" } });
  await rig.clock.advance(3_000);
  expect(other.of("accounts").at(-1)!.subaccounts).toEqual([]);
  expect(other.of("failed").filter(({ source }) => source === "traderState")).toEqual([]);
});

test("a fill of an order over time, without signature and id, is one event however often it is read", async () => {
  await using rig = await Rig.start();
  const daemon = await rig.boot({ fills: { every: "1s" } });
  await rig.clock.advance(5_000);
  const set = { "data.0.parentTwapId": "trader:7", "data.0.signature": null, "data.0.fillId": null };
  await rig.call("fault", { path: "/v1/trader/*", set });
  const { authority } = rig.main;
  await rig.call("order", {
    authority,
    symbol: "SOL",
    side: "bid",
    size: "1",
    price: "150",
    reduceOnly: false,
  });
  await rig.call("mark-price", { symbol: "SOL", price: "150" });
  await rig.clock.advance(8_000);
  const fills = daemon.events("fill").filter(({ backfilled }) => !backfilled);
  expect(fills.map(({ fields }) => fields.price)).toEqual([150]);
  expect(daemon.of("failed").filter(({ source }) => source === "fills")).toEqual([]);
});
