/**
 * The least amounts that clear an account, held against the exchange's published calculator: with the amount nothing fires, at the marks,
 * a little against it, and after the adverse move of the headroom, and with one quote lot or base lot less something does. Trades are reckoned here anew.
 */
import { describe, expect, test } from "vitest";
import { seededRandom } from "../../src/domain/clock.ts";
import type { EnoughAmounts, WhatIfAccount } from "../../src/domain/what-if.ts";
import { Harness, marketConfig, prices, rulesOf, subaccount } from "../engine/harness.ts";
import { type AccountFigures, Margins, type Prices } from "../truth/oracle/margin.ts";
import type { AccountTruth, MarketRules } from "../truth/oracle/truth.ts";

const seed = Number(process.env.PERPWATCH_SEED ?? Date.now() % 2 ** 31);
const accounts = Number(process.env.PERPWATCH_ACCOUNTS ?? 300);
console.log(`least amounts: PERPWATCH_SEED=${seed} PERPWATCH_ACCOUNTS=${accounts}`);

const rules = rulesOf(`
rules:
  - name: Near
    scope: position
    value: position.liquidationDistance
    levels:
      warning: { when: value < 0.15, resolveWhen: value > 0.18 }
      critical: { when: value < 0.05, resolveWhen: value > 0.06 }
    summary: "near"
  - name: Poor
    scope: trader
    when: trader.marginRatio > 0.5
    resolveWhen: trader.marginRatio < 0.4
    severity: warning
    summary: "poor"
`);

const configs = {
  SOL: marketConfig(),
  BTC: marketConfig("BTC", {
    assetId: 2,
    baseLotsDecimals: 4,
    leverageTiers: [
      { maxLeverage: 25, maxSizeBaseLots: 200_000n, limitOrderRiskFactorBps: 4_000 },
      { maxLeverage: 10, maxSizeBaseLots: 2_000_000n, limitOrderRiskFactorBps: 8_000 },
    ],
  }),
  ETH: marketConfig("ETH", { assetId: 3, baseLotsDecimals: 3 }),
};
type Symbol = keyof typeof configs;
const symbols = Object.keys(configs) as readonly Symbol[];
const marketRules = new Map<string, MarketRules>(
  Object.values(configs).map(({ symbol, tickSize, baseLotsDecimals, leverageTiers, riskFactors }) => [
    symbol,
    {
      symbol,
      tickSize,
      baseLotsDecimals,
      leverageTiers: leverageTiers.map(({ limitOrderRiskFactorBps, ...tier }) => ({
        ...tier,
        limitOrderRiskFactor: limitOrderRiskFactorBps / 100,
      })),
      riskFactors,
    } as unknown as MarketRules,
  ]),
);
const margins = new Margins(marketRules);
const usualMarks: Readonly<Record<Symbol, number>> = { SOL: 15_000, BTC: 60_000, ETH: 30_000 };
/** Volatility of no market is known here. */
const headroom = 0.02;
/** The marks move by this against an account while a person acts: trades fill there, and what fires has to be over there. */
const slip = 0.001;
const fee = 350n;
const spotAsset = {
  assetIndex: 4_294_901_760,
  symbol: "SOL",
  decimals: 9,
  perpAssetId: 1,
  maxGlobalBalance: 100_000_000_000_000_000n,
  minMarginDiscountBps: 1_000,
  maxMarginDiscountBps: 1_000,
};

interface Case {
  readonly account: AccountTruth;
  readonly prices: Prices;
  readonly subaccount: number;
}

