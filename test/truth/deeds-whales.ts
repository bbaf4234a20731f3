/**
 * Whales of a scenario, planned from a seed: wallets of strangers with the label `watch: whale`, whose large positions open, grow,
 * shrink, turn round, come near their liquidation and are liquidated.
 */
import { Draw } from "./draw.ts";
import type { AccountPlan, Deed, WalletPlan } from "./world.ts";

const share = 0.3;
const symbols = ["SOL", "BTC", "ETH"];

/** @param first number of the accounts that are planned already */
export function planWhales(
  seed: number,
  lengthMs: number,
  first: number,
): {
  readonly wallets: readonly WalletPlan[];
  readonly accounts: readonly AccountPlan[];
  readonly deeds: readonly Deed[];
} {
  const draw = new Draw(seed, 21);
  const wallets: WalletPlan[] = [];
  const accounts: AccountPlan[] = [];
  const deeds: Deed[] = [];
  const count = draw.chance(share) ? draw.one([1, 1, 2]) : 0;
  for (let i = 0; i < count; i++) {
    const name = `whale${i + 1}`;
    const pdaIndices = draw.one([[0], [0], [0, 2]]);
    const collateral = Math.round(10 ** draw.between(3.5, 6));
    // From nearly all that it does up to what it seldom reaches; left out: 100,000 USD.
    const limits = draw.chance(0.7)
      ? { whaleAbove: Math.round(collateral * draw.one([0.2, 1, 4])) }
      : undefined;
    const watchOnly = draw.chance(0.6);
    wallets.push({ name, pdaIndices, watchOnly, labels: { watch: "whale" }, ...(limits && { limits }) });
    for (const pdaIndex of pdaIndices) {
      const account = first + accounts.length;
      const traded = draw.some(symbols, 0.4);
      accounts.push({ wallet: name, pdaIndex, subaccount: 0, symbols: traded, collateral, spot: 0 });
      for (const symbol of traded) deeds.push(...trades(draw, lengthMs, account, symbol, traded.length));
      if (draw.chance(0.6)) deeds.push(...dares(draw, lengthMs, account, draw.one(traded)));
      if (draw.chance(0.3))
        deeds.push({
          kind: "money",
          atMs: draw.between(30_000, lengthMs),
          account,
          share: draw.one([-0.5, 0.5]),
        });
    }
    if (!watchOnly && draw.chance(0.15))
      deeds.push({ kind: "session", atMs: draw.between(0, lengthMs * 0.7), wallet: name, action: "revoke" });
  }
  return { wallets, accounts, deeds };
}

/** @param parts markets among which its leverage is shared */
function trades(
  draw: Draw,
  lengthMs: number,
  account: number,
  symbol: string,
  parts: number,
): readonly Deed[] {
  const deeds: Deed[] = [];
  const leverage = () => (draw.between(1, draw.chance(0.4) ? 13 : 5) * (draw.chance(0.6) ? 1 : -1)) / parts;
  if (draw.chance(0.7)) deeds.push({ kind: "trade", atMs: 0, account, symbol, leverage: leverage() });
  const actions = draw.whole(2, 6);
  for (let i = 0; i < actions; i++) {
    const atMs = draw.between(5_000, lengthMs * 0.9);
    deeds.push(
      draw.one<() => Deed>([
        () => ({ kind: "trade", atMs, account, symbol, leverage: leverage() / 2 }),
        () => ({ kind: "trade", atMs, account, symbol, leverage: leverage() / 2 }),
        () => ({ kind: "close", atMs, account, symbol, share: draw.one([0.05, 0.3, 0.6, 1, 1, 2]) }),
        () => ({ kind: "close", atMs, account, symbol, share: draw.one([0.3, 0.6, 1]) }),
        () => ({ kind: "stop", atMs, account, symbol, distance: draw.between(0.005, 0.1) }),
        () => ({ kind: "order", atMs, account, symbol, leverage: leverage() / 4, distance: 0.004 }),
      ])(),
    );
  }
  return deeds;
}

/** A trade of so much leverage that its liquidation is near, and perhaps a way out of that. */
function dares(draw: Draw, lengthMs: number, account: number, symbol: string): readonly Deed[] {
  const atMs = draw.between(20_000, lengthMs * 0.7);
  const outMs = atMs + draw.between(20_000, 120_000);
  const leverage = draw.between(10, 22) * (draw.chance(0.5) ? 1 : -1);
  const trade: Deed = { kind: "trade", atMs, account, symbol, leverage };
  return [
    trade,
    ...draw.one<readonly Deed[]>([
      [],
      [{ kind: "money", atMs: outMs, account, share: 1 }],
      [{ kind: "close", atMs: outMs, account, symbol, share: draw.one([0.5, 1]) }],
    ]),
  ];
}
