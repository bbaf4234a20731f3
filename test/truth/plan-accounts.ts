/** Plans of the deeds about accounts, from a seed: each kind of world from draws of its own. */
import { rights } from "../../src/simulator/accounts/right.ts";
import { Draw } from "./draw.ts";
import type { AccountPlan, Deed, WalletPlan } from "./world.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
/** The age from which an order is told of. */
const stuckAfterMs = 72 * hourMs;
/** Subaccounts of the accounts that stand for one such deed, the first of them. */
const ownSubaccount = 6;
/** The leverage, in positions or in orders, between which the exchange cancels orders and does not yet liquidate. */
const cancelled: Readonly<Record<string, readonly [from: number, to: number]>> = {
  SOL: [20, 30],
  BTC: [26.7, 40],
  ETH: [26.7, 40],
  GOLD: [13.3, 20],
};
const symbols = Object.keys(cancelled);
/** Equity as a share of the position's value, at which the backstop liquidator takes it over: between two thirds and four thirds of this. */
const takenAt: Readonly<Record<string, number>> = { SOL: 0.01, BTC: 0.0075, ETH: 0.0075, GOLD: 0.015 };

interface Given {
  readonly lengthMs: number;
  readonly wallets: readonly WalletPlan[];
  /** Those that are planned already, and those that are added here. */
  readonly accounts: AccountPlan[];
}

/** @param planned accounts that are planned already; `accounts` of the result are added to them */
export function planAccounts(
  seed: number,
  lengthMs: number,
  wallets: readonly WalletPlan[],
  planned: readonly AccountPlan[],
): { readonly accounts: readonly AccountPlan[]; readonly deeds: readonly Deed[] } {
  const given: Given = { lengthMs, wallets, accounts: [...planned] };
  const [rightsDraw, orders, money, told, taken, brief, safer] = [30, 31, 32, 33, 36, 46, 65].map(
    (part) => new Draw(seed, part),
  );
  const deeds = [
    ...lostRights(rightsDraw!, given),
    ...oldOrders(orders!, given),
    ...quotes(orders!, given),
    ...brinks(orders!, given),
    ...drains(money!, given),
    ...spotSales(money!, given),
    ...gates(money!, given),
    ...triggers(told!, given),
    ...takeovers(taken!, given),
    ...flashes(brief!, given),
    ...reductions(safer!, given),
  ];
  return { accounts: given.accounts.slice(planned.length), deeds };
}

/** Number of an account of a wallet's own for such deeds, in one market. */
function addAccount(
  draw: Draw,
  { wallets, accounts }: Given,
  symbol: string,
  given?: { readonly collateral: number },
): number {
  const { name, pdaIndices } = draw.one(wallets);
  const pdaIndex = draw.one(pdaIndices);
  const taken = accounts.filter((one) => one.wallet === name && one.pdaIndex === pdaIndex);
  const subaccount = Math.max(ownSubaccount - 1, ...taken.map((one) => one.subaccount)) + 1;
  const collateral = given?.collateral ?? Math.round(10 ** draw.between(3, 4.5));
  accounts.push({ wallet: name, pdaIndex, subaccount, symbols: [symbol], collateral, spot: 0 });
  return accounts.length - 1;
}

/** Rights that come and go, some of them faster than an account is read. */
function lostRights(draw: Draw, { lengthMs, accounts }: Given): readonly Deed[] {
  if (!draw.chance(0.35)) return [];
  const deeds: Deed[] = [];
  for (let i = draw.whole(1, 2); i > 0; i--) {
    const account = draw.whole(0, accounts.length - 1);
    let atMs = draw.between(0, 2 * minuteMs);
    for (let changes = draw.whole(1, 6); changes > 0 && atMs < lengthMs; changes--) {
      const lost = rights.filter(() => draw.chance(0.4));
      deeds.push({ kind: "rights", atMs, account, lost: draw.one([lost, lost, [], rights]) });
      atMs += draw.chance(0.3) ? draw.between(300, 3_000) : draw.between(10_000, 200_000);
    }
  }
  return deeds;
}

/** Orders that rest since long before the beginning; some come to the age at which they are told of. */
function oldOrders(draw: Draw, { lengthMs, accounts }: Given): readonly Deed[] {
  if (!draw.chance(0.35)) return [];
  const deeds: Deed[] = [];
  for (let i = draw.whole(1, 3); i > 0; i--) {
    const account = draw.whole(0, accounts.length - 1);
    const { symbols: traded } = accounts[account]!;
    const rested = Array.from({ length: draw.whole(1, 3) }, () =>
      draw.one<() => number>([
        () => stuckAfterMs - draw.between(0.1, 0.8) * lengthMs,
        () => stuckAfterMs - draw.between(0.1, 0.8) * lengthMs,
        () => draw.between(stuckAfterMs, 160 * hourMs),
        // Longer than a history is read back.
        () => draw.between(180 * hourMs, 400 * hourMs),
        () => draw.between(hourMs, 70 * hourMs),
      ])(),
    );
    for (const restedMs of rested.sort((a, b) => b - a))
      deeds.push({
        ...{ kind: "order", atMs: 0, account, symbol: draw.one(traded) },
        leverage: draw.between(0.05, 0.8) * (draw.chance(0.5) ? 1 : -1),
        distance: draw.between(0.02, 0.4),
        restedMs: Math.round(restedMs),
      });
    for (let ends = draw.whole(0, 2); ends > 0; ends--)
      deeds.push({ kind: "cancel", atMs: draw.between(0.2, 0.9) * lengthMs, account, all: draw.chance(0.5) });
  }
  // The history of orders is in the order of their placing.
  const restedOf = (deed: Deed): number => (deed.kind === "order" ? (deed.restedMs ?? 0) : 0);
  return deeds.sort((a, b) => restedOf(b) - restedOf(a));
}

