/** The running funding rate of the statistics: in which unit it is, when rules see it, and what windows hold. */
import { describe, expect, test } from "vitest";
import { decideFundingUnit } from "../../src/state/markets/funding-unit.ts";
import { Harness, marketConfig, prices } from "./harness.ts";

const rules = `
rules:
  - name: Expensive
    scope: market
    when: market.fundingRate > 0.0002
    severity: warning
    for: 0s
    keepFiringFor: 0s
    summary: "{{ market.symbol }} pays {{ market.fundingRate }}"
  - name: DearHours
    scope: market
    when: avgOver("market.fundingRate", "2h") > 0.0002
    severity: info
    for: 0s
    keepFiringFor: 0s
    summary: "{{ market.symbol }}"
`;

const symbols = ["SOL", "BTC", "ETH", "GOLD"];
const settled = [0.00002, 0.00001, -0.00003, 0.000015];

class Rates extends Harness {
  stated(rates: readonly number[]) {
    return this.mark(
      ...symbols.map((symbol, index) => ({
        ...prices(150, symbol),
        exchangeMs: this.nowMs,
        statedFundingRate: rates[index]!,
      })),
    );
  }

  hours(rates: readonly number[] = settled) {
    for (const [index, symbol] of symbols.entries())
      this.see({
        ...{ kind: "fundingRate", atMs: this.nowMs, symbol },
        ...{ ratePerHour: rates[index]!, exchangeMs: this.nowMs },
      });
  }
}

function begun(remembered?: Rates["remembered"]): Rates {
  const h = new Rates({ rules, ...(remembered === undefined ? {} : { remembered }) });
  h.config(...symbols.map((symbol) => marketConfig(symbol)));
  return h;
}

const fired = (h: Harness, rule: string) =>
  h.changes.filter(({ kind, alert }) => kind === "fired" && alert.rule === rule);

const percent = settled.map((rate) => rate * 100 * 1.4);
const fraction = settled.map((rate) => rate * 0.6);

describe.each([
  ["percent", percent, 0.05],
  ["fraction", fraction, 0.0005],
] as const)("statistics in %s an hour", (unit, calm, high) => {
  test("a rate that rises is judged with the next statistics, in its unit, which is reported once", () => {
    const h = begun();
    h.stated(calm);
    h.hours();
    h.stated(calm);
    expect(fired(h, "Expensive")).toEqual([]);
    h.pass(2_000);
    h.stated([high, ...calm.slice(1)]);
    expect(fired(h, "Expensive").map(({ alert }) => alert.summary)).toEqual(["SOL pays 0.05%/h"]);
    h.hours();
    expect(h.notes.filter((text) => /funding rates/.test(text))).toEqual([
      `funding rates in the market statistics are taken as a ${unit === "percent" ? "percentage" : "fraction"} an hour: 3 markets were compared with the funding history`,
    ]);
    // Windows hold the settled hours.
    expect(fired(h, "DearHours")).toEqual([]);
  });

  test("a restart keeps the unit", () => {
    const before = begun();
    before.stated(calm);
    before.hours();
    const h = begun(before.remembered);
    h.stated([high, ...calm.slice(1)]);
    h.hours([0.00002, 0, 0, 0]);
    expect(fired(h, "Expensive").map(({ alert }) => alert.summary)).toEqual(["SOL pays 0.05%/h"]);
  });
});

describe("statistics that state rates far above the settled ones", () => {
  const surge = settled.map((rate) => Math.abs(rate) * 30);
  const begin = (remembered?: Rates["remembered"]) => {
    const h = begun(remembered);
    h.stated(fraction);
    h.hours();
    h.stated(fraction);
    return h;
  };

  test("keep the unit while rates of all markets surge", () => {
    const h = begin();
    h.pass(2_000);
    h.stated(surge);
    const before = fired(h, "Expensive").length;
    expect(before).toBeGreaterThan(0);
    for (let minutes = 0; minutes < 60; minutes += 5) {
      h.hours();
      h.stated(surge);
      h.pass(300_000);
    }
    // The hour of the surge settles.
    h.hours(surge);
    h.stated(surge);
    expect(h.told.filter((one) => / ended /.test(one))).toEqual([]);
  });

  test("change it where they stay so for longer than hours take to settle, restarts included", () => {
    let h = begin();
    for (let hours = 0; hours < 4; hours++) {
      h.stated(percent);
      h.hours();
      h.pass(3_600_000);
      if (hours === 1) h = new Rates({ rules, remembered: h.remembered, atMs: h.nowMs });
    }
    h.stated(percent);
    expect(h.notes.filter((text) => /percentage an hour/.test(text))).toHaveLength(1);
  });
});

test("rates that were stated before the hour was settled say nothing of it", () => {
  const h = begun();
  h.stated(percent.map((rate) => rate / 4));
  h.pass(120_000);
  // As after an outage: the history of an hour with far higher rates is read before the statistics of it.
  const dear = settled.map((rate) => rate * 40);
  h.hours(dear);
  expect(h.notes).toEqual([]);
  h.pass(1_000);
  h.stated(dear.map((rate) => rate * 100));
  h.hours(dear);
  // Nor are they reported as another rate than the settled one.
  h.pass(1_000);
  h.hours(settled.map((rate) => rate / 10));
  expect(h.notes).toEqual([expect.stringMatching(/^funding rates .* are taken as a percentage an hour/)]);
});

test("until the unit is decided rules see the last settled hour", () => {
  const h = begun();
  h.stated([0, 0, 0, 0]);
  h.hours([0.0003, 0, 0, 0]);
  expect(fired(h, "Expensive").map(({ alert }) => alert.summary)).toEqual(["SOL pays 0.03%/h"]);
});

describe("deciding", () => {
  const market = (stated: number | null, settledRate: number | null, cap: number | null = null) => ({
    ...{ stated, settled: settledRate, cap },
  });
  const seen = (...ratios: readonly number[]) => ratios.map((ratio) => market(1e-4 * ratio, 1e-4));

  test.each([
    ["one of few markets is enough", seen(100), null, "percent"],
    ["but not one of many", [...seen(100), market(0, 0), market(0, 0)], null, null],
    ["the median counts, not one that jumped", seen(1, 1.2, 300), null, "fraction"],
    ["a sign that changed says nothing of the unit", seen(-100, 90, -120), null, "percent"],
    ["between the two nothing is decided", seen(10, 11, 12), null, null],
    ["what was decided stays then", seen(10, 11, 12), "percent", "percent"],
    ["few markets do not change it", [...seen(1, 1), market(0, 0)], "percent", "percent"],
    [
      "half of them do",
      [...seen(1, 1.1, 0.9), ...[0, 0, 0].map((it) => market(it, it))],
      "percent",
      "fraction",
    ],
    ["a rate above the cap is no fraction", [market(0.01, null, 0.002)], null, "percent"],
    ["rates about 0 are not compared", [market(1e-5, 1e-7)], null, null],
    ["nothing is decided by nothing", [], null, null],
  ] as const)("%s", (_, markets, known, unit) => {
    expect(decideFundingUnit(markets, known).unit).toBe(unit);
  });
});
