/** Figures told as such: what rules see of a world that is given by name, in tests of rules and over the kept past. */
import { expect, test } from "vitest";
import type { InjectedFigures } from "../../src/domain/observation.ts";
import { Harness, type HarnessOptions, startMs } from "./harness.ts";

const liquidation = `
rules:
  - name: Near
    scope: position
    value: position.liquidationDistance
    levels:
      warning: { when: value < 0.1, resolveWhen: value > 0.12 }
      critical: { when: value < 0.05 }
    for: 0s
    keepFiringFor: 0s
    summary: "{{ position.symbol }} {{ position.side }} {{ percent(value) }} of {{ usd(trader.equity) }}"
`;

class Told extends Harness {
  constructor(rules: string, over: Partial<HarnessOptions> = {}) {
    super({ rules, reloaded: true, ...over });
  }

  /** `owner: values`, all at once. */
  give(
    values: Record<string, InjectedFigures["values"]>,
    more: Record<string, Partial<InjectedFigures>> = {},
  ) {
    const owners = new Set([...Object.keys(values), ...Object.keys(more)]);
    const given = [...owners].map((owner) => ({ owner, values: values[owner] ?? {}, ...more[owner] }));
    return this.see({ kind: "figures", atMs: this.nowMs, given });
  }

  /** Lets time pass while answers go on. */
  readOn(ms: number, values: Record<string, InjectedFigures["values"]> = {}) {
    for (let i = 0; i < ms; i += 5_000) {
      this.pass(5_000);
      this.give({ main: { equity: 1 }, ...values });
    }
  }

  distance(...values: readonly number[]) {
    for (const value of values) {
      this.give({ "main/0.0/SOL": { liquidationDistance: value, side: "long" } });
      this.pass(5_000);
    }
  }
}

test("a rule is judged by what is given, and rises and falls with it", () => {
  const told = new Told(liquidation);
  told.distance(0.3, 0.09, 0.04, 0.11, 0.2);
  expect(told.told).toEqual([
    "Near main/0.0/SOL fired warning",
    "Near main/0.0/SOL rose critical",
    "Near main/0.0/SOL fell warning",
    "Near main/0.0/SOL ended warning recovered",
  ]);
  expect(told.changes[0]!.alert.summary).toBe("SOL long 9% of –");
});

test("a figure of the daemon that is given stays as it is given", () => {
  const told = new Told(
    `
rules:
  - { name: Blinded, scope: daemon, when: daemon.noDataAlerts > 0.0, for: 35s, severity: info, summary: blinded }`,
  );
  for (let i = 0; i < 10; i++) {
    told.give({ daemon: { noDataAlerts: 1 } });
    told.pass(5_000);
  }
  expect(told.told).toEqual(["Blinded daemon fired info"]);
});

test("all that is given at once is judged together", () => {
  const told = new Told(`
rules:
  - name: Both
    scope: position
    when: position.notional > trader.equity
    severity: warning
    for: 0s
    summary: x
`);
  told.give({ "main/0.0/SOL": { notional: 10 }, "main/0.0": { equity: 20 } });
  told.give({ "main/0.0/SOL": { notional: 100 }, "main/0.0": { equity: 200 } });
  expect(told.told).toEqual([]);
  told.give({ "main/0.0": { equity: 99 } });
  expect(told.told).toEqual(["Both main/0.0/SOL fired warning"]);
});

test("what is not given is not known, and what is not given again gets old", () => {
  const told = new Told(liquidation);
  told.give({ "main/0.0/SOL": { side: "long" } });
  told.pass(20_000);
  expect(told.told).toEqual([]);
  const blind = new Told(liquidation);
  blind.distance(0.04);
  blind.pass(60_000);
  expect(blind.told).toEqual(["Near main/0.0/SOL fired critical", "Blind main fired critical"]);
  blind.distance(0.04);
  expect(blind.told.slice(2)).toEqual(["Blind main ended critical recovered"]);
});

test("windows are fed, and are what history stores: a restart has them back", () => {
  const rules = `
rules:
  - name: Fall
    scope: market
    when: change("market.markPrice", "1m") < -5.0
    severity: warning
    for: 0s
    summary: x
  - name: Shrunk
    scope: position
    when: maxOver("position.notional", "1m") > position.notional * 2.0
    severity: warning
    for: 0s
    summary: x
`;
  const told = new Told(rules);
  for (let i = 0; i < 13; i++) {
    told.give({ "market/SOL": { markPrice: 100 + i }, "main/0.0/SOL": { notional: 100, size: 1 } });
    told.pass(5_000);
  }
  const ticks = told.all.flatMap((one) => one.ticks);
  expect(ticks[0]).toEqual({
    atMs: startMs,
    owner: "markets",
    series: ["market[SOL].markPrice"],
    values: [100],
  });
  expect(ticks[1]).toEqual({
    atMs: startMs,
    owner: "main/0.0",
    series: ["position[SOL].notional", "position[SOL].size"],
    values: [100, 1],
  });
  const again = new Told(rules, { atMs: told.nowMs, remembered: told.remembered });
  for (const tick of ticks) again.watch.warmUp.rememberTick(tick);
  again.give({ "market/SOL": { markPrice: 90 }, "main/0.0/SOL": { notional: 49, size: 1 } });
  expect(again.told).toEqual(["Shrunk main/0.0/SOL fired warning", "Fall market/SOL fired warning"]);
});