function randomCase(random: () => number): Case {
  const between = (low: number, high: number) => low + random() * (high - low);
  const whole = (low: number, high: number) => Math.floor(between(low, high + 1));
  const isolated = random() < 0.25;
  const held = isolated ? [symbols[whole(0, 2)]!] : symbols.filter(() => random() < 0.6);
  if (held.length === 0) held.push("SOL");
  const marks = new Map(
    symbols.map((symbol) => {
      const markTicks = Math.round(usualMarks[symbol] * between(0.3, 3));
      return [symbol as string, { markTicks, oracleTicks: markTicks }];
    }),
  );
  let profit = 0n;
  let maintenance = 0;
  const positions = held.map((symbol) => {
    const lots = BigInt(whole(1, random() < 0.2 ? 20 : 400_000)) * (random() < 0.5 ? -1n : 1n);
    const value = lots * BigInt(marks.get(symbol)!.markTicks) * 100n;
    const virtualQuoteLots = (-value * BigInt(whole(900, 1_100))) / 1_000n;
    profit += value + virtualQuoteLots;
    const leverage = Number(configs[symbol].leverageTiers[0]!.maxLeverage);
    maintenance += (Math.abs(Number(value)) / leverage) * 0.5;
    const unsettledFunding = BigInt(whole(-1_000_000, 1_000_000));
    return { symbol, baseLots: lots, virtualQuoteLots, unsettledFunding, sequence: 1, triggers: [] };
  });
  const orders = Array.from({ length: random() < 0.5 ? 0 : whole(1, 3) }, (_, index) => {
    const { symbol, baseLots } = positions[whole(0, positions.length - 1)]!;
    const size = baseLots < 0n ? -baseLots : baseLots;
    const side = random() < 0.5 ? ("bid" as const) : ("ask" as const);
    return {
      symbol,
      sequence: String(index + 1),
      side,
      priceTicks: Math.round(marks.get(symbol)!.markTicks * between(0.8, 1.2)),
      lots: (size * BigInt(whole(1, 150))) / 100n + 1n,
      // The exchange takes such an order on the other side of a position only.
      reduceOnly: side === (baseLots > 0n ? "ask" : "bid") && random() < 0.4,
      placedMs: 0,
    };
  });
  const spot = !isolated && random() < 0.3 ? BigInt(whole(1, 200)) * 10n ** 8n : 0n;
  const ratio = between(0.05, 1.5);
  const collateral = BigInt(Math.round(maintenance / ratio)) - profit;
  const account = {
    ...{ name: "main/0.0", wallet: "main", atMs: 0, ofMs: 0, sequence: 1, netDeposits: 0n },
    ...{ collateral, spot, positions, orders, state: "active", rights: {} },
  };
  return { account, prices: marks, subaccount: isolated ? 1 : 0 };
}

function answerOf({ account, prices: marks, subaccount: index }: Case): WhatIfAccount {
  const harness = new Harness({ rules });
  harness.config(...Object.values(configs));
  harness.see({ kind: "collateralAssets", atMs: harness.nowMs, assets: [spotAsset] });
  harness.mark(...symbols.map((symbol) => prices(usdOf(symbol, marks.get(symbol)!.markTicks), symbol)));
  const { assetIndex, symbol, decimals } = spotAsset;
  harness.account([
    subaccount(
      0,
      account.positions.map((one) => ({
        ...{ symbol: one.symbol, baseLots: one.baseLots, virtualQuoteLots: one.virtualQuoteLots },
        ...{ unsettledFundingQuoteLots: one.unsettledFunding, accumulatedFundingQuoteLots: 0n },
        ...{ sequence: "1", triggers: [] },
      })),
      {
        subaccount: index,
        collateralQuoteLots: account.collateral,
        spotCollaterals: account.spot > 0n ? [{ assetIndex, symbol, decimals, balance: account.spot }] : [],
        orders: account.orders.map((one) => ({
          ...{ symbol: one.symbol, sequence: one.sequence, side: one.side, kind: "limit", stopLoss: false },
          ...{ priceTicks: BigInt(one.priceTicks), remainingLots: one.lots, initialLots: one.lots },
          ...{ reduceOnly: one.reduceOnly, status: "active" },
        })),
      },
    ),
  ]);
  const nothing = { account: null, prices: [], depositUsd: 0, closes: [] };
  const outcome = harness.watch.whatIf({ wallet: "main", ...nothing }, harness.nowMs);
  if (outcome.kind !== "done") throw new Error(JSON.stringify(outcome));
  return outcome.answer.accounts[0]!;
}

function usdOf(symbol: Symbol, ticks: number): number {
  return (ticks * 100 * 10 ** configs[symbol].baseLotsDecimals) / 1e6;
}

