/** Accounts that the exchange answers for as active and without subaccounts: a list that got lost, or nothing that is left. */
import fs from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { type House, openHouse, type Run } from "../support/daemon.ts";

const rules = `
rules:
  - name: Holding
    scope: position
    when: position.side == "long"
    severity: critical
    keepFiringFor: 0s
    summary: "you hold {{ position.symbol }}"
`;
const lost = { path: "/v1/trader/state/*", set: { "snapshot.subaccounts": [] } };

async function holding(
  observed = true,
): Promise<{ readonly house: House; readonly start: () => Promise<Run> }> {
  const house = await openHouse({ simulator: { observed } });
  const file = path.join(house.folder, "own.yaml");
  fs.writeFileSync(file, rules);
  await house.hold({ collateral: "4000", symbol: "SOL", size: "10", entryPrice: "150" });
  return { house, start: () => house.start({ rules: ["shipped", file] }) };
}

const firing = ({ daemon }: Run) => daemon.status().watch.firing.map(({ rule }) => rule);
const missing = ({ daemon }: Run) => daemon.status().watch.blind.map(({ source }) => source);

test("positions stand while their list is lost, also over a restart", { timeout: 120_000 }, async () => {
  const { house, start } = await holding();
  await using _ = house;
  const run = await start();
  await house.clock.advance(10_000);
  expect(firing(run)).toEqual(["Holding"]);
  await house.call("fault", lost);
  await house.clock.advance(40_000);
  expect(missing(run)).toContain("traderState");
  await run.stop();
  const again = await start();
  await house.clock.advance(40_000);
  expect(missing(again)).toContain("traderState");
  house.simulator.faults.clear();
  await house.clock.advance(60_000);
  expect(missing(again)).toEqual([]);
  expect(firing(again)).toEqual(["Holding"]);
  expect(house.headlines().filter((line) => /closed/i.test(line))).toEqual([]);
});

test.each([
  ["as an account that holds nothing", false],
  ["without subaccounts", true],
])(
  "an account from which all was taken and that is answered %s is no gap in the data",
  {
    timeout: 120_000,
  },
  async (_name, observed) => {
    const { house, start } = await holding(observed);
    await using _ = house;
    const run = await start();
    await house.clock.advance(20_000);
    await house.call("position", { trader: "main", symbol: "SOL", size: "0" });
    await house.call("collateral", { trader: "main", amount: "0" });
    await house.clock.advance(180_000);
    expect(missing(run)).toEqual([]);
    expect(firing(run)).toEqual([]);
    const figures = { equity: 0, pnl: 0, pnlToday: 0, netDeposits: -4_000, moveToLiquidation: null };
    const known = () => run.daemon.status().watch.wallets[0]!.figures;
    expect(JSON.parse(JSON.stringify(known()))).toMatchObject(figures);
    const told = house.headlines().length;
    expect(house.headlines().filter((line) => /CLOSED: main/.test(line))).toHaveLength(1);
    expect(house.headlines().filter((line) => /No data|lost/i.test(line))).toEqual([]);

    await run.stop();
    const again = await start();
    await house.clock.advance(90_000);
    expect(missing(again)).toEqual([]);
    expect(house.headlines()).toHaveLength(told);
  },
);