/** Quotes that grow until the risk engine takes them away, once or again and again. */
function quotes(draw: Draw, given: Given): readonly Deed[] {
  if (!draw.chance(0.35)) return [];
  const symbol = draw.one(symbols);
  const account = addAccount(draw, given, symbol);
  const [limit] = cancelled[symbol]!;
  const deeds: Deed[] = [];
  let atMs = draw.between(5_000, given.lengthMs * 0.5);
  for (let rounds = draw.whole(1, 3); rounds > 0; rounds--) {
    const side = draw.chance(0.5) ? 1 : -1;
    const pauseMs = draw.one([500, 5_000, 15_000]);
    for (let count = draw.whole(3, 8); count > 0; count--) {
      const leverage = side * limit * draw.between(0.15, 0.5);
      deeds.push({ kind: "order", atMs, account, symbol, leverage, distance: draw.between(0.003, 0.05) });
      atMs += pauseMs * draw.between(0.2, 1.5);
    }
    atMs += draw.between(20_000, 200_000);
  }
  return deeds;
}

/** A position so large that orders may be cancelled, beside orders that only reduce it and stay. */
function brinks(draw: Draw, given: Given): readonly Deed[] {
  if (!draw.chance(0.3)) return [];
  const symbol = draw.one(symbols);
  const account = addAccount(draw, given, symbol);
  const [from, to] = cancelled[symbol]!;
  const beginMs = draw.between(0, given.lengthMs * 0.5);
  const leverage = (from + (to - from) * draw.between(0.1, 0.6)) * (draw.chance(0.5) ? 1 : -1);
  const deeds: Deed[] = [{ kind: "trade", atMs: beginMs, account, symbol, leverage }];
  let atMs = beginMs;
  for (let count = draw.whole(1, 3); count > 0; count--) {
    atMs += draw.between(200, 4_000);
    const distance = draw.between(0.01, 0.2);
    deeds.push({ kind: "order", atMs, account, symbol, leverage: 1, distance, reduceOnly: true });
  }
  const endMs = atMs + draw.between(15_000, 150_000);
  deeds.push(
    draw.one<Deed>([
      { kind: "money", atMs: endMs, account, share: 2 },
      { kind: "close", atMs: endMs, account, symbol, share: 0.6 },
      { kind: "cancel", atMs: endMs, account, all: true },
    ]),
  );
  return deeds;
}

/** A price that jumps past all prices at which a position would be sold in the market, and not so far that its account is bankrupt. */
function takeovers(draw: Draw, given: Given): readonly Deed[] {
  if (!draw.chance(0.15)) return [];
  const symbol = draw.one(symbols);
  const account = addAccount(draw, given, symbol);
  const leverage = draw.between(4, 9);
  const side = draw.chance(0.6) ? 1 : -1;
  const ratio = takenAt[symbol]!;
  const move = (side * (1 / leverage - ratio)) / (1 - side * ratio);
  const atMs = draw.between(20_000, given.lengthMs * 0.7);
  const factor = 1 - move;
  const jump: Deed = { kind: "mark", atMs: atMs + draw.between(50, 900), symbol, factor };
  const backMs = jump.atMs + draw.between(2_000, 60_000);
  return [
    { kind: "trade", atMs, account, symbol, leverage: side * leverage },
    jump,
    ...(draw.chance(0.7) ? [{ kind: "mark", atMs: backMs, symbol, factor: 1 / factor } as const] : []),
  ];
}

/** Isolated accounts that are given collateral, trade and give back what is left, all within a second or some: nobody may ever read them. */
function flashes(draw: Draw, given: Given): readonly Deed[] {
  if (!draw.chance(0.15)) return [];
  const symbol = draw.one(symbols);
  const account = addAccount(draw, given, symbol, { collateral: 0 });
  const { wallet, pdaIndex } = given.accounts[account]!;
  const cross = given.accounts.findIndex((one) => one.wallet === wallet && one.pdaIndex === pdaIndex);
  const deeds: Deed[] = [];
  let atMs = draw.between(5_000, given.lengthMs * 0.5);
  const pauseMs = draw.one([100, 500, 2_000]);
  const soon = (): number => {
    atMs += pauseMs * draw.between(0.2, 1.5);
    return atMs;
  };
  for (let rounds = draw.whole(1, 4); rounds > 0; rounds--) {
    const leverage = draw.between(0.5, 8) * (draw.chance(0.5) ? 1 : -1);
    deeds.push(
      { kind: "transfer", atMs: soon(), from: cross, to: account, share: draw.between(0.05, 0.3) },
      { kind: "trade", atMs: soon(), account, symbol, leverage },
      ...(draw.chance(0.5)
        ? [{ kind: "mark", atMs: soon(), symbol, factor: draw.between(0.98, 1.02) } as const]
        : []),
      { kind: "close", atMs: soon(), account, symbol, share: 1 },
      { kind: "transfer", atMs: soon(), from: account, to: cross, share: 1 },
    );
    atMs += draw.one([200, 3_000, 60_000]);
  }
  return deeds;
}

