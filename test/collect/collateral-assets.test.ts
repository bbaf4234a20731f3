/** The list of collateral assets, which is read with the list of markets but seldom. */
import { expect, test } from "vitest";
import { Rig } from "./rig.ts";

test.each([
  ["fails", { status: 503, error: "unavailable" }],
  ["cannot be read", { body: "{" }],
])("markets are read on schedule while the list of collateral assets %s", async (_, fault) => {
  await using rig = await Rig.start();
  const daemon = await rig.boot();
  await rig.call("fault", { path: "/v1/collateral/assets", ...fault });
  await rig.clock.advance(180_000);
  const read = daemon.of("marketConfig").map(({ atMs }) => atMs);
  const gaps = read.slice(1).map((atMs, index) => atMs - read[index]!);
  expect(daemon.failed("marketConfig").length).toBeGreaterThan(2);
  expect(Math.max(...gaps)).toBeLessThan(12_000);
  // One failed read is not several in a row.
  expect(daemon.collectors.figures().failedPolls).toBeLessThanOrEqual(1);
});

test.each([
  ["without its market", [{ assetIndex: 4_294_901_760, symbol: "SOL", decimals: 9 }]],
  ["without an asset", []],
])("a list %s is read again at once", async (_, assets) => {
  await using rig = await Rig.start();
  const daemon = await rig.boot();
  const lists = () => daemon.of("collateralAssets");
  await rig.clock.advance(60_000);
  expect(lists()).toHaveLength(1);
  await rig.call("fault", { path: "/v1/collateral/assets", status: 200, body: JSON.stringify({ assets }) });
  await rig.clock.advance(570_000);
  expect(lists().map((list) => list.assets.filter(({ perpAssetId }) => perpAssetId !== null).length)).toEqual(
    [1, 0, 0],
  );
  expect(lists()[2]!.atMs - lists()[1]!.atMs).toBeLessThan(12_000);
});
