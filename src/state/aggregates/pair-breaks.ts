/**
 * Finds what broke a pair: events on its legs since it was last whole. States and events come by different ways and in
 * either order, so an event counts until a state that shows it finds the pair whole.
 *
 * A trade that the exchange forced is told several times (as itself, as a fill, as a notification), and whoever repairs a
 * hedge makes fills of his own: so of what happened since, the word that tells most counts, and of equals the newest.
 */
import type { Event } from "../../domain/event.ts";

export const breakers = ["adl", "liquidation", "stop", "fill"] as const;
export type Breaker = (typeof breakers)[number];

const weight: Readonly<Record<Breaker, number>> = { adl: 3, liquidation: 3, stop: 2, fill: 1 };

/** The time for which a state without a slot to compare may have been on its way. */
const slackMs = 5_000;
/** Fills of a busy pair that stays whole: the oldest go first. */
const maxKept = 200;

interface Told {
  readonly by: Breaker;
  readonly wallet: string;
  readonly pdaIndex: number | null;
  readonly subaccount: number | null;
  readonly slot: number;
  readonly happenedMs: number;
}

/** The newest state of an account: its slot, and when it came. */
export interface AccountShown {
  readonly wallet: string;
  readonly pdaIndex: number;
  /** Null: of all accounts of the PDA index together, those that are gone too. */
  readonly subaccount: number | null;
  readonly slot: number;
  readonly atMs: number;
}

export class PairBreaks {
  #told: Told[] = [];
  /** The states by which the pair was last whole. */
  #whole: readonly AccountShown[] = [];

  note(event: Event): Breaker | null {
    const by = breakerOf(event);
    if (by === null) return null;
    const { wallet, pdaIndex, subaccount, slot, happenedMs } = event;
    const told: Told = { by, wallet: wallet ?? "", pdaIndex, subaccount, slot, happenedMs };
    // Word of it may come when the pair is whole again, or broken by something else.
    if (!this.#isLater(told)) return by;
    this.#told.push(told);
    if (this.#told.length > maxKept) this.#told.shift();
    return by;
  }

  /** The pair was found whole by these states. */
  whole(states: readonly AccountShown[]): void {
    this.#whole = states;
    if (this.#told.length > 0) this.#told = this.#told.filter((one) => this.#isLater(one));
  }

  #isLater({ wallet, pdaIndex, subaccount, slot, happenedMs }: Told): boolean {
    // Some events name no PDA index: usually it is the first one.
    const ofWallet = this.#whole.filter((one) => one.wallet === wallet);
    const index = pdaIndex ?? (ofWallet.find((one) => one.pdaIndex === 0) ?? ofWallet[0])?.pdaIndex;
    const states = ofWallet.filter((one) => one.pdaIndex === index);
    // The stream tells of one account at a time: a newer state of another account does not show it.
    const state =
      states.find((one) => one.subaccount === subaccount) ?? states.find((one) => one.subaccount === null);
    if (!state) return true;
    // A state of the slot of an event may be from before it.
    return slot > 0 && state.slot > 0 ? slot >= state.slot : happenedMs > state.atMs - slackMs;
  }

  get by(): Breaker | "" {
    let best: Told | null = null;
    for (const one of this.#told) {
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

/** The one that tells more; of equals the second. */
export function heavier(one: Breaker | "", other: Breaker | ""): Breaker | "" {
  if (one === "" || other === "") return other || one;
  return weight[one] > weight[other] ? one : other;
}

/** Forced on its owner, or by his own order of before: neither is a part of a trade on both legs. */
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
