/** Windows that reach back further than samples are read have the same values as if all samples had been read. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Tick } from "../../src/domain/observation.ts";
import type { Store } from "../../src/domain/ports.ts";
import { changes } from "../../src/domain/stored/changes.ts";
import { RollUpBlocks, type RollUpQuery } from "../../src/domain/stored/history.ts";
import { type History, openStore } from "../../src/history/index.ts";
import { restoreWatch } from "../../src/ingest/restore-watch.ts";
import { marketConfig, prices, settingsOf, startMs, subaccount } from "../engine/harness.ts";
import { temporaryFolder } from "../history/folder.ts";

const [minuteMs, hourMs, dayMs] = [60_000, 3_600_000, 86_400_000];

/** One rule for each expression, which always fires and reports the value. */
const rulesSaying = (expressions: readonly string[]) =>
  `rules:\n${expressions
    .map(
      (expression, i) =>
        `  - { name: R${i}, scope: market, value: '${expression}', when: value > -1e12, severity: info, summary: one, staleAfter: 30s }\n`,
    )
    .join("")}`;

const functions = ["minOver", "maxOver", "avgOver", "change", "ago", "drawdown"];
const expressions = [
  ...functions.flatMap((name) =>
    ["2h", "90m", "26h"].map((span) => `${name}("market.markPrice", "${span}")`),
  ),
  'maxOver("market.markPrice", "today")',
  'minOver("market.markPrice", "30m")',
  'avgOver("market.markPrice", "1h")',
];

async function sayings(
  rules: string,
  store: Store,
  nowMs: number,
): Promise<ReadonlyMap<string, number | null>> {
  const watch = await restoreWatch(settingsOf({ rules }), store, nowMs);
  watch.observe({ kind: "marketConfig", atMs: nowMs, markets: [marketConfig()] });
  const { changes: seen } = watch.observe({ kind: "prices", atMs: nowMs, markets: [prices(150)] });
  return new Map(seen.alerts.map(({ rule, value }) => [expressions[Number(rule.slice(1))] ?? rule, value]));
}

/** The same history with one minute for each sample: the values of windows that are fed samples only. */
function bySample(store: History, ticks: readonly Tick[]): Store {
  return Object.assign(Object.create(store) as Store, {
    ...bound(store),
    async *rollupBlocks({ owner, resolution, fromMs, toMs = Number.POSITIVE_INFINITY }: RollUpQuery) {
      if (resolution === "hour") return;
      const blocks = new RollUpBlocks(owner);
      for (const { atMs, series, values } of ticks) {
        if (
          owner !== "markets" ||
          Math.floor(atMs / minuteMs) * minuteMs < fromMs ||
          atMs > toMs + minuteMs - 1
        )
          continue;
        const value = values[0]!;
        const one = {
          count: 1,
          min: value,
          max: value,
          sum: value,
          sumSquares: value ** 2,
          last: value,
          lastMs: atMs,
        };
        blocks.add({ atMs: Math.floor(atMs / minuteMs) * minuteMs, series, stats: [one] });
      }
      yield* [blocks.take()].filter((block) => block !== null);
    },
  });
}

function bound(store: History): Partial<Store> {
  const names = [
    "ticks",
    "tickOwners",
    "events",
    "eventByKey",
    "facts",
    "milestones",
    "ruleStates",
    "alerts",
  ] as const;
  const more = ["alertChanges", "deliveryItems", "keep", "lastIds", "lastAliveMs"] as const;
  return Object.fromEntries(
    [...names, ...more].map((name) => [name, (store[name] as () => unknown).bind(store)]),
  );
}

const series = ["market[SOL].markPrice"];
/** Whole prices, so that sums do not depend on their order; with gaps without samples. */
const past = fc
  .array(
    fc.record({
      price: fc.integer({ min: 50, max: 300 }),
      gapMs: fc.constantFrom(2_000, 5_000, 5_000, 20_000, 70_000, 20 * minuteMs),
    }),
    {
      minLength: 50,
      maxLength: 800,
    },
  )
  .map((steps) => {
    let atMs = startMs;
    const ticks: Tick[] = [];
    for (const { price, gapMs } of steps) {
      atMs -= gapMs;
      ticks.unshift({ atMs, owner: "markets", series, values: [price] });
    }
    return ticks;
  });

test("what functions of history come to after a start does not depend on whether it was fed samples or minutes", {
  timeout: 120_000,
}, async () => {
  const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31);
  console.log(`windows from minutes: SEED=${seed}`);
  const rules = rulesSaying(expressions);
  await fc.assert(
    fc.asyncProperty(past, fc.double({ min: 0, max: 1, noNaN: true }), async (ticks, packed) => {
      using folder = temporaryFolder();
      const store = openStore({ path: folder.file(), retention: { samplesMs: null } });
      const cut = Math.floor(ticks.length * packed);
      await store.commit([changes({ ticks: ticks.slice(0, cut) })]);
      await store.maintain(startMs + 30 * dayMs, 60_000);
      await store.commit([changes({ ticks: ticks.slice(cut) })]);
      const byMinute = await sayings(rules, store, startMs);
      expect(byMinute.size).toBeGreaterThan(0);
      expect(byMinute).toEqual(await sayings(rules, bySample(store, ticks), startMs));
      await store.close();
    }),
    { seed, numRuns: 15 },
  );
});

/**
 * Samples of a wallet: profit, which is unknown at times, and equity, which deposits and withdrawals change as well,
 * USD.
 */
