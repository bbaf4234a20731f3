/**
 * What the rule language costs: windows against a plain field, many rules against few, a long past against a short one.
 * Prints one JSON line. Run: node test/bench/rules/language.ts [days of the long past]
 */
import { type Source, sources } from "../../../src/domain/observation.ts";
import {
  type ConditionRule,
  createWindow,
  type Env,
  type Facts,
  judge,
  loadRules,
  type RuleSet,
} from "../../../src/rules/index.ts";
import { Harness, position, rulesOf, subaccount } from "../../watch/harness.ts";
import { cpuUs } from "../daemon/figures.ts";

export interface LanguageResult {
  /** Judging one rule, ns: over a plain field, and over 24 h windows by function. */
  readonly plainNs: number;
  readonly windowNs: Readonly<Record<string, number>>;
  readonly feedNs: Readonly<Record<string, number>>;
  /** A condition of four parts as an expression, and as a function in TypeScript, ns. */
  readonly expressionNs: number;
  readonly functionNs: number;
  /** One account's answer through the tick, µs. */
  readonly tenRulesUs: number;
  readonly twoHundredRulesUs: number;
  /** Judgements an answer led to, of rules that read it and of rules that read something else. */
  readonly judged: number;
  readonly judgedOthers: number;
  readonly others: number;
  /** One answer with 24 h windows, µs, after a day and after the long past. */
  readonly dayUs: number;
  readonly longUs: number;
  readonly longDays: number;
}

const stepMs = 5_000;
const startMs = Date.UTC(2026, 0, 1);
const scheduleMs = Object.fromEntries(sources.map((source) => [source, stepMs])) as Record<Source, number>;
const functions = [
  'minOver("trader.marginRatio", "24h")',
  'maxOver("trader.marginRatio", "24h")',
  'avgOver("trader.marginRatio", "24h")',
  'change("trader.marginRatio", "24h")',
  'drawdown("trader.marginRatio", "24h")',
  'stddevOver("trader.marginRatio", "24h")',
  'quantileOver("trader.marginRatio", 0.9, "24h")',
];

function ruleOf(figure: string): ConditionRule {
  const text = `rules: [ { name: R, scope: trader, severity: critical, summary: s, when: '${figure} > 5.0' } ]`;
  const loaded = loadRules({
    files: [{ name: "bench.yaml", text }],
    overrides: {},
    scheduleMs,
    wallets: [],
    timezone: "UTC",
  });
  if ("problems" in loaded) throw new Error(JSON.stringify(loaded.problems));
  return loaded.ruleSet.conditions[0]!;
}

let sink = 0;

/** Time of judging one rule at each step of a series at 5 s, and of feeding its window, ns. */
function timed(rule: ConditionRule): { judgeNs: number; feedNs: number } {
  const [spec] = rule.windows;
  const facts: Facts = { values: { marginRatio: 0.3 }, seenMs: {} };
  const none: Facts = { values: {}, seenMs: {} };
  const steps = 40_000;
  const day = 86_400_000 / stepMs;
  const valueAt = (i: number) => 0.3 + ((i * 7_919) % 1_009) / 10_000;
  const run = (judging: boolean, round: number): number => {
    const window = spec === undefined ? null : createWindow(spec, "UTC");
    const env: Env = {
      nowMs: startMs,
      trader: facts,
      exchange: none,
      daemon: none,
      markets: () => undefined,
      window: () => window!.read(env.nowMs),
    };
    let i = round * 1_000;
    const step = (judged: boolean) => {
      env.nowMs = startMs + i * stepMs;
      const value = valueAt(i++);
      facts.values.marginRatio = value;
      for (const source of sources) facts.seenMs[source] = env.nowMs;
      window?.push(env.nowMs, value);
      if (judged && judge(rule, env, null).kind === "unknown") sink++;
    };
    for (let n = 0; n < day + 10; n++) step(judging);
    const began = cpuUs();
    for (let n = 0; n < steps; n++) step(judging);
    return ((cpuUs() - began) * 1e3) / steps;
  };
  let [fed, both] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let round = 0; round < 10; round++) {
    fed = Math.min(fed, run(false, round));
    both = Math.min(both, run(true, round));
  }
  return { judgeNs: both - fed, feedNs: fed };
}

/** The same condition as an expression and as a programmer would write it. */
function expressionCost(): { expressionNs: number; functionNs: number } {
  const rule = ruleOf("trader.equity > 1.0 && trader.marginRatio < 0.9 && 2.0 * trader.freeCollateral");
  const facts: Facts = { values: { equity: 5, marginRatio: 0.3, freeCollateral: 2 }, seenMs: {} };
  const none: Facts = { values: {}, seenMs: {} };
  const env: Env = {
    nowMs: startMs,
    trader: facts,
    exchange: none,
    daemon: none,
    markets: () => undefined,
    window: () => 0,
  };
  for (const source of sources) facts.seenMs[source] = startMs;
  env.allFresh = true;
  const { run } = rule.levels[0]!.when;
  const written = (one: Env): boolean => {
    const v = one.trader!.values as Record<string, number>;
    return v.equity! > 1 && v.marginRatio! < 0.9 && 2 * v.freeCollateral! > 5;
  };
  const rounds = 400_000;
  const cost = (work: (one: Env) => unknown): number => {
    const began = cpuUs();
    for (let i = 0; i < rounds; i++) {
      facts.values.freeCollateral = i % 7;
      if (work(env) === true) sink++;
    }
    return ((cpuUs() - began) * 1e3) / rounds;
  };
  let [expressionNs, functionNs] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let round = 0; round < 12; round++) {
    expressionNs = Math.min(expressionNs, cost(run));
    functionNs = Math.min(functionNs, cost(written));
  }
  return { expressionNs, functionNs };
}

