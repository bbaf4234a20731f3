/** The chart of an alert: the figure that its rule compares with a number, with its samples from history. */
import { expect, test } from "vitest";
import { chartSeries } from "../src/daemon/chart-series.ts";
import type { Alert } from "../src/domain/alerts/alert.ts";
import type { Tick } from "../src/domain/observation.ts";
import type { TickQuery } from "../src/domain/ports.ts";
import { alert, atMs } from "./channels/messages.ts";
import { load as ruleSet } from "./rules/kit.ts";

const hourMs = 3_600_000;

function store(ticks: readonly Tick[]) {
  const asked: TickQuery[] = [];
  return {
    asked,
    async *ticks(query: TickQuery) {
      asked.push(query);
      for (const tick of ticks) if (tick.owner === query.owner && tick.atMs >= query.fromMs) yield tick;
    },
  };
}

const near = `
rules:
  - name: Near
    scope: position
    value: position.liquidationDistance
    levels:
      warning: { when: value < 0.1 }
      critical: { when: value < 0.05 }
    summary: near
  - name: Rate
    scope: position
    severity: warning
    when: market.fundingRate > 0.001
    summary: rate
  - name: Equity
    scope: trader
    severity: warning
    when: wallet.equity < 100.0 
    summary: low
  - name: Both
    scope: position
    severity: warning
    when: position.size > 1 && position.notional > 1
    summary: both
`;

const ticks: Tick[] = [-7, -2, -1].flatMap((hours, index) => [
  {
    ...{ atMs: atMs + hours * hourMs, owner: "main/0.0" },
    ...{ series: ["position[SOL].size", "position[SOL].liquidationDistance"], values: [1, 0.2 - index / 20] },
  },
  {
    atMs: atMs + hours * hourMs,
    owner: "markets",
    series: ["market[SOL].fundingRate"],
    values: [index / 1_000],
  },
  {
    atMs: atMs + hours * hourMs,
    owner: "main",
    series: ["wallet.equity"],
    values: [index === 1 ? Number.NaN : 120],
  },
]);

test("what is known of it now is the last point, and alternatives are levels as well", async () => {
  const rules = near.replace(
    "value < 0.05",
    "value < 0.05 || (trader.equity < 1.0 && value < 0.3) || value <= 0.02",
  );
  const now = alert({ rule: "Near", value: 0.04, dataAtMs: atMs - 15_000 });
  const found = await chartSeries(now, ruleSet(rules), store(ticks), atMs);
  expect(found?.points.at(-1)).toEqual([atMs, 0.04]);
  expect(found?.points).toHaveLength(3);
  expect(found?.thresholds).toEqual([
    { severity: "warning", value: 0.1 },
    { severity: "critical", value: 0.05 },
    { severity: "critical", value: 0.02 },
  ]);
});

test.each<[string, Partial<Alert>, number | null]>([
  ["of an old reading it stands where that was", { dataAtMs: atMs - hourMs / 2 }, -hourMs / 2],
  ["of the newest sample beside it", { dataAtMs: atMs - hourMs }, -hourMs + 1],
  ["of what is older than the samples there is none", { dataAtMs: atMs - 2 * hourMs }, null],
  ["what is no number is none", { value: Number.POSITIVE_INFINITY }, null],
  ["what is not known is none", { value: null }, null],
  ["what is over is none", { state: "ended" }, null],
])("%s", async (_what, parts, afterMs) => {
  const given = alert({ rule: "Near", value: 0.04, dataAtMs: atMs - 1_000, ...parts });
  const found = await chartSeries(given, ruleSet(near), store(ticks), atMs);
  const more = afterMs === null ? [] : [atMs + afterMs];
  expect(found?.points.map(([ms]) => ms)).toEqual([atMs - 2 * hourMs, atMs - hourMs, ...more]);
});

test.each([
  ["Near", "main/0.0/SOL", "main/0.0", "ratio", [0.15, 0.1], [0.1, 0.05]],
  ["Rate", "main/0.0/SOL", "markets", "rate", [0.001, 0.002], [0.001]],
])("%s of %s", async (rule, subject, owner, unit, values, limits) => {
  const from = store(ticks);
  const found = await chartSeries(alert({ rule, subject, value: null }), ruleSet(near), from, atMs);
  expect(from.asked).toEqual([{ owner, fromMs: atMs - 6 * hourMs, toMs: atMs }]);
  expect(found?.unit).toBe(unit);
  expect(found?.points.map(([, value]) => Math.round(value * 1e6) / 1e6)).toEqual(values);
  expect(found?.thresholds.map(({ value }) => value)).toEqual(limits);
});

test.each([
  ["Both", "main/0.0/SOL"],
  ["Equity", "main/0.0"],
  ["Near", "main/0.0/BTC"],
  ["Near", "exchange"],
  ["NoSuchRule", "main/0.0/SOL"],
])("%s of %s has none", async (rule, subject) => {
  expect(await chartSeries(alert({ rule, subject }), ruleSet(near), store(ticks), atMs)).toBeNull();
});