const walletPast = fc
  .array(
    fc.record({
      moveUsd: fc.integer({ min: -300, max: 300 }),
      paidUsd: fc.oneof(
        { weight: 3, arbitrary: fc.constant(0) },
        { weight: 1, arbitrary: fc.integer({ min: -1_500, max: 1_500 }) },
      ),
      known: fc.oneof(
        { weight: 12, arbitrary: fc.constant(true) },
        { weight: 1, arbitrary: fc.constant(false) },
      ),
      gapMs: fc.constantFrom(2_000, 5_000, 5_000, 20_000, 70_000),
    }),
    { minLength: 5, maxLength: 400 },
  )
  .map((steps) => {
    let atMs = startMs - steps.reduce((sum, { gapMs }) => sum + gapMs, 0);
    let pnl = 0;
    let paidUsd = 20_000;
    return steps.map((step): Tick => {
      pnl += step.moveUsd;
      paidUsd += step.paidUsd;
      const values = [paidUsd + pnl, step.known ? pnl : Number.NaN];
      const tick = { atMs, owner: "main", series: ["wallet.equity", "wallet.pnl"], values };
      atMs += step.gapMs;
      return tick;
    });
  });

test("after a start a fall of profit is measured against the equity of the peak, whatever was paid in or out in its minute", {
  timeout: 120_000,
}, async () => {
  const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31);
  console.log(`drawdown from minutes: SEED=${seed}`);
  const rules =
    'rules:\n  - { name: Fall, scope: wallet, value: \'drawdown("wallet.pnl", "24h")\', when: value > -1.0, severity: info, summary: one }\n';
  await fc.assert(
    fc.asyncProperty(walletPast, fc.double({ min: 0, max: 1, noNaN: true }), async (ticks, packed) => {
      using folder = temporaryFolder();
      const store = openStore({ path: folder.file(), retention: { samplesMs: null } });
      const cut = Math.floor(ticks.length * packed);
      await store.commit([changes({ ticks: ticks.slice(0, cut) })]);
      await store.maintain(startMs + 30 * dayMs, 60_000);
      await store.commit([changes({ ticks: ticks.slice(cut) })]);
      const watch = await restoreWatch(settingsOf({ rules }), store, startMs);
      await store.close();
      watch.observe({ kind: "marketConfig", atMs: startMs, markets: [marketConfig()] });
      watch.observe({ kind: "prices", atMs: startMs, markets: [prices(150)] });
      watch.observe({
        kind: "events",
        source: "collateral",
        wallet: "main",
        atMs: startMs,
        events: [],
        coversMs: 0,
      });
      const { changes: seen } = watch.observe({
        kind: "accounts",
        wallet: "main",
        pdaIndex: 0,
        atMs: startMs,
        slot: 1,
        slotIndex: 0,
        subaccounts: [subaccount(20_000, [])],
      });
      // Profit begins at 0 with this answer.
      let [peak, equityUsd] = [0, 20_000];
      for (const { values } of ticks.toReversed())
        if (values[1]! > peak) [equityUsd, peak] = [values[0]!, values[1]!];
      expect(seen.alerts[0]?.value).toBeCloseTo(peak / equityUsd, 9);
    }),
    { seed, numRuns: 30 },
  );
});

test("a window longer than samples are kept reads minutes, and hours where these are gone", async () => {
  using folder = temporaryFolder();
  const retention = { samplesMs: 2 * hourMs, minutesMs: 10 * hourMs };
  const store = openStore({ path: folder.file(), retention });
  // The highest price is 30 hours old, the lowest 5 hours.
  const priceAt = (agoMs: number) => (agoMs === 30 * hourMs ? 400 : agoMs === 5 * hourMs ? 20 : 100);
  const ticks: Tick[] = [];
  for (let agoMs = 40 * hourMs; agoMs > 0; agoMs -= 20_000)
    ticks.push({ atMs: startMs - agoMs, owner: "markets", series, values: [priceAt(agoMs)] });
  for (let from = 0; from < ticks.length; from += 600) {
    const some = ticks.slice(from, from + 600);
    await store.commit([changes({ ticks: some })]);
    await store.maintain(some.at(-1)!.atMs + 2 * hourMs, 60_000);
  }
  await store.maintain(startMs, 60_000);
  const firstOf = async (read: AsyncIterable<{ readonly atMs: number }>) => {
    for await (const { atMs } of read) return (startMs - atMs) / hourMs;
    return 0;
  };
  expect(await firstOf(store.ticks({ owner: "markets", fromMs: 0 }))).toBeLessThan(7);
  const minutesBack = await firstOf(store.rollups({ owner: "markets", resolution: "minute", fromMs: 0 }));
  expect(minutesBack).toBeGreaterThan(8);
  expect(minutesBack).toBeLessThan(20);
  const said = async (expression: string) =>
    [...(await sayings(rulesSaying([expression]), store, startMs)).values()][0];
  expect(await said('maxOver("market.markPrice", "36h")')).toBe(400);
  expect(await said('maxOver("market.markPrice", "29h")')).toBe(150);
  expect(await said('minOver("market.markPrice", "36h")')).toBe(20);
  expect(await said('minOver("market.markPrice", "4h")')).toBe(100);
  expect(await said('ago("market.markPrice", "35h")')).toBe(100);
  expect(Number(await said('avgOver("market.markPrice", "36h")'))).toBeCloseTo(100, 0);
  await store.close();
});
