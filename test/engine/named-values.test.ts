/** Named values in the tick: they get a history, also across a restart, and rules judge them as they are now. */
import { expect, test } from "vitest";
import type { MarketPrices } from "../../src/domain/account.ts";
import { Harness, marketConfig, position, prices, subaccount } from "./harness.ts";

const rules = `
values:
  - { name: basis, scope: market, value: market.markPrice / market.oraclePrice - 1.0, unit: ratio }
  - { name: heat, scope: position, value: abs(value.basis) * position.notional, unit: usd }
rules:
  - name: Apart
    scope: market
    select: { symbol: SOL }
    when: value.basis > 0.05
    severity: info
    keepFiringFor: 0s
    noData: keep
    summary: "{{ market.symbol }} {{ value.basis }} apart"
  - name: LongApart
    scope: position
    when: avgOver("value.basis", "1m") > 0.05 && maxOver("market[BTC].value.basis", "1m") < 0.05
    severity: warning
    keepFiringFor: 0s
    noData: keep
    summary: "{{ avgOver('value.basis', '1m') > 0.0 ? 'above' : 'below' }} {{ value.heat }}"
`;
const held = [subaccount(10_000, [position(10, 100)])];
const at = (markPriceUsd: number): MarketPrices => ({ ...prices(markPriceUsd), oraclePriceUsd: 100 });

function step(harness: Harness, markUsd: number): void {
  harness.pass(5_000);
  harness.config(marketConfig(), marketConfig("BTC", { assetId: 2 }));
  harness.mark(at(markUsd), prices(60_000, "BTC"));
  harness.account(held);
}

test("a value is judged at once, its history when it has one; both are kept", () => {
  const harness = new Harness({ rules });
  for (let i = 0; i < 14; i++) step(harness, 100);
  expect(harness.told).toEqual([]);
  step(harness, 110);
  expect(harness.told).toEqual(["Apart market/SOL fired info"]);
  expect(harness.changes.at(-1)!.alert.summary).toBe("SOL 10% apart");
  for (let i = 0; i < 7; i++) step(harness, 110);
  expect(harness.told.slice(1)).toEqual(["LongApart main/0.0/SOL fired warning"]);
  expect(harness.changes.at(-1)!.alert.summary).toBe("above $110.00");
  const series = (name: string) =>
    harness.all
      .flatMap((one) => one.ticks)
      .flatMap((tick) => tick.values.filter((_, index) => tick.series[index] === name));
  expect(series("market[SOL].value.basis").at(-1)).toBeCloseTo(0.1);
  expect(series("market[BTC].value.basis").at(-1)).toBe(0);
  expect(series("position[SOL].value.heat").at(-1)).toBeCloseTo(110);
});

test("after a restart its past is what it was", () => {
  const before = new Harness({ rules });
  for (let i = 0; i < 14; i++) step(before, 106);
  expect(before.told).toContain("LongApart main/0.0/SOL fired warning");
  const after = new Harness({ rules, atMs: before.nowMs + 1_000 });
  for (const tick of before.all.flatMap((one) => one.ticks)) after.watch.warmUp.rememberTick(tick);
  after.config(marketConfig(), marketConfig("BTC", { assetId: 2 }));
  after.mark(at(106), prices(60_000, "BTC"));
  after.account(held);
  after.pass(1_000);
  expect(after.told).toContain("LongApart main/0.0/SOL fired warning");
});

test("what cannot be worked out is no sample", () => {
  const harness = new Harness({ rules });
  harness.config(marketConfig());
  harness.mark({ ...at(1), oraclePriceUsd: 0 });
  const { ticks } = harness.all.at(-1)!;
  const index = ticks[0]!.series.indexOf("market[SOL].value.basis");
  expect(ticks[0]!.values[index]).toBeNaN();
});