/** Figures by the calculator. The ratio is that of its quote lots, which decide at the very edge. */
function figuresOf(account: AccountTruth, marks: Prices): Pick<AccountFigures, "positions" | "ratio"> {
  // A copy: what was computed of an object is kept with it.
  const { positions, maintenance, effective } = margins.of({ ...account }, marks)!;
  const required = Math.round(maintenance * 1e6);
  const there = Math.round(effective * 1e6);
  const ratio = required === 0 ? 0 : there > 0 ? required / there : Number.POSITIVE_INFINITY;
  return { positions, ratio };
}

type Firing = ReadonlySet<string>;

function firingOf({ account, prices: marks }: Case): Firing {
  const figures = figuresOf(account, marks);
  const near = [...figures.positions.values()].filter(({ distance }) => distance < 0.15);
  return new Set([...near.map(({ symbol }) => `Near ${symbol}`), ...(figures.ratio > 0.5 ? ["Poor"] : [])]);
}

/** The marks at which trades fill: to the nearest tick. */
const nearOf = (it: Case): Prices => furtherOf(it, slip, Math.round, Math.round);

/** The marks after a move against each position that is held before anything is done. */
function furtherOf(
  { account: { positions, spot }, prices: marks }: Case,
  move = headroom,
  down = Math.floor,
  up = Math.ceil,
): Prices {
  const sides = new Map(positions.map(({ symbol, baseLots }) => [symbol, baseLots > 0n]));
  return new Map(
    [...marks].map(([symbol, { markTicks }]) => {
      const isLong = sides.get(symbol) ?? (symbol === "SOL" && spot > 0n ? true : undefined);
      const moved =
        isLong === undefined ? markTicks : isLong ? down(markTicks * (1 - move)) : up(markTicks * (1 + move));
      return [symbol, { markTicks: moved, oracleTicks: moved }];
    }),
  );
}

/** Returns true if nothing that was critical is so, at each of these marks. */
function isLessThanCritical(
  account: AccountTruth,
  at: readonly Prices[],
  critical: ReadonlySet<string>,
): boolean {
  return at.every((marks) => {
    const { positions } = figuresOf(account, marks);
    return ![...critical].some((symbol) => {
      const left = positions.get(symbol);
      return left !== undefined && !(left.distance > 0.06);
    });
  });
}

/** Returns true if what fired is over at each of the marks of now, and does not begin at the further marks. */
function isClear(account: AccountTruth, at: readonly Prices[], further: Prices, firing: Firing): boolean {
  return at.every((marks) => isClearAt(account, marks, further, firing));
}

function isClearAt(account: AccountTruth, marks: Prices, further: Prices, firing: Firing): boolean {
  const now = figuresOf(account, marks);
  const there = figuresOf(account, further);
  for (const one of firing) {
    if (one === "Poor") {
      if (!(now.ratio < 0.4) || there.ratio > 0.5) return false;
      continue;
    }
    const symbol = one.slice("Near ".length);
    const [before, after] = [now.positions.get(symbol), there.positions.get(symbol)];
    if (before !== undefined && !(before.distance > 0.18)) return false;
    if (after !== undefined && after.distance < 0.15) return false;
  }
  return true;
}

function reduced(account: AccountTruth, symbol: string, lots: bigint, marks: Prices): AccountTruth {
  const position = account.positions.find((one) => one.symbol === symbol)!;
  const size = position.baseLots < 0n ? -position.baseLots : position.baseLots;
  const value = lots * BigInt(marks.get(symbol)!.markTicks) * 100n;
  const paid = (value * fee + 999_999n) / 1_000_000n;
  const quote = (position.virtualQuoteLots * lots) / size;
  const isLong = position.baseLots > 0n;
  const left = {
    ...position,
    baseLots: isLong ? position.baseLots - lots : position.baseLots + lots,
    virtualQuoteLots: position.virtualQuoteLots - quote,
    unsettledFunding: 0n,
  };
  return {
    ...account,
    collateral: account.collateral + position.unsettledFunding + quote + (isLong ? value : -value) - paid,
    positions: account.positions.flatMap((one) =>
      one !== position ? one : left.baseLots === 0n ? [] : left,
    ),
    orders: account.orders.filter(
      (order) => order.symbol !== symbol || left.baseLots !== 0n || !order.reduceOnly,
    ),
  };
}

