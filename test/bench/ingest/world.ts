/**
 * Accounts as the exchange tells of them, from poll to poll: funding runs on in every position with each answer, and in one
 * of ten an order is filled. The accounts are sound, so that none of the 20 rules fires.
 */
import type { Random } from "../../../src/domain/clock.ts";
import { example } from "../../contract/example.ts";
import { rulesText } from "../daemon/judging.ts";

/** The 20 rules of the other benchmarks, with two windows over 24 h and four over 1 h. */
export const ingestRules = rulesText(true)
  .replaceAll(/"(10|5)m"/g, '"1h"')
  .replace("trader.leverage > 10", '\'maxOver("trader.leverage", "24h") > 1000.0\'')
  .replace(
    "position.leverage > 8 && position.unrealizedPnl < 0",
    '\'minOver("position.liquidationDistance", "24h") < 0.00001\'',
  );

interface Position {
  readonly symbol: string;
  basePositionLots: string;
  basePositionUnits: string;
  virtualQuotePositionLots: string;
  unsettledFundingQuoteLots: string;
}

interface Order {
  sizeRemainingLots: string;
}

interface State {
  slot: number;
  readonly snapshot: {
    subaccounts: {
      sequence: number;
      collateral: string;
      positions: Position[];
      orders: { readonly symbol: string; readonly orders: Order[] }[];
      triggers: { readonly symbol: string }[];
    }[];
  };
}

/** The share of answers in which an account has traded. */
const trading = 0.1;
/** Quote lots that a base lot is worth at the marks of daemon/world.ts, to a thousandth. */
const lotWorth: Readonly<Record<string, number>> = { BTC: 6_200_000, SOL: 1_490_000 };

/** Fee of a fill, as a share of its value. */
const feeShare = 0.0005;

export class Account {
  readonly #random: Random;
  readonly #state: State;

  /** @param symbols of the positions that it holds, of BTC and SOL */
  constructor(random: Random, symbols: readonly string[]) {
    this.#random = random;
    this.#state = structuredClone(example("trader-state-snapshot")) as State;
    const { snapshot } = this.#state;
    const [only] = snapshot.subaccounts;
    if (!only) throw new Error("the example has an account");
    snapshot.subaccounts = [only];
    only.positions = only.positions.filter(({ symbol }) => symbols.includes(symbol));
    only.orders = only.orders.slice(0, symbols.length);
    only.triggers = only.triggers.filter(({ symbol }) => symbols.includes(symbol));
    only.collateral = String(52_000_000_000 + this.#whole(0, 1e9));
  }

  /** The next answer. */
  next(): Buffer {
    const state = this.#state;
    state.slot += this.#whole(11, 14);
    for (const one of state.snapshot.subaccounts) {
      for (const position of one.positions)
        position.unsettledFundingQuoteLots = plus(position.unsettledFundingQuoteLots, this.#whole(-400, 400));
      if (this.#random() >= trading) continue;
      one.sequence++;
      const position = one.positions[this.#whole(0, one.positions.length - 1)]!;
      const lots = this.#whole(-50, 50);
      position.basePositionLots = plus(position.basePositionLots, lots);
      const paid = lots * lotWorth[position.symbol]!;
      position.virtualQuotePositionLots = plus(position.virtualQuotePositionLots, -paid);
      one.collateral = plus(one.collateral, -Math.round(Math.abs(paid) * feeShare));
      const order = one.orders[this.#whole(0, one.orders.length - 1)]?.orders[0];
      if (order) order.sizeRemainingLots = String(this.#whole(1, 1_500));
    }
    return Buffer.from(JSON.stringify(state));
  }

  #whole(from: number, to: number): number {
    return from + Math.floor(this.#random() * (to - from + 1));
  }
}

function plus(lots: string, more: number): string {
  return String(Number(lots) + more);
}
