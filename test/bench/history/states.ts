/**
 * Trader states of 6 KB that live on from poll to poll as the simulator's do: funding runs on in every position with each of
 * them, and now and then an order is filled, placed or withdrawn. Marks move, too, and with them every figure of the ticks.
 */
import { subaccountState } from "../../../src/collect/translate/trader-state.ts";
import { endpoints } from "../../../src/contract/endpoints.ts";
import { parseJson } from "../../../src/contract/json.ts";
import { parseReply } from "../../../src/contract/reply.ts";
import type { Random } from "../../../src/domain/clock.ts";
import type { Observation } from "../../../src/domain/observation.ts";
import { example } from "../../contract/example.ts";

interface Position {
  symbol: string;
  basePositionLots: string;
  virtualQuotePositionLots: string;
  unsettledFundingQuoteLots: string;
  accumulatedFundingQuoteLots: string;
}

interface Order {
  orderSequenceNumber: string;
  sizeRemainingLots: string;
}

interface State {
  slot: number;
  snapshot: {
    subaccounts: {
      sequence: number;
      collateral: string;
      positions: Position[];
      orders: { symbol: string; orders: Order[] }[];
    }[];
  };
}

const symbols = ["BTC", "SOL", "ETH", "GOLD"];
/** The share of polls in which an account trades. */
const trading = 0.1;

export class LivingAccount {
  readonly #wallet: string;
  readonly #random: Random;
  readonly #state: State;
  #text = "";

  constructor(wallet: string, random: Random) {
    this.#wallet = wallet;
    this.#random = random;
    this.#state = structuredClone(example("trader-state-snapshot")) as State;
    const [first] = this.#state.snapshot.subaccounts;
    this.#state.snapshot.subaccounts = first ? [first] : [];
    for (const one of this.#state.snapshot.subaccounts) {
      const [flat, stopped] = one.positions;
      if (!flat || !stopped) throw new Error("the example has two positions");
      one.positions = symbols.map((symbol, i) => ({
        ...structuredClone(i % 2 === 0 ? flat : stopped),
        symbol,
        basePositionLots: String(this.#whole(1_000, 90_000) * (i % 2 === 0 ? 1 : -1)),
        virtualQuotePositionLots: String(-this.#whole(1e9, 9e10) * (i % 2 === 0 ? 1 : -1)),
        unsettledFundingQuoteLots: String(this.#whole(-9e6, 9e6)),
        accumulatedFundingQuoteLots: String(this.#whole(-9e7, 9e7)),
      }));
      const [orders] = one.orders;
      if (!orders) throw new Error("the example has orders");
      one.orders = symbols.map((symbol, i) => ({
        symbol,
        orders: [0, 1].map((n) => ({
          ...structuredClone(orders.orders[0] as Order),
          orderSequenceNumber: `77${i}${n}`,
        })),
      }));
    }
  }

  /** The size of the last answer, as text. */
  get bytes(): number {
    return this.#text.length;
  }

  /** The next answer, 5 s later. */
  next(atMs: number): Observation {
    const state = this.#state;
    state.slot += this.#whole(11, 14);
    for (const one of state.snapshot.subaccounts) {
      for (const position of one.positions)
        position.unsettledFundingQuoteLots = String(
          Number(position.unsettledFundingQuoteLots) + this.#whole(-400, 400),
        );
      if (this.#random() < trading) {
        one.sequence++;
        const position = one.positions[this.#whole(0, one.positions.length - 1)] as Position;
        const order = one.orders[this.#whole(0, one.orders.length - 1)]?.orders[0] as Order;
        const lots = this.#whole(-500, 500);
        position.basePositionLots = String(Number(position.basePositionLots) + lots);
        position.virtualQuotePositionLots = String(Number(position.virtualQuotePositionLots) - lots * 1e6);
        one.collateral = String(Number(one.collateral) + this.#whole(-4e6, 4e6));
        if (this.#random() < 0.5) order.sizeRemainingLots = String(this.#whole(1, 1_500));
        else order.orderSequenceNumber = String(state.slot * 16 + this.#whole(0, 15));
      }
    }
    this.#text = JSON.stringify(state);
    return this.again(atMs);
  }

  /** The last answer, told once more. */
  again(atMs: number): Observation {
    const reply = parseReply(endpoints.traderState, parseJson(this.#text));
    if (!reply.ok) throw new Error(reply.problem.message);
    const { slot, slotIndex, snapshot } = reply.record;
    return {
      kind: "accounts",
      wallet: this.#wallet,
      pdaIndex: 0,
      atMs,
      slot,
      slotIndex,
      subaccounts: snapshot.subaccounts.map((row) => subaccountState(row, () => {})),
    };
  }

  #whole(from: number, to: number): number {
    return from + Math.floor(this.#random() * (to - from + 1));
  }
}
