/** An exchange that answers for one wallet with one old state, again and again, while all else goes on. */
import { expect, test } from "vitest";
import { openHouse } from "../support/daemon.ts";

test("a wallet whose state is an old answer is reported as no data, with the answer's time, until it moves again", {
  timeout: 120_000,
}, async () => {
  await using house = await openHouse({ wallets: ["main", "other"] });
  for (const trader of ["main", "other"])
    await house.hold({ trader, collateral: "4000", symbol: "SOL", size: "10", entryPrice: "150" });
  const { daemon } = await house.start();
  await house.clock.advance(30_000);
  const path = `/v1/trader/state/${house.trader("main").authority}`;
  const body = await (await fetch(new URL(path, house.simulator.url))).json();
  await house.call("fault", { path, body, status: 200 });
  await house.clock.advance(90_000);
  const noData = () => house.headlines().filter((title) => /No data/.test(title));
  expect(noData()).toEqual([
    expect.stringMatching(/on wallet main .*no positions.*\(repeats an answer of 12:00:[23]\d UTC\)/),
  ]);
  expect(daemon.status().watch.blind.map(({ wallet }) => wallet)).toEqual(["main"]);
  house.simulator.faults.clear();
  await house.clock.advance(60_000);
  expect(daemon.status().watch.blind).toEqual([]);
  expect(house.headlines().at(-1)).toMatch(
    /RESOLVED: Read again: positions and balances of wallet main, after 1m/,
  );
});
