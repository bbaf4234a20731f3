/** Starts and reloads of the whole daemon, with its first answers in an order that a slow exchange may give them. */
import fs from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { openHouse } from "../support/daemon.ts";

const rules = `
rules:
  - name: StopFar
    scope: position
    when: position.hasStopLoss && position.stopLossDistance > 0.5
    for: 0s
    severity: critical
    summary: "stop loss far away"
  - name: Holding
    scope: position
    when: position.side == "long"
    severity: info
    summary: "you hold {{ usd(position.notional) }}"
`;

test.each([
  ["market configuration", "/v1/view/exchange/markets"],
  ["prices", "/v1/markets/stats/latest"],
  ["trader states", "/v1/trader/state"],
])("%s that come 400 ms late cause no false alert", { timeout: 60_000 }, async (_, late) => {
  await using house = await openHouse();
  const file = path.join(house.folder, "own.yaml");
  fs.writeFileSync(file, rules);
  const held = { trader: "main", symbol: "SOL", size: "100", entryPrice: "150" };
  await house.simulator.call("collateral", { trader: "main", amount: "4000" });
  await house.simulator.call("position", { ...held, stopLossPrice: "140" });
  const sections = { rules: [file] };
  const delay = () => house.simulator.call("fault", { path: late, delayMs: 400, times: 1 });
  await delay();
  const { daemon, stop } = await house.start(sections);
  await house.clock.advance(10_000);
  for (let reload = 0; reload < 2; reload++) {
    await delay();
    await house.clock.finish(daemon.reload(house.settings(sections)));
    await house.clock.advance(10_000);
  }
  await stop();
  await delay();
  await house.start(sections);
  await house.clock.advance(10_000);
  expect(house.chats(/stop loss far away/)).toEqual([]);
  const holding = house.chats(/you hold/).map(({ text }) => text);
  expect(holding.length).toBeGreaterThan(0);
  for (const text of holding) expect(text).toContain("you hold $15,000.00");
});
