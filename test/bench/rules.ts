/**
 * Measures the cost of judging: 20 rules on one poll of a trader with two positions, against the same conditions written in
 * plain TypeScript over plain objects. Run: node test/bench/rules.ts
 */

import { type Source, sources } from "../../src/domain/sources.ts";
import {
  type ConditionRule,
  createWindow,
  type Env,
  type Facts,
  type Judgement,
  judge,
  loadRules,
  type Window,
} from "../../src/rules/index.ts";

const scheduleMs = Object.fromEntries(sources.map((source) => [source, 5_000])) as Record<Source, number>;
const text = `rules:
  - { name: P1, scope: position, value: position.liquidationDistance, summary: s, levels: { info: { when: value < 0.2 }, warning: { when: value < 0.1, resolveWhen: value > 0.12 }, critical: { when: value < 0.05 } } }
  - { name: P2, scope: position, severity: warning, summary: s, when: "!position.hasStopLoss && position.notional > 50000" }
  - { name: P3, scope: position, severity: info, summary: s, when: position.leverage > 8 && position.unrealizedPnl < 0 }
  - { name: P4, scope: position, severity: info, summary: s, when: position.stopLossDistance < 0.01 || position.stopLossCoverage < 0.5 }
  - { name: P5, scope: position, severity: info, summary: s, when: 'position.side == "short" && market.fundingRate < -0.0005' }
  - { name: P6, scope: position, severity: warning, summary: s, when: position.unrealizedPnl / trader.equity < -0.1 }
  - { name: T1, scope: trader, severity: critical, summary: s, when: trader.marginRatio > 0.8, resolveWhen: trader.marginRatio < 0.7 }
  - { name: T2, scope: trader, severity: warning, summary: s, when: trader.adverseMoveToLiquidation < 0.05 && size(trader.positions) > 1 }
  - { name: T3, scope: trader, severity: critical, summary: s, when: 'trader.riskTier in ["liquidatable", "backstopLiquidatable", "highRisk"]' }
  - { name: T4, scope: trader, severity: info, summary: s, when: trader.leverage > 10 }
  - { name: T5, scope: trader, severity: info, summary: s, when: 2 * trader.freeCollateral < trader.initialMargin }
  - { name: T6, scope: trader, severity: info, summary: s, when: "trader.positions.exists(p, p.notional > 0.8 * trader.grossNotional)" }
  - { name: T7, scope: trader, severity: warning, summary: s, when: 'maxOver("trader.marginRatio", "1h") > 0.9' }
  - { name: T8, scope: trader, severity: warning, summary: s, when: 'changeRatio("trader.equity", "10m") < -0.1' }
  - { name: M1, scope: market, severity: info, summary: s, when: market.annualizedFundingRate > 1.0 }
  - { name: M2, scope: market, severity: info, summary: s, when: abs(market.markPrice / market.oraclePrice - 1.0) > 0.01 }
  - { name: M3, scope: market, severity: warning, summary: s, when: 'market.status != "active"' }
  - { name: M4, scope: market, severity: info, summary: s, when: market.openInterestCapUsed > 0.9 }
  - { name: E1, scope: exchange, severity: critical, summary: s, when: "!exchange.active" }
  - { name: W1, scope: wallet, severity: warning, summary: s, when: 'drawdown("wallet.pnl", "24h") > 0.1' }
`;
const loaded = loadRules({
  files: [{ name: "bench.yaml", text }],
  overrides: {},
  scheduleMs,
  wallets: [],
  timezone: "UTC",
});
if ("problems" in loaded) throw new Error(JSON.stringify(loaded.problems, null, 1));
const { conditions } = loaded.ruleSet;

const startMs = 1_700_000_000_000;
const seen = (): Facts["seenMs"] => Object.fromEntries(sources.map((source) => [source, startMs]));
const facts = (values: Facts["values"]): Facts => ({ values, seenMs: seen() });
const position = (symbol: string, side: string) =>
  facts({
    symbol,
    side,
    size: 1,
    notional: 60_000,
    liquidationDistance: 0.3,
    unrealizedPnl: 5,
    leverage: 3,
    hasStopLoss: true,
    stopLossDistance: 0.05,
    stopLossCoverage: 1,
  });
const positions = [position("SOL", "long"), position("BTC", "short")];
const trader = facts({
  marginRatio: 0.3,
  adverseMoveToLiquidation: 0.3,
  riskTier: "safe",
  leverage: 4,
  freeCollateral: 9_000,
  initialMargin: 3_000,
  grossNotional: 120_000,
  equity: 12_000,
  positions: positions.map((p) => ({ symbol: String(p.values.symbol), notional: 60_000 })),
});
const wallet = facts({ pnl: 100, equity: 12_000 });
const market = facts({
  fundingRate: 0.0001,
  annualizedFundingRate: 0.9,
  markPrice: 100,
  oraclePrice: 100.1,
  status: "active",
  openInterestCapUsed: 0.3,
});
const exchange = facts({ active: true });
const daemon = facts({});

const windows = new Map<ConditionRule, Window[]>();
for (const rule of conditions)
  windows.set(
    rule,
    rule.windows.map((spec) => createWindow(spec, "UTC")),
  );