const quoteLotsOf = (usd: number): bigint => BigInt(Math.round(usd * 1e6));

function withMoney(account: AccountTruth, quoteLots: bigint): AccountTruth {
  return { ...account, collateral: account.collateral + quoteLots };
}

/** Each amount is enough, and one lot less is not; where there is none, the most that there is is not enough either. */
function checkLeast(
  it: Case,
  { deposit, reductions }: EnoughAmounts,
  isEnough: (changed: AccountTruth) => boolean,
  seen: Record<"deposits" | "noDeposit" | "reductions" | "noReduction", number>,
  name: string,
): void {
  const { account } = it;
  const near = nearOf(it);
  if (deposit.usd === null) {
    seen.noDeposit++;
    expect(isEnough(withMoney(account, 10n ** 15n)), name).toBe(false);
  } else {
    seen.deposits++;
    const least = quoteLotsOf(deposit.usd);
    expect(isEnough(withMoney(account, least)), `${name}: deposit ${least}`).toBe(true);
    if (least > 0n)
      expect(isEnough(withMoney(account, least - 1n)), `${name}: deposit ${least - 1n}`).toBe(false);
  }
  for (const { symbol, least } of reductions) {
    const held = account.positions.find((one) => one.symbol === symbol)!.baseLots;
    const size = held < 0n ? -held : held;
    const isEnoughOf = (lots: bigint) =>
      isEnough(lots === 0n ? account : reduced(account, symbol, lots, near));
    if (least === null) {
      seen.noReduction++;
      expect(isEnoughOf(size), `${name}: all of ${symbol}`).toBe(false);
      continue;
    }
    seen.reductions++;
    const lots = BigInt(Math.round(least.units * 10 ** configs[symbol as Symbol].baseLotsDecimals));
    expect(isEnoughOf(lots), `${name}: ${lots} lots of ${symbol}`).toBe(true);
    if (lots > 0n) expect(isEnoughOf(lots - 1n), `${name}: ${lots - 1n} lots of ${symbol}`).toBe(false);
  }
}

describe("least amounts", () => {
  test(
    "are enough, and one less is not",
    () => {
      const random = seededRandom(seed);
      const seen = { clear: 0, critical: 0, deposits: 0, noDeposit: 0, reductions: 0, noReduction: 0 };
      for (let index = 0; index < accounts; index++) {
        const it = randomCase(random);
        const firing = firingOf(it);
        const { clear, rules: told } = answerOf(it);
        const name = `account ${index} of seed ${seed}, firing ${[...firing].join(", ") || "nothing"}`;
        expect(
          new Set(
            told.map(({ rule, subject }) => (rule === "Poor" ? rule : `Near ${subject.split("/")[2]}`)),
          ),
          name,
        ).toEqual(firing);
        if (clear === null) {
          expect(firing.size, name).toBe(0);
          seen.clear++;
          continue;
        }
        const { account } = it;
        const now = [it.prices, nearOf(it)];
        const further = furtherOf(it);
        const clears = (changed: AccountTruth) => isClear(changed, now, further, firing);
        checkLeast(it, clear, clears, seen, name);
        const least = clear.deposit.usd === null ? null : quoteLotsOf(clear.deposit.usd);
        for (const part of least === null ? [] : [0.25, 0.5, 0.75]) {
          const between = furtherOf(it, headroom * part);
          const there = isClear(withMoney(account, least!), now, between, firing);
          expect(there, `${name}: ${part} of the way`).toBe(true);
        }
        const critical = new Set(
          [...figuresOf(account, it.prices).positions.values()]
            .filter(({ distance }) => distance < 0.05)
            .map(({ symbol }) => symbol),
        );
        expect(clear.critical !== null, name).toBe(critical.size > 0);
        if (clear.critical === null) continue;
        seen.critical++;
        const ends = (changed: AccountTruth) => isLessThanCritical(changed, now, critical);
        checkLeast(it, clear.critical, ends, seen, `${name}: only what is critical`);
      }
      console.log(JSON.stringify(seen));
      for (const [what, count] of Object.entries(seen))
        if (what !== "noDeposit") expect(count, what).toBeGreaterThan(accounts / 100);
    },
    120_000 + 60 * accounts,
  );
});
