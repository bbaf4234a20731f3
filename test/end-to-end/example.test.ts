import { expect, test } from "vitest";
import { openHouse } from "../support/daemon.ts";

test("a position near liquidation is reported", async () => {
  await using house = await openHouse();
  await house.hold({ collateral: "4000", symbol: "SOL", size: "100", entryPrice: "150" });
  await house.start();
  await house.bring("SOL", 0.03); // the mark price, 3 % above liquidation
  await house.clock.advance(30_000);
  expect(house.headlines()).toEqual(["🔴 FIRING critical #1: main: SOL long is 3% from liquidation"]);
});
