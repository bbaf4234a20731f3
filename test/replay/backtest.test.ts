/** Backtests over recordings, samples and roll-ups, and over the gaps between them. */
import { expect, test } from "vitest";
import type { Observation, Tick } from "../../src/domain/observation.ts";
import type { FactChange, Milestone } from "../../src/domain/stored/changes.ts";
import { type RollUp, resolutionMs } from "../../src/domain/stored/history.ts";
import { type Backtested, type BacktestHistory, backtest } from "../../src/replay/backtest.ts";
import { Journal } from "../../src/replay/journal.ts";
import { reportOf } from "../../src/replay/report.ts";
import { mergeByTime } from "../../src/replay/stored-observations.ts";
import {
  Harness,
  mainWallet,
  marketConfig,
  notification,
  position,
  prices,
  rulesOf,
  scheduleMs,
  settingsOf,
  startMs,
  subaccount,
} from "../engine/harness.ts";

const rules = `
rules:
  - name: Near
    scope: position
    value: position.liquidationDistance
    levels:
      warning: { when: value < 0.2 }
      critical: { when: value < 0.1 }
    for: 0s
    keepFiringFor: 0s
    summary: "{{ position.side }} {{ percent(value) }}"
`;
const everyMs = scheduleMs;
const settings = settingsOf({
  rules,
  routing: { receivers: ["all"] },
  remind: { warning: "never", critical: "never" },
});

/** The records of a daemon about an account with one position whose mark follows `usd`. */
class Left {
  readonly ticks: Tick[] = [];
  readonly facts: FactChange[] = [];
  readonly recorded: Observation[] = [];
  readonly milestones: Milestone[] = [];
  readonly #harness: Harness;

  constructor(of = rules) {
    this.#harness = new Harness({ rules: of, atMs: startMs });
  }

  /** @param sequence of the position; null: there is none */
  run(fromMs: number, toMs: number, usd: (atMs: number) => number, sequence: string | null = "7"): this {
    for (let atMs = fromMs; atMs < toMs; atMs += 5_000) {
      const positions = sequence === null ? [] : [{ ...position(60, 150), sequence }];
      const slot = Math.floor(atMs / 400);
      const seen: Observation[] = [
        { kind: "marketConfig", atMs, markets: [marketConfig()] },
        { kind: "prices", atMs, markets: [prices(usd(atMs))] },
        {
          kind: "accounts",
          wallet: "main",
          pdaIndex: 0,
          atMs,
          slot,
          slotIndex: 0,
          subaccounts: [subaccount(2_500, positions, { sequence: slot })],
        },
      ];
      this.recorded.push(...seen);
      for (const one of seen) {
        const { ticks, facts } = this.#harness.see(one);
        this.ticks.push(...ticks);
        this.facts.push(...facts);
      }
    }
    return this;
  }

  /**
   * @param samplesFromMs before it only minutes are kept
   * @param rawFromMs from it on everything was recorded
   */
  history({
    samplesFromMs = startMs,
    minutesFromMs = startMs,
    rawFromMs = Number.POSITIVE_INFINITY,
  } = {}): BacktestHistory {
    const { ticks, facts, recorded, milestones } = this;
    const raw = recorded.filter(({ atMs }) => atMs >= rawFromMs);
    const toMs = raw.at(-1)?.atMs ?? 0;
    return {
      tickOwners: async () => [...new Set(ticks.map(({ owner }) => owner))],
      async *ticks({ owner, fromMs, toMs: until = Number.POSITIVE_INFINITY }) {
        for (const tick of ticks)
          if (tick.owner === owner && tick.atMs >= Math.max(fromMs, samplesFromMs) && tick.atMs <= until)
            yield tick;
      },
      async *rollups({ owner, resolution, fromMs, toMs: until = Number.POSITIVE_INFINITY }) {
        const widthMs = resolutionMs[resolution];
        const keptMs = resolution === "minute" ? minutesFromMs : startMs;
        const buckets = Map.groupBy(
          ticks.filter((tick) => tick.owner === owner),
          ({ atMs }) => Math.floor(atMs / widthMs) * widthMs,
        );
        for (const [atMs, of] of buckets)
          if (atMs >= Math.max(fromMs, keptMs) && atMs <= until) yield rollUp(atMs, of);
      },
      async *recording() {
        yield* raw;
      },
      recorded: async () => (raw.length === 0 ? null : { fromMs: rawFromMs, toMs, gaps: [] }),
      events: async () => [],
      eventByKey: async () => null,
      milestones: async () => milestones,
      keep: async () => new Map(),
      factHistory: async ({ toMs: until = Number.POSITIVE_INFINITY }) =>
        facts.filter(({ atMs }) => atMs <= until),
    };
  }
}

function rollUp(atMs: number, of: readonly Tick[]): RollUp {
  const last = of.at(-1)!;
  const stats = last.values.map((value) => ({
    count: 1,
    min: value,
    max: value,
    sum: value,
    sumSquares: value * value,
    last: value,
    lastMs: last.atMs,
  }));
  return { atMs, owner: last.owner, series: last.series, stats };
}

