/**
 * Measures the cost of the rule language: windows against a plain field, many rules against few, a long past against a short
 * one. Prints one JSON line. Run: node test/bench/rules/language.ts [days of the long past]
 */
import { type Source, sources } from "../../../src/domain/sources.ts";
import {
  type ConditionRule,
  createWindow,
  type Env,
  type Facts,
  judge,
  loadRules,
  type RuleSet,
} from "../../../src/rules/index.ts";
import { Harness, position, rulesOf, subaccount } from "../../engine/harness.ts";
import { cpuUs } from "../daemon/figures.ts";

export interface LanguageResult {
  /** Judging one rule, ns: over a plain field, and over 24 h windows by function. */
  readonly plainNs: number;
  readonly windowNs: Readonly<Record<string, number>>;
  /** The ratios of each window's time to the plain field's, taken in turns: the median. The other ratios likewise. */
  readonly windowRatios: Readonly<Record<string, number>>;
  readonly feedNs: Readonly<Record<string, number>>;
  /** A condition of four parts as an expression, and as a function in TypeScript, ns. */
  readonly expressionNs: number;
  readonly functionNs: number;
  readonly expressionRatio: number;
  /** One account's answer through the tick, µs. */
  readonly tenRulesUs: number;
  readonly twoHundredRulesUs: number;
  readonly rulesRatio: number;
  /** Judgements an answer led to, of rules that read it and of rules that read something else. */
  readonly judged: number;
  readonly judgedOthers: number;
  readonly others: number;
  /** One answer with 24 h windows, µs, after a day and after the long past. */
  readonly dayUs: number;
  readonly longUs: number;
  readonly longRatio: number;
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

/** The median of readings that were taken in turns, so that other work on the machine meets all of them alike. */
function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1]!;
}

/** In so many rounds, each of the works in its turn. @returns what each took in each round */
function inTurns(rounds: number, works: readonly ((round: number) => number)[]): readonly number[][] {
  const took: number[][] = works.map(() => []);
  for (let round = 0; round < rounds; round++)
    for (const [i, work] of works.entries()) took[i]!.push(work(round));
  return took;
}

/** Median of one to another of the same round. */
function ratioOf(these: readonly number[], those: readonly number[]): number {
  return median(these.map((one, round) => one / those[round]!));
}

/** Time of judging one rule at each step of a series at 5 s, and of feeding its window, ns. */
function timed(rule: ConditionRule): (round: number) => { judgeNs: number; feedNs: number } {
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
  return (round) => {
    const feedNs = run(false, round);
    return { judgeNs: Math.max(run(true, round) - feedNs, 1), feedNs };
  };
}

/** All windows against a plain field. */
function windowCosts(): Pick<LanguageResult, "plainNs" | "windowNs" | "windowRatios" | "feedNs"> {
  const feeds: number[][] = [];
  const names = functions.map((figure) => figure.slice(0, figure.indexOf("(")));
  const works = ["trader.marginRatio", ...functions].map((figure, i) => {
    const work = timed(ruleOf(figure));
    feeds.push([]);
    return (round: number) => {
      const { judgeNs, feedNs } = work(round);
      feeds[i]!.push(feedNs);
      return judgeNs;
    };
  });
  const [plain, ...windows] = inTurns(15, works);
  const [plainFeed, ...windowFeeds] = feeds;
  const by = (of: (i: number) => number) => Object.fromEntries(names.map((name, i) => [name, of(i)]));
  return {
    plainNs: median(plain!),
    windowNs: by((i) => median(windows[i]!)),
    windowRatios: by((i) => ratioOf(windows[i]!, plain!)),
    feedNs: by((i) => median(windowFeeds[i]!.map((ns, round) => ns - plainFeed![round]!))),
  };
}

/** The same condition as an expression and as a programmer would write it. */
function expressionCost(): Pick<LanguageResult, "expressionNs" | "functionNs" | "expressionRatio"> {
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
  const cost = (work: (one: Env) => unknown) => (): number => {
    const began = cpuUs();
    for (let i = 0; i < rounds; i++) {
      facts.values.freeCollateral = i % 7;
      if (work(env) === true) sink++;
    }
    return ((cpuUs() - began) * 1e3) / rounds;
  };
  const [expressions, functions] = inTurns(15, [cost(run), cost(written)]);
  return {
    expressionNs: median(expressions!),
    functionNs: median(functions!),
    expressionRatio: ratioOf(expressions!, functions!),
  };
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

/** µs an answer takes, round by round. */
function throughTick(rules: string | RuleSet): (round: number) => number {
  const harness = new Harness({ rules });
  answers(harness, 2_000, 0);
  return (round) => answered(harness, round);
}

function answered(harness: Harness, round: number): number {
  const count = 500;
  const began = cpuUs();
  answers(harness, count, round);
  return (cpuUs() - began) / count;
}

/** Counts the conditions that are judged for one answer of an account. */
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

/** µs an answer takes after a past of so many days at 5 s, round by round. */
function afterDays(days: number): (round: number) => number {
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
    harness.watch.warmUp.rememberTick({ atMs: harness.nowMs + i * stepMs, owner, series, values });
  }
  harness.nowMs += days * 86_400_000;
  answers(harness, 2_000, 0);
  return (round) => answered(harness, round);
}

const longDays = Number(process.argv[2] ?? 365);
const [ten, twoHundred] = inTurns(40, [throughTick(rulesText(10)), throughTick(rulesText(200))]);
const [day, long] = inTurns(40, [afterDays(1), afterDays(longDays)]);
const result: LanguageResult = {
  ...expressionCost(),
  ...windowCosts(),
  tenRulesUs: median(ten!),
  twoHundredRulesUs: median(twoHundred!),
  rulesRatio: ratioOf(twoHundred!, ten!),
  ...counted(),
  dayUs: median(day!),
  longUs: median(long!),
  longRatio: ratioOf(long!, day!),
  longDays,
};
if (sink > 1e9) console.error(sink);
console.log(JSON.stringify(result));