let nowMs = startMs;
let current: Window[] = [];
const window = (index: number) => current[index]!.read(nowMs);
const markets = () => market;
const envs: [ConditionRule, Env][] = conditions.flatMap((rule): [ConditionRule, Env][] => {
  const base: Env = { nowMs, trader, wallet, market, exchange, daemon, markets, window };
  return rule.scope === "position" ? positions.map((p) => [rule, { ...base, position: p }]) : [[rule, base]];
});

function step(i: number): void {
  nowMs = startMs + i * 5_000;
  const wobble = (i % 97) / 1_000;
  for (const p of positions) {
    p.values.liquidationDistance = 0.3 + wobble;
    p.values.unrealizedPnl = 5 - wobble;
  }
  trader.values.marginRatio = 0.3 + wobble;
  trader.values.equity = 12_000 + wobble;
  wallet.values.pnl = 100 - wobble;
  for (const f of [...positions, trader, wallet, market, exchange])
    for (const source of sources) f.seenMs[source] = nowMs;
}

function feed(): void {
  for (const [rule, own] of windows)
    for (const [i, w] of own.entries()) {
      const { path } = rule.windows[i]!;
      if (path.kind === "field")
        w.push(nowMs, (path.scope === "wallet" ? wallet : trader).values[path.field] as number);
    }
}

const steps = 40_000;
let sink = 0;
const works: [string, (i: number) => void][] = [
  ["the wobble alone", step],
  [
    "feeding 3 windows",
    (i) => {
      step(i);
      feed();
    },
  ],
  [
    `judging ${envs.length} (rule, subject) pairs`,
    (i) => {
      step(i);
      for (const [rule, env] of envs) {
        env.nowMs = nowMs;
        current = windows.get(rule)!;
        const judgement: Judgement = judge(rule, env, null);
        if (judgement.kind === "unknown" || judgement.severity !== null) sink++;
      }
    },
  ],
  ["the same in plain TypeScript", plainly],
];

/** The code that a programmer would write for exactly these rules, with a check of age and none of unknown. */
function plainly(i: number): void {
  step(i);
  const t = trader.values as Record<string, number>;
  const m = market.values as Record<string, number>;
  for (const p of positions) {
    const v = p.values as Record<string, number>;
    if (nowMs - p.seenMs.traderState! > 15_000) sink++;
    if (v.liquidationDistance! < 0.05) sink++;
    else if (v.liquidationDistance! < 0.1) sink++;
    else if (v.liquidationDistance! < 0.2) sink++;
    if (!v.hasStopLoss && v.notional! > 50_000) sink++;
    if (v.leverage! > 8 && v.unrealizedPnl! < 0) sink++;
    if (v.stopLossDistance! < 0.01 || v.stopLossCoverage! < 0.5) sink++;
    if (p.values.side === "short" && m.fundingRate! < -0.0005) sink++;
    if (v.unrealizedPnl! / t.equity! < -0.1) sink++;
  }
  if (nowMs - trader.seenMs.traderState! > 15_000) sink++;
  if (t.marginRatio! > 0.8) sink++;
  if (t.adverseMoveToLiquidation! < 0.05) sink++;
  if (["liquidatable", "backstopLiquidatable", "highRisk"].includes(trader.values.riskTier as string)) sink++;
  if (t.leverage! > 10) sink++;
  if (2 * t.freeCollateral! < t.initialMargin!) sink++;
  if ((trader.values.positions as { notional: number }[]).some((p) => p.notional > 0.8 * t.grossNotional!))
    sink++;
  if ((windows.get(conditions[12]!)![0]!.read(nowMs) as number) > 0.9) sink++;
  if ((windows.get(conditions[13]!)![0]!.read(nowMs) as number) < -0.1) sink++;
  if (m.annualizedFundingRate! > 1) sink++;
  if (Math.abs(m.markPrice! / m.oraclePrice! - 1) > 0.01) sink++;
  if (market.values.status !== "active") sink++;
  if (m.openInterestCapUsed! > 0.9) sink++;
  if (!exchange.values.active) sink++;
  if ((windows.get(conditions[19]!)![0]!.read(nowMs) as number) > 0.1) sink++;
}

// The best of several rounds, taken in turns: the machine has other things to do as well.
const best = works.map(() => Number.POSITIVE_INFINITY);
for (let round = 0; round < 8; round++)
  for (const [w, [, work]] of works.entries()) {
    const began = performance.now();
    for (let i = 0; i < steps; i++) work(round * steps + i);
    best[w] = Math.min(best[w]!, ((performance.now() - began) * 1e6) / steps);
  }
for (const [w, [name]] of works.entries())
  console.log(`${name.padEnd(34)} ${(best[w]! / 1_000).toFixed(2)} µs a poll`);
const [idle, fed, judged, plain] = best as [number, number, number, number];
const rules = judged - idle;
const bare = plain - idle;
console.log(
  `a judgement: ${(rules / envs.length).toFixed(0)} ns; plain: ${(bare / envs.length).toFixed(0)} ns; ${(rules / bare).toFixed(1)} times`,
);
console.log(`feeding a window: ${((fed - idle) / 3).toFixed(0)} ns (${sink} fired)`);