const run = (history: BacktestHistory, toMs: number, fromMs = startMs) =>
  backtest({
    settings,
    rulesFor: (leastMs) => rulesOf(rules, [mainWallet], slower(leastMs)),
    history,
    fromMs,
    toMs,
  });

const slower = (leastMs: number) =>
  Object.fromEntries(
    Object.entries(everyMs).map(([source, ms]) => [source, Math.max(ms, leastMs)]),
  ) as typeof everyMs;

/** `+30s Near fired warning`. */
function told({ journal }: Backtested): string[] {
  return journal.changes.map(
    ({ atMs, kind, alert }) =>
      `+${(atMs - startMs) / 1_000}s ${alert.rule} ${kind} ${alert.severity}${alert.ending ? ` ${alert.ending}` : ""}`,
  );
}

const minute = 60_000;
/** Near from the 10th minute to the 20th, nearer still in between. */
const dip = (atMs: number): number => {
  const at = (atMs - startMs) / minute;
  return at < 10 || at >= 20 ? 160 : at >= 13 && at < 15 ? 118 : 130;
};

test("the best that is kept of each time is judged, and an alert goes on from one to the next", async () => {
  const left = new Left().run(startMs, startMs + 30 * minute, dip);
  const history = left.history({
    minutesFromMs: startMs + 5 * minute,
    samplesFromMs: startMs + 12 * minute,
    rawFromMs: startMs + 17 * minute,
  });
  const ran = await run(history, startMs + 30 * minute);
  expect(ran.periods.map(({ resolution, fromMs }) => `${resolution} ${(fromMs - startMs) / minute}`)).toEqual(
    ["minute 5", "samples 12", "raw 17"],
  );
  // The last figures of the 10th minute are known at its end.
  expect(told(ran)).toEqual([
    "+659.999s Near fired warning",
    "+780s Near rose critical",
    "+900s Near fell warning",
    "+1200s Near ended warning recovered",
  ]);
  expect(ran.journal.changes.at(-1)!.alert.sinceMs).toBe(ran.journal.changes[0]!.alert.sinceMs);
});

test("what is kept by the hour only is judged by its last figures, known at the end of the hour", async () => {
  const hour = 60 * minute;
  /**
   * Near from the second hour to the fourth; a dip of half an hour that is over by the end of its hour is not visible
   * in hours.
   */
  const slow = (atMs: number): number => {
    const at = (atMs - startMs) / hour;
    return at >= 1.5 && at < 3.5 ? 130 : at >= 4.2 && at < 4.7 ? 118 : 160;
  };
  const left = new Left().run(startMs, startMs + 7 * hour, slow);
  const history = left.history({ minutesFromMs: startMs + 5 * hour, samplesFromMs: startMs + 6 * hour });
  const ran = await run(history, startMs + 7 * hour);
  expect(ran.periods.map(({ resolution, fromMs }) => `${resolution} ${(fromMs - startMs) / hour}`)).toEqual([
    "hour 0",
    "minute 5",
    "samples 6",
  ]);
  expect(told(ran)).toEqual(["+7199.999s Near fired warning", "+14399.999s Near ended warning recovered"]);
});

test("samples give the times that the observations give", async () => {
  const left = new Left().run(startMs, startMs + 30 * minute, dip);
  const samples = await run(left.history(), startMs + 30 * minute);
  const raw = await run(left.history({ rawFromMs: startMs }), startMs + 30 * minute);
  expect(samples.periods).toHaveLength(1);
  expect(told(samples)).toEqual(told(raw));
  expect(told(raw)).toHaveLength(4);
});

test("where the recording begins a position is the one that it was", async () => {
  const left = new Left()
    .run(startMs, startMs + 12 * minute, dip, "7")
    .run(startMs + 12 * minute, startMs + 14 * minute, dip, "8");
  // Another position of its name from the 12th minute on, which samples do not show.
  const ran = await run(left.history({ rawFromMs: startMs + 13 * minute }), startMs + 14 * minute);
  expect(told(ran)).toEqual(["+600s Near fired warning", "+780s Near rose critical"]);
});

test("during downtime no deadline passes and nothing is sent", async () => {
  const left = new Left()
    .run(startMs, startMs + 11 * minute, dip)
    .run(startMs + 25 * minute, startMs + 30 * minute, dip);
  const value = JSON.stringify({ version: "1", lastAliveMs: startMs + 11 * minute });
  left.milestones.push({ atMs: startMs + 25 * minute - 1_000, kind: "started", value });
  const ran = await run(left.history(), startMs + 30 * minute);
  const down = { fromMs: startMs + 11 * minute, toMs: startMs + 25 * minute - 1_000 };
  expect(ran.down).toEqual([{ ...down, stopped: false }]);
  expect(told(ran)).toEqual([
    "+600s Near fired warning",
    "+1499s NotWatched fired warning",
    "+1500s Near ended warning recovered",
  ]);
});