/** A high leverage that is made less by a close and a deposit at once, so that one reading shows both, and the deposit looks like a gain. */
function reductions(draw: Draw, given: Given): readonly Deed[] {
  if (!draw.chance(0.12)) return [];
  const symbol = draw.one(symbols);
  // Most of what its wallet has, so that the deposit is a good part of that.
  const account = addAccount(draw, given, symbol, { collateral: Math.round(10 ** draw.between(5, 5.5)) });
  const deeds: Deed[] = [];
  let atMs = draw.between(5_000, given.lengthMs * 0.3);
  for (let rounds = draw.whole(1, 3); rounds > 0; rounds--) {
    const leverage = draw.between(9, 16) * (draw.chance(0.5) ? 1 : -1);
    deeds.push({ kind: "trade", atMs, account, symbol, leverage });
    atMs += draw.between(10_000, 60_000);
    const closed: Deed = { kind: "close", atMs, account, symbol, share: draw.between(0.4, 1) };
    const share = draw.between(0.02, 0.07);
    const paid: Deed = { kind: "money", atMs: atMs + draw.one([0, 100, 400]), account, share };
    deeds.push(
      ...(draw.chance(0.5)
        ? [closed, paid]
        : [
            { ...paid, atMs },
            { ...closed, atMs: paid.atMs },
          ]),
    );
    atMs += draw.between(30_000, 150_000);
  }
  return deeds;
}

/** Accounts that are emptied in pieces. */
function drains(draw: Draw, { lengthMs, accounts }: Given): readonly Deed[] {
  if (!draw.chance(0.3)) return [];
  const account = draw.whole(0, accounts.length - 1);
  const deeds: Deed[] = [];
  let atMs = draw.between(5_000, lengthMs * 0.6);
  const pauseMs = draw.one([2_000, 10_000, 40_000]);
  for (let count = draw.whole(2, 6); count > 0; count--) {
    deeds.push({ kind: "money", atMs, account, share: draw.chance(0.15) ? 0.1 : -draw.between(0.01, 0.35) });
    atMs += pauseMs * draw.between(0.3, 1.5);
  }
  return deeds;
}

function spotSales(draw: Draw, { lengthMs, accounts }: Given): readonly Deed[] {
  if (!draw.chance(0.15)) return [];
  const crosses = accounts.flatMap(({ subaccount }, index) => (subaccount === 0 ? [index] : []));
  const account = draw.one(crosses);
  const deeds: Deed[] = [
    { kind: "spot", atMs: draw.between(0, minuteMs), account, balance: draw.whole(5, 200) },
  ];
  let atMs = draw.between(1.2 * minuteMs, lengthMs * 0.6);
  for (let count = draw.whole(1, 3); count > 0; count--) {
    deeds.push({ kind: "sell spot", atMs, account, share: draw.one([0.1, 0.4, 1]) });
    atMs += draw.between(1_000, 60_000);
  }
  return deeds;
}

/** Times in which the exchange lets nobody in, or nothing out. */
function gates(draw: Draw, { lengthMs }: Given): readonly Deed[] {
  return (["gated", "withdrawalsAvailable"] as const).flatMap((what): Deed[] => {
    if (!draw.chance(0.15)) return [];
    const fromMs = draw.between(5_000, lengthMs * 0.6);
    const toMs = fromMs + draw.between(5_000, 180_000);
    return [
      { kind: "gate", atMs: fromMs, what, on: true },
      { kind: "gate", atMs: toMs, what, on: false },
    ];
  });
}

/** Triggers that are placed, moved and executed; take profits are among them. */
function triggers(draw: Draw, { lengthMs, accounts }: Given): readonly Deed[] {
  const deeds: Deed[] = [];
  for (const [account, { symbols: traded }] of accounts.entries()) {
    if (!draw.chance(0.12)) continue;
    const symbol = draw.one(traded);
    for (let count = draw.whole(1, 3); count > 0; count--) {
      const trigger = draw.one(["stopLoss", "takeProfit"] as const);
      const distance = draw.between(0.004, 0.1);
      deeds.push({
        kind: "place",
        atMs: draw.between(1_000, lengthMs * 0.8),
        account,
        symbol,
        trigger,
        distance,
      });
    }
    if (!draw.chance(0.4)) continue;
    const share = draw.one([0.3, 0.5, 1]);
    deeds.push({ kind: "execute", atMs: draw.between(10_000, lengthMs * 0.8), account, symbol, share });
  }
  return deeds;
}
