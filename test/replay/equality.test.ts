/**
 * A backtest over the recording of a live run gives exactly the alerts of that run, whatever was observed: failed
 * reads, starts after stops and crashes, reloads. The live side is the real queue and store.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { AlertChange } from "../../src/domain/alerts/alert.ts";
import type { Source } from "../../src/domain/sources.ts";
import { openStore } from "../../src/history/index.ts";
import { backtest } from "../../src/replay/backtest.ts";
import { settingsOf, startMs } from "../engine/harness.ts";
import { temporaryFolder } from "../history/folder.ts";
import { LiveRun, type Step } from "./live-run.ts";

const rules = `
rules:
  - name: Near
    scope: position
    value: position.liquidationDistance
    levels:
      info: { when: value < 0.5, resolveWhen: value > 0.55 }
      warning: { when: value < 0.3 }
      critical: { when: value < 0.15, resolveWhen: value > 0.2 }
    for: 4s
    keepFiringFor: 10s
    summary: "{{ wallet.name }} {{ position.symbol }} {{ position.side }} {{ percent(value) }} at {{ price(position.markPrice) }}"
    description: "{{ usd(trader.equity) }}, {{ duration(wallet.dataAge) }} old"
  - name: Falls
    scope: market
    when: change("market.markPrice", "30s") < -10.0
    severity: warning
    for: 0s
    keepFiringFor: 5s
    summary: "{{ market.symbol }} fell by {{ amount(change(\\"market.markPrice\\", \\"30s\\")) }}"
  - name: Shrinks
    scope: trader
    when: drawdown("trader.equity", "1m") > 0.1
    severity: critical
    for: 2s
    summary: "{{ trader.name }} lost {{ percent(drawdown(\\"trader.equity\\", \\"1m\\")) }}"
  - name: Pays
    scope: wallet
    when: sumOver("funding.payment", "1m") < -5.0
    severity: info
    for: 0s
    keepFiringFor: 0s
    summary: "{{ wallet.name }} paid {{ usd(sumOver(\\"funding.payment\\", \\"1m\\")) }}"
  - name: Poorer
    scope: wallet
    value: wallet.pnl
    levels:
      warning: { when: value < -400.0 }
      critical: { when: value < -1200.0, resolveWhen: value > -800.0 }
    for: 2s
    keepFiringFor: 6s
    noData: keep
    summary: "{{ wallet.name }} {{ usd(value) }} of {{ usd(wallet.netDeposits) }}"
  - name: Sinking
    scope: wallet
    when: change("wallet.pnl", "30s") < -300.0 || drawdown("wallet.pnl", "5m") > 0.1
    severity: info
    noData: keep
    summary: "{{ usd(wallet.pnl) }}"
  - name: Filled
    on: notification
    when: event.type == "order_filled"
    severity: info
    throttle: 20s
    summary: "{{ event.symbol }} filled"
  - name: Lost
    on: liquidation
    when: event.role == "liquidatee"
    severity: critical
    summary: "{{ wallet.name }} lost {{ event.symbol }}, margin {{ percent(trader.marginRatio) }}"
  - name: Shut
    scope: exchange
    when: "!exchange.active"
    severity: warning
    for: 3s
    summary: shut
`;

const settings = settingsOf({
  rules,
  routing: {
    receivers: ["all"],
    routes: [{ match: { severity: "critical" }, receivers: ["loud", "all"] }],
  },
  remind: { critical: { every: "20s", acknowledgedFor: "1m" } },
});

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("pass" as const),
      ms: fc.integer({ min: 100, max: 25_000 }),
      failing: fc.oneof(
        { weight: 4, arbitrary: fc.constant([]) },
        {
          weight: 1,
          arbitrary: fc.subarray(["traderState", "markets", "notifications"] as Source[], { minLength: 1 }),
        },
      ),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("mark" as const),
      usd: fc.integer({ min: 90, max: 190 }),
      live: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("hold" as const),
      size: fc.constantFrom(0, 20, -20, 60, 100),
      collateral: fc.integer({ min: 500, max: 6_000 }),
      sequence: fc.integer({ min: 1, max: 2 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("events" as const),
      kind: fc.constantFrom(
        ...(["fill", "funding", "filled", "liquidation", "collateral", "collateral"] as const),
      ),
      key: fc.integer({ min: 1, max: 6 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("status" as const), active: fc.boolean() }) },
  { weight: 1, arbitrary: fc.constant({ do: "acknowledge" as const }) },
  { weight: 2, arbitrary: fc.constant({ do: "reload" as const }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("restart" as const),
      downMs: fc.integer({ min: 1, max: 90_000 }),
      crash: fc.boolean(),
    }),
  },
);

/** Levels, a crash and a stop while something fires, a failed read, events, an acknowledgement, a reload. */
const eventful: Step[] = [
  { do: "mark", usd: 128, live: false },
  { do: "pass", ms: 12_000, failing: [] },
  { do: "events", kind: "filled", key: 1 },
  { do: "events", kind: "filled", key: 2 },
  { do: "restart", downMs: 70_000, crash: true },
  { do: "pass", ms: 9_000, failing: [] },
  { do: "acknowledge" },
  { do: "mark", usd: 121, live: true },
  { do: "pass", ms: 25_000, failing: ["traderState"] },
  { do: "events", kind: "funding", key: 6 },
  { do: "reload" },
  { do: "status", active: false },
  { do: "pass", ms: 60_000, failing: [] },
  { do: "restart", downMs: 5_000, crash: false },
  { do: "hold", size: 0, collateral: 1_500, sequence: 1 },
  { do: "events", kind: "liquidation", key: 1 },
  { do: "pass", ms: 80_000, failing: ["markets"] },
];

/** All fields of a change except row ids. */
function said({ kind, atMs, alert, details, happenedMs, stands, quietIfAcknowledged }: AlertChange) {
  const { id: _, ...rest } = alert;
  return { kind, atMs, alert: rest, details, happenedMs, stands, quietIfAcknowledged };
}

test("a backtest over the recording gives the alerts of the live run", { timeout: 240_000 }, async () => {
  let alerts = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
      using folder = temporaryFolder();
      const live = new LiveRun({ file: folder.file(), settings });
      await live.start(null);
      await live.run({ do: "pass", ms: 6_000, failing: [] });
      for (const one of steps) await live.run(one);
      const was = await live.end();
      const history = openStore({ path: folder.file(), readonly: true });
      try {
        const ran = await backtest({
          settings,
          rulesFor: () => settings.ruleSet,
          history,
          fromMs: startMs,
          toMs: live.nowMs + 1,
        });
        expect(ran.periods.map(({ resolution }) => resolution)).toEqual(["raw"]);
        expect(ran.journal.changes.map(said)).toEqual(was.changes.map(said));
        const told = ran.journal.messages.flatMap(({ receiver, covers }) =>
          covers.map(({ id }) => `${id} ${receiver}`),
        );
        expect(told.sort()).toEqual([...was.owed].sort());
        alerts += was.changes.length;
      } finally {
        await history.close();
      }
    }),
    { numRuns: Number(process.env.RUNS ?? 12), examples: [[eventful]] },
  );
  // Runs without alerts prove nothing; one of them is known to be eventful.
  expect(alerts).toBeGreaterThan(15);
});
