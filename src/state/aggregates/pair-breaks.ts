/**
 * Finds the event that broke a pair: events on its legs since it was last whole. States and events arrive through different
 * sources in any order, so an event counts until a state that includes it finds the pair whole.
 *
 * A forced trade is reported several times (as itself, as a fill, as a notification), and repairing a hedge produces further
 * fills. So the most specific event since then counts; of equally specific ones, the newest.
 */
import type { Event } from "../../domain/event.ts";

export const breakers = ["adl", "liquidation", "stop", "fill"] as const;
export type Breaker = (typeof breakers)[number];

const weight: Readonly<Record<Breaker, number>> = { adl: 3, liquidation: 3, stop: 2, fill: 1 };

/** Maximum delay of a state that has no slot to compare, ms. */
const slackMs = 5_000;
/** Maximum number of events of a pair that stays whole: the oldest are dropped first. */
const maxKept = 200;

interface PairEvent {
  readonly by: Breaker;
  readonly wallet: string;
  readonly pdaIndex: number | null;
  readonly subaccount: number | null;
  readonly slot: number;
  readonly happenedMs: number;
}

/** The newest state of an account: its slot, and the time at which it arrived. */
export interface AccountShown {
  readonly wallet: string;
  readonly pdaIndex: number;
  /** Null: all accounts of the PDA index, closed ones included. */
  readonly subaccount: number | null;
  readonly slot: number;
  readonly atMs: number;
}

export class PairBreaks {
  #events: PairEvent[] = [];
  /** The states in which the pair was last whole. */
  #whole: readonly AccountShown[] = [];

  note(event: Event): Breaker | null {
    const by = breakerOf(event);
    if (by === null) return null;
    const { wallet, pdaIndex, subaccount, slot, happenedMs } = event;
    const pairEvent: PairEvent = { by, wallet: wallet ?? "", pdaIndex, subaccount, slot, happenedMs };
    // An event may arrive after the pair is whole again, or after something else broke it.
    if (!this.#isLater(pairEvent)) return by;
    this.#events.push(pairEvent);
    if (this.#events.length > maxKept) this.#events.shift();
    return by;
  }

  /** Notes that the pair was whole in these states. */
  whole(states: readonly AccountShown[]): void {
    this.#whole = states;
    if (this.#events.length > 0) this.#events = this.#events.filter((one) => this.#isLater(one));
  }

  #isLater({ wallet, pdaIndex, subaccount, slot, happenedMs }: PairEvent): boolean {
    // Some events name no PDA index: they usually belong to the first one.
    const ofWallet = this.#whole.filter((one) => one.wallet === wallet);
    const index = pdaIndex ?? (ofWallet.find((one) => one.pdaIndex === 0) ?? ofWallet[0])?.pdaIndex;
    const states = ofWallet.filter((one) => one.pdaIndex === index);
    // The stream sends one account at a time: a newer state of another account does not show the event.
    const state =
      states.find((one) => one.subaccount === subaccount) ?? states.find((one) => one.subaccount === null);
    if (!state) return true;
    // A state of the same slot as an event may be from before it.
    return slot > 0 && state.slot > 0 ? slot >= state.slot : happenedMs > state.atMs - slackMs;
  }

  get by(): Breaker | "" {
    let best: PairEvent | null = null;
    for (const one of this.#events) {
      if (
        best === null ||
        weight[one.by] > weight[best.by] ||
        (weight[one.by] === weight[best.by] && one.happenedMs >= best.happenedMs)
      )
        best = one;
    }
    return best?.by ?? "";
  }
}

/** Returns the more specific of the two; of equally specific ones the second. */
export function heavier(one: Breaker | "", other: Breaker | ""): Breaker | "" {
  if (one === "" || other === "") return other || one;
  return weight[one] > weight[other] ? one : other;
}

/** True if a trade was forced or came from a resting order: neither is part of a trade on both legs. */
export function isForced(by: Breaker): boolean {
  return weight[by] > weight.fill;
}

function breakerOf({ kind, fields, inbox, backfilled }: Event): Breaker | null {
  if (backfilled) return null;
  switch (kind) {
    case "liquidation":
      return fields.kind === "adl" ? "adl" : "liquidation";
    case "fill":
      return fields.tradeType === "adl" || fields.tradeType === "liquidation" ? fields.tradeType : "fill";
    case "notification":
      return notified.get(inbox?.notificationType ?? String(fields.type)) ?? null;
    default:
      return null;
  }
}

const notified: ReadonlyMap<string, Breaker> = new Map([
  ["adl", "adl"],
  ["liquidation", "liquidation"],
  ["backstop_liquidation", "liquidation"],
  ["stop_loss_executed", "stop"],
  ["conditional_order_executed", "stop"],
  ["order_filled", "fill"],
]);