const conditions = [
  "trader.marginRatio > 8.0",
  "trader.leverage > 100.0",
  "trader.equity < -1000000.0",
  "trader.adverseMoveToLiquidation < 0.000001",
  "trader.freeCollateral < -1.0",
];

/** A mix of rules over accounts and positions that do not fire. */
function rulesText(count: number): string {
  const rules = Array.from({ length: count }, (_, i) =>
    i % 2 === 0
      ? `  - { name: T${i}, scope: trader, severity: warning, summary: s, noData: keep, when: '${conditions[(i / 2) % conditions.length]} && trader.netNotional > ${i}.5' }`
      : `  - { name: P${i}, scope: position, severity: warning, summary: s, noData: keep, when: 'position.liquidationDistance < 0.0${i} && position.leverage > 50.0' }`,
  );
  return `rules:\n${rules.join("\n")}\n`;
}

function answers(harness: Harness, count: number, from: number): void {
  for (let i = 0; i < count; i++) {
    harness.nowMs += stepMs;
    if (i % 4 === 0) {
      harness.config();
      harness.mark(150);
    }
    harness.account([subaccount(10_000 + ((from + i) % 97), [position(10 + ((from + i) % 7), 150)])]);
    harness.all.length = 0;
  }
}

/** µs an answer takes, the best of several rounds. */
function throughTick(rules: string | RuleSet): number {
  const harness = new Harness({ rules });
  answers(harness, 2_000, 0);
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 10; round++) {
    const began = cpuUs();
    answers(harness, 2_000, round);
    best = Math.min(best, (cpuUs() - began) / 2_000);
  }
  return best;
}

/** How many conditions are looked at for one answer of an account. */
function counted(): { judged: number; judgedOthers: number; others: number } {
  const set = rulesOf(
    `${rulesText(100)}${Array.from({ length: 100 }, (_, i) => `  - { name: F${i}, scope: position, severity: warning, summary: s, noData: keep, when: 'market.fundingRate > 5.0 && market.dayVolume > 1e15' }`).join("\n")}\n`,
  );
  const counts = { judged: 0, judgedOthers: 0 };
  for (const rule of set.conditions)
    for (const level of rule.levels) {
      const { when } = level;
      const { run } = when;
      const kind = rule.name.startsWith("F") ? "judgedOthers" : "judged";
      Object.assign(when, {
        run: (env: Env) => {
          counts[kind]++;
          return run(env);
        },
      });
    }
  const harness = new Harness({ rules: set });
  answers(harness, 8, 0);
  harness.see({
    kind: "fundingRate",
    atMs: harness.nowMs,
    symbol: "SOL",
    ratePerHour: 0.0001,
    exchangeMs: 0,
  });
  harness.pass(2_000);
  counts.judged = counts.judgedOthers = 0;
  harness.account([subaccount(10_000, [position(11, 150)])]);
  return { ...counts, others: 100 };
}

/** µs an answer takes after a past of so many days at 5 s. */
function afterDays(days: number): number {
  const names = functions.map(
    (figure, i) =>
      `  - { name: W${i}, scope: trader, severity: warning, summary: s, noData: keep, when: '${figure} > 5.0' }`,
  );
  const harness = new Harness({ rules: `rules:\n${names.join("\n")}\n` });
  answers(harness, 1, 0);
  const seen = harness.watch.observe({
    kind: "accounts",
    wallet: "main",
    pdaIndex: 0,
    atMs: harness.nowMs,
    slot: 1_000,
    slotIndex: 0,
    subaccounts: [subaccount(10_000, [position(10, 150)])],
  });
  harness.slot = 1_000;
  const [tick] = seen.changes.ticks;
  const { series, owner } = tick!;
  const at = series.indexOf("trader.marginRatio");
  const values = [...tick!.values];
  for (let i = 1; i < (days * 86_400_000) / stepMs; i++) {
    values[at] = 0.3 + ((i * 7_919) % 1_009) / 10_000;
    harness.watch.rememberTick({ atMs: harness.nowMs + i * stepMs, owner, series, values });
  }
  harness.nowMs += days * 86_400_000;
  answers(harness, 2_000, 0);
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 10; round++) {
    const began = cpuUs();
    answers(harness, 2_000, round);
    best = Math.min(best, (cpuUs() - began) / 2_000);
  }
  return best;
}

const longDays = Number(process.argv[2] ?? 365);
const plain = timed(ruleOf("trader.marginRatio"));
const windowNs: Record<string, number> = {};
const feedNs: Record<string, number> = {};
for (const figure of functions) {
  const name = figure.slice(0, figure.indexOf("("));
  const { judgeNs, feedNs: fed } = timed(ruleOf(figure));
  windowNs[name] = judgeNs;
  feedNs[name] = fed - plain.feedNs;
}
const result: LanguageResult = {
  ...expressionCost(),
  plainNs: plain.judgeNs,
  windowNs,
  feedNs,
  tenRulesUs: throughTick(rulesText(10)),
  twoHundredRulesUs: throughTick(rulesText(200)),
  ...counted(),
  dayUs: afterDays(1),
  longUs: afterDays(longDays),
  longDays,
};
if (sink > 1e9) console.error(sink);
console.log(JSON.stringify(result));
