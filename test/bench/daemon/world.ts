/**
 * The answers of the benchmark's exchange: trader states with two positions (BTC long with nothing around it, SOL short with
 * a stop loss), two resting orders, and figures that differ from answer to answer; and the 20 rules that judge them.
 */
import { base58 } from "@scure/base";
import { example } from "../../contract/example.ts";

export interface BenchWallet {
  readonly name: string;
  /** Base58. */
  readonly authority: string;
}

export function benchWallets(count: number): readonly BenchWallet[] {
  return Array.from({ length: count }, (_, i) => {
    const key = new Uint8Array(32).fill(7);
    new DataView(key.buffer).setUint32(28, i);
    return { name: `w${i}`, authority: base58.encode(key) };
  });
}

/** The number of different trader states; each poll gets the next one. */
const variants = 512;
/** Digits that are overwritten in each answer: what orders answers has to rise. */
const slotWidth = 9;
const firstSlot = 404_115_200;

interface Template {
  readonly bytes: Buffer;
  readonly slotAt: number;
  readonly sequenceAt: number;
}

/** Trader states as bytes, one after the other, each with a slot and a sequence above those of all before. */
export class TraderStates {
  readonly #templates = Array.from({ length: variants }, (_, i) => template(i));
  #served = 0;

  next(): Buffer {
    const one = this.#templates[this.#served % variants]!;
    const slot = String(firstSlot + this.#served++);
    one.bytes.write(slot, one.slotAt, slotWidth, "latin1");
    one.bytes.write(slot, one.sequenceAt, slotWidth, "latin1");
    return one.bytes;
  }
}

interface State {
  slot: number;
  snapshot: { subaccounts: Subaccount[] };
}

interface Subaccount {
  sequence: number;
  collateral: string;
  positions: Record<string, unknown>[];
}

function template(index: number): Template {
  const state = structuredClone(example("trader-state-snapshot")) as State;
  state.slot = firstSlot;
  const [subaccount] = state.snapshot.subaccounts as [Subaccount];
  state.snapshot.subaccounts = [subaccount];
  subaccount.sequence = firstSlot;
  subaccount.collateral = String(52_000_000_000 + index * 1_000_003);
  for (const position of subaccount.positions) {
    const long = position.symbol === "BTC";
    const lots = long ? 2_500 + index : -18_000 - index;
    const entry = (long ? 61_200 : 148.2) * (1 + index * 1e-5);
    const units = long ? lots / 1e4 : lots / 100;
    position.basePositionLots = String(lots);
    position.basePositionUnits = String(units);
    position.entryPriceUsd = entry.toFixed(6);
    position.virtualQuotePositionLots = String(-Math.round(units * entry * 1e6));
    position.unsettledFundingQuoteLots = String(-3_412_500 + index * 911);
    position.accumulatedFundingQuoteLots = String(-18_240_000 + index * 1_213);
  }
  const bytes = Buffer.from(JSON.stringify(state));
  const text = bytes.toString("latin1");
  const after = (key: string): number => text.indexOf(key) + key.length;
  return { bytes, slotAt: after('"slot":'), sequenceAt: after('"sequence":') };
}

export const marketsText = JSON.stringify(example("exchange-markets"));
export const statusText = JSON.stringify({ active: true, gated: false, withdrawalsAvailable: true });

const marks: Readonly<Record<string, number>> = { BTC: 62_000, SOL: 149, ETH: 3_010, GOLD: 2_440 };

const stats = example("market-stats-latest") as Record<string, unknown>;

/** Live figures of all markets; all of them differ from call to call. */
export function statsText(call: number): string {
  const wobble = 1 + Math.sin(call) * 1e-3;
  const markets = Object.entries(marks).map(([symbol, mark]) => ({
    ...stats,
    symbol,
    timestamp_ms: String(1_791_212_400_000 + call),
    mark_price: mark * wobble,
    oracle_price: mark * (1 - (wobble - 1)),
    open_interest: 3_690.12 * wobble,
    day_volume_usd: 41_230_991.5 * wobble,
  }));
  return JSON.stringify({ markets });
}

const position = [
  "levels: { info: { when: value < 0.02 }, warning: { when: value < 0.01, resolveWhen: value > 0.012 }, critical: { when: value < 0.005 } }, value: position.liquidationDistance",
  'severity: warning, when: "!position.hasStopLoss && position.notional > 500000"',
  "severity: info, when: position.leverage > 8 && position.unrealizedPnl < 0",
  "severity: info, when: position.stopLossDistance < 0.001",
  "severity: warning, when: position.unrealizedPnl / trader.equity < -0.5",
] as const;
const trader = [
  "severity: critical, when: trader.marginRatio > 0.8, resolveWhen: trader.marginRatio < 0.7",
  "severity: warning, when: trader.adverseMoveToLiquidation < 0.02 && size(trader.positions) > 1",
  'severity: critical, when: \'trader.riskTier in ["liquidatable", "backstopLiquidatable", "highRisk"]\'',
  "severity: info, when: trader.leverage > 10",
  "severity: info, when: trader.freeCollateral < 2 * trader.initialMargin - trader.equity",
  'severity: info, when: "trader.positions.exists(p, p.notional > 20.0 * trader.grossNotional)"',
] as const;
const market = [
  "severity: info, when: abs(market.markPrice / market.oraclePrice - 1.0) > 0.05",
  "severity: warning, when: 'market.status != \"active\"'",
  "severity: info, when: market.openInterestCapUsed > 0.9",
] as const;

/** The four that look back, and what takes their place where windows are left out. */
const looking: readonly (readonly [scope: string, withWindow: string, without: string])[] = [
  [
    "position",
    'severity: warning, when: \'minOver("position.liquidationDistance", "10m") < 0.001\'',
    "severity: warning, when: position.liquidationDistance < 0.001",
  ],
  [
    "trader",
    'severity: warning, when: \'maxOver("trader.marginRatio", "1h") > 0.9\'',
    "severity: warning, when: trader.marginRatio > 0.9",
  ],
  [
    "trader",
    'severity: warning, when: \'changeRatio("trader.equity", "10m") < -0.5\'',
    "severity: warning, when: trader.equity < -0.5",
  ],
  [
    "market",
    'severity: info, when: \'abs(changeRatio("market.markPrice", "5m")) > 0.2\'',
    "severity: info, when: market.markPrice < 0.2",
  ],
];
const events = [
  "on: liquidation, severity: critical, when: 'event.role == \"liquidatee\"'",
  "on: notification, severity: info, when: 'event.type == \"order_filled\"'",
] as const;

/** 20 rules: 6 position, 8 trader, 4 market, 2 event; none of them fires in this world. */
export function rulesText(windows: boolean): string {
  const bodies = [
    ...position.map((body) => `scope: position, ${body}`),
    ...trader.map((body) => `scope: trader, ${body}`),
    ...market.map((body) => `scope: market, ${body}`),
    ...looking.map(([scope, look, plain]) => `scope: ${scope}, ${windows ? look : plain}`),
    ...events,
  ];
  return `rules:\n${bodies.map((body, i) => `  - { name: R${i}, summary: s, ${body} }`).join("\n")}\n`;
}
