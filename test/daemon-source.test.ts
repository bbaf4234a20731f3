/** Figures of the running daemon that titles of its own alerts name. */
import { hostname } from "node:os";
import { expect, test } from "vitest";
import { openHouse } from "./support/daemon.ts";

test("alerts about sign-ins and timers name the wallets and this machine", { timeout: 60_000 }, async () => {
  await using house = await openHouse();
  await house.call("fault", { path: "/v1/auth/*", status: 403 });
  await house.start({
    ruleOverrides: {
      SignInsRefused: { when: "value >= 1" },
      LoopStalls: { when: 'value >= duration("0s")', for: "0s" },
    },
  });
  // The quarter of an hour over which refusals count has to be known.
  await house.clock.advance(960_000);
  const told = house.headlines().join("\n");
  expect(told).toMatch(/The exchange refused sign-ins or sessions of main (once|\d+ times) within/);
  expect(told).toContain(`perpwatch on ${hostname()}: its timers `);
});

test("a refused sign-in is reported with the exchange's reason", { timeout: 60_000 }, async () => {
  await using house = await openHouse();
  const error = "This wallet is blocked in your region";
  await house.call("fault", { path: "/v1/auth/login/*", status: 403, error });
  await house.start();
  await house.clock.advance(60_000);
  expect(house.headlines().join("\n")).toContain(`(not signed in (HTTP 403 ${error}))`);
});