test("a position that is not listed, or is said to be gone, ends its alert", () => {
  const told = new Told(liquidation);
  const both = {
    "main/0.0/SOL": { liquidationDistance: 0.01 },
    "main/0.0/BTC": { liquidationDistance: 0.01 },
  };
  told.give(both, { "main/0.0": { positions: ["SOL", "BTC"] } });
  told.give({}, { "main/0.0": { positions: ["BTC"] } });
  told.give({}, { "main/0.0/BTC": { gone: true } });
  told.readOn(61_000);
  expect(told.told.sort()).toEqual([
    "Near main/0.0/BTC ended critical closed",
    "Near main/0.0/BTC fired critical",
    "Near main/0.0/SOL ended critical closed",
    "Near main/0.0/SOL fired critical",
  ]);
});

test("a position on the other side is another one", () => {
  const told = new Told(liquidation);
  told.give({ "main/0.0/SOL": { liquidationDistance: 0.01, size: 2 } });
  told.give({ "main/0.0/SOL": { liquidationDistance: 0.3, size: -1 } });
  told.readOn(61_000, { "main/0.0/SOL": { liquidationDistance: 0.3 } });
  expect(told.told).toEqual(["Near main/0.0/SOL fired critical", "Near main/0.0/SOL ended critical flipped"]);
});

test("an alert goes on over a restart; one whose position is not listed then ends", () => {
  const first = new Told(liquidation);
  const both = {
    "main/0.0/SOL": { liquidationDistance: 0.01 },
    "main/0.0/BTC": { liquidationDistance: 0.01 },
  };
  first.give(both, { "main/0.0": { positions: ["SOL", "BTC"] } });
  const second = new Told(liquidation, { atMs: first.nowMs + 10_000, remembered: first.remembered });
  second.give({ "main/0.0/SOL": { liquidationDistance: 0.2 } }, { "main/0.0": { positions: ["SOL"] } });
  second.pass(61_000);
  expect(second.told).toContain("Near main/0.0/SOL ended critical recovered");
  expect(second.told).toContain("Near main/0.0/BTC ended critical closed");
});

test("rules over other subjects are judged by what they see of this one", () => {
  const told = new Told(`
rules:
  - name: Rate
    scope: position
    when: market.fundingRate > 0.001 && position.side == "long"
    severity: info
    for: 0s
    summary: x
  - name: Many
    scope: trader
    when: trader.positions.filter(p, p.notional > 10.0).size() > 1
    severity: info
    for: 0s
    summary: x
  - name: Closed
    scope: wallet
    when: "!exchange.active"
    severity: info
    for: 0s
    summary: x
  - name: Late
    scope: daemon
    when: daemon.lag > duration("5s")
    severity: info
    for: 0s
    summary: x
  - name: Orders
    scope: trader
    when: trader.orders.exists(o, o.reduceOnly)
    severity: info
    for: 0s
    summary: x
`);
  told.give({
    "main/0.0/SOL": { notional: 20, side: "long" },
    "main/0.0/BTC": { notional: 20, side: "short" },
  });
  told.give({ "market/SOL": { fundingRate: 0.002 }, "market/BTC": { fundingRate: 0.002 } });
  told.give({ exchange: { active: false }, daemon: { lag: 6_000 } });
  // Its list of positions is as old as its own answers, and there is none yet.
  expect(told.told).toEqual([
    "Rate main/0.0/SOL fired info",
    "Closed main fired info",
    "Late daemon fired info",
  ]);
  told.give({ "main/0.0": { orders: [{ symbol: "SOL", reduceOnly: true }] } });
  expect(told.told.slice(3)).toEqual(["Many main/0.0 fired info", "Orders main/0.0 fired info"]);
});

test("nobody is judged who is not watched, and no name means nothing", () => {
  const told = new Told(liquidation);
  told.give({ "other/0.0/SOL": { liquidationDistance: 0.01 }, "a/b/c/d": { x: 1 } });
  expect(told.told).toEqual([]);
});
