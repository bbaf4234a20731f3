/**
 * Hedges of a scenario, planned from a seed: declared pairs with two legs in accounts of their own, trades on both legs, and what
 * breaks and mends them. Legs of much leverage are left to the price paths, which liquidate and deleverage them.
 */
import { Draw } from "./draw.ts";
import type { AccountPlan, Deed, WalletPlan } from "./world.ts";

export interface LegPlan {
  readonly wallet: string;
  /** Null: all accounts of the wallet together. */
  readonly account: { readonly pdaIndex: number; readonly subaccount: number } | null;
}

export interface PairPlan {
  readonly name: string;
  readonly symbol: string;
  readonly legs: readonly LegPlan[];
  /** Null: as is usual. */
  readonly tolerance: number | null;
}

const share = 0.4;
const symbols = ["SOL", "BTC", "ETH", "GOLD"];
/** Subaccount of the first leg; each one after it has the next. */
const firstSubaccount = 6;

/** @param first number of the accounts that are planned already */
export function planHedges(
  seed: number,
  lengthMs: number,
  wallets: readonly WalletPlan[],
  first: number,
): {
  readonly accounts: readonly AccountPlan[];
  readonly pairs: readonly PairPlan[];
  readonly deeds: readonly Deed[];
} {
  const draw = new Draw(seed, 20);
  const accounts: AccountPlan[] = [];
  const pairs: PairPlan[] = [];
  const deeds: Deed[] = [];
  const count = draw.chance(share) ? draw.one([1, 1, 2]) : 0;
  for (let pair = 0; pair < count; pair++) {
    const symbol = draw.one(symbols);
    const one = draw.one(wallets);
    const others = wallets.filter((wallet) => wallet !== one);
    const two = others.length > 0 && draw.chance(0.6) ? draw.one(others) : one;
    // A loss that the one leg survives and the other may not.
    const collateral = Math.round(10 ** draw.between(3.3, 5));
    const leverage = draw.between(1, 4);
    const second = Math.round((collateral * leverage) / draw.between(2, 13));
    const legs = [
      { owner: one, collateral },
      { owner: two, collateral: second },
    ].map(({ owner, collateral }): LegPlan => {
      const pdaIndex = draw.one(owner.pdaIndices);
      const subaccount = firstSubaccount + accounts.length;
      accounts.push({ wallet: owner.name, pdaIndex, subaccount, symbols: [symbol], collateral, spot: 0 });
      // Legs of one wallet would count the same position.
      const account = one !== two && draw.chance(0.25) ? null : { pdaIndex, subaccount };
      return { wallet: owner.name, account };
    });
    pairs.push({ name: `h${pair + 1}`, symbol, legs, tolerance: draw.one([null, null, 0, 0.1]) });
    const numbers = [first + accounts.length - 2, first + accounts.length - 1] as const;
    const side = draw.chance(0.5) ? 1 : -1;
    deeds.push({ kind: "trade", atMs: 0, account: numbers[0], symbol, leverage: side * leverage });
    deeds.push({ kind: "rehedge", atMs: 0, account: numbers[1], symbol, pair });
    deeds.push(...episodes(draw, lengthMs, { pair, symbol, numbers }));
  }
  return { accounts, pairs, deeds };
}

interface Legs {
  readonly pair: number;
  readonly symbol: string;
  /** Numbers of their accounts. */
  readonly numbers: readonly [number, number];
}

/** One after the other, each with its own end, or none. */
function episodes(draw: Draw, lengthMs: number, { pair, symbol, numbers }: Legs): readonly Deed[] {
  const deeds: Deed[] = [];
  const rehedge = (atMs: number, account: number): void => {
    deeds.push({ kind: "rehedge", atMs, account, symbol, pair });
  };
  for (let atMs = draw.between(20_000, 90_000); atMs < lengthMs * 0.85; ) {
    const [account, other] = draw.chance(0.5) ? numbers : [numbers[1], numbers[0]];
    // Word of the second half of a trade is waited for for 15 s.
    const halfMs = draw.one([
      draw.between(300, 12_000),
      draw.between(300, 12_000),
      draw.between(17_000, 60_000),
    ]);
    const longMs = draw.between(25_000, 120_000);
    draw.one<() => void>([
      // A trade on both legs, one after the other.
      () => {
        deeds.push({
          kind: "trade",
          atMs,
          account,
          symbol,
          leverage: draw.between(0.3, 1.5) * (draw.chance(0.5) ? 1 : -1),
        });
        rehedge(atMs + halfMs, other);
      },
      // Both legs are closed.
      () => {
        deeds.push({ kind: "close", atMs, account, symbol, share: 1 });
        deeds.push({ kind: "close", atMs: atMs + halfMs, account: other, symbol, share: 1 });
      },
      // A fill on one leg, which is too small to matter or is mended late.
      () => {
        deeds.push({ kind: "close", atMs, account, symbol, share: draw.one([0.01, 0.05, 0.3, 1, 2]) });
        rehedge(atMs + longMs, draw.one(numbers));
      },
      // A stop that the price meets soon, if at all.
      () => {
        deeds.push({ kind: "stop", atMs, account, symbol, distance: draw.between(0.0005, 0.01) });
        rehedge(atMs + longMs, draw.one(numbers));
      },
      // The hedge of whatever became of it.
      () => rehedge(atMs, draw.one(numbers)),
    ])();
    atMs += longMs + draw.between(1_000, 60_000);
  }
  return deeds;
}