test.each([
  { end: "stop", sentAtS: 660 },
  { end: "crash", sentAtS: 1_499 },
])(
  "what waits for its group at a $end of the kept past leaves after $sentAtS s",
  async ({ end, sentAtS }) => {
    const left = new Left()
      .run(startMs, startMs + 11 * minute, dip)
      .run(startMs + 25 * minute, startMs + 30 * minute, dip);
    const fromMs = startMs + 11 * minute;
    if (end === "stop") left.milestones.push({ atMs: fromMs, kind: "stopped", value: "{}" });
    const value = JSON.stringify({ version: "1", lastAliveMs: fromMs });
    left.milestones.push({ atMs: startMs + 25 * minute - 1_000, kind: "started", value });
    const routing = { receivers: ["all"], groupWait: "5m", groupInterval: "5m" };
    const ran = await backtest({
      settings: { ...settings, routing: settingsOf({ rules, routing }).routing },
      rulesFor: (leastMs) => rulesOf(rules, [mainWallet], slower(leastMs)),
      history: left.history(),
      fromMs: startMs,
      toMs: startMs + 30 * minute,
    });
    const near = ran.journal.messages.find(({ changes }) =>
      changes.some(({ alert }) => alert.rule === "Near"),
    );
    expect((near!.atMs - startMs) / 1_000).toBe(sentAtS);
  },
);

test("samples from before the first start were fetched and are not judged", async () => {
  const left = new Left().run(startMs, startMs + 20 * minute, dip);
  const value = JSON.stringify({ version: "1", lastAliveMs: null });
  left.milestones.push({ atMs: startMs + 16 * minute, kind: "started", value });
  const ran = await run(left.history(), startMs + 20 * minute);
  expect(ran.periods).toEqual([
    { resolution: "samples", fromMs: startMs + 16 * minute, toMs: startMs + 20 * minute },
  ]);
  expect(told(ran)).toEqual(["+960s Near fired warning"]);
});

test("what rules read of accounts is kept in samples, so that they can be judged by them", async () => {
  const text = `
rules:
  - name: Joint
    scope: trader
    when: trader.adverseMoveToLiquidation < 0.1
    severity: critical
    for: 0s
    keepFiringFor: 0s
    summary: "{{ percent(trader.adverseMoveToLiquidation) }}"
`;
  const left = new Left(text).run(startMs, startMs + 30 * minute, dip);
  const ruleSet = rulesOf(text);
  const ran = await backtest({
    settings: { ...settings, ruleSet },
    rulesFor: () => ruleSet,
    history: left.history(),
    fromMs: startMs,
    toMs: startMs + 30 * minute,
  });
  expect(ran.unkept).toEqual([]);
  expect(told(ran)).toEqual(["+780s Joint fired critical", "+900s Joint ended critical recovered"]);
});

test("fields that samples do not keep are named with the rules that read them", async () => {
  const text = `${rules}
  - name: Bare
    scope: position
    when: "!position.hasStopLoss"
    severity: info
    summary: x
`;
  const left = new Left().run(startMs, startMs + minute, dip);
  const ruleSet = rulesOf(text);
  const ran = await backtest({
    settings: { ...settings, ruleSet },
    rulesFor: () => ruleSet,
    history: left.history(),
    fromMs: startMs,
    toMs: startMs + minute,
  });
  expect(ran.unkept).toEqual([{ rule: "Bare", fields: ["position.hasStopLoss"] }]);
});

test("what comes in order from many is in order together", async () => {
  async function* of(...times: number[]) {
    for (const atMs of times) yield { atMs };
  }
  const all: number[] = [];
  for await (const { atMs } of mergeByTime([of(1, 4, 4, 9), of(), of(2, 4, 8), of(0, 10)])) all.push(atMs);
  expect(all).toEqual([0, 1, 2, 4, 4, 4, 8, 9, 10]);
});

test("what waits for its group counts as the one message that it leaves with", () => {
  const harness = new Harness({
    rules: `
rules:
  - name: Filled
    on: notification
    when: event.type == "order_filled"
    severity: info
    summary: "filled"
`,
    routing: { receivers: ["all"], groupWait: "10s", groupInterval: "1m" },
  });
  const journal = new Journal({ stormFold: 3 });
  const see = (id: string) =>
    journal.take(harness.events("notifications", [notification(id, "order_filled")]), harness.nowMs);
  see("first");
  harness.nowMs += 4_000;
  see("with it");
  harness.nowMs += 30_000;
  see("after it");
  journal.delivery.finish();
  const ran: Backtested = {
    ...{ fromMs: startMs, toMs: harness.nowMs, journal, periods: [], down: [], gaps: [] },
    ...{ liquidations: [], unkept: [], unread: [] },
  };
  const report = reportOf({
    ...{ ran, rules: new Set(["Filled"]), timezone: "UTC", lead: () => "" },
  });
  expect(report.messages.map(({ atMs, title }) => [atMs - startMs, title])).toEqual([
    [10_000, "2 × Filled of main/0.0/SOL"],
    [70_000, "filled"],
  ]);
  expect(report.rules).toMatchObject([{ alerts: 3, messages: 3 }]);
});
