/**
 * Finds what broke a pair: events on its legs since it was last whole. States and events come by different ways and in
 * either order, so an event counts until a state that shows it finds the pair whole.
 *
 * A trade that the exchange forced is told several times (as itself, as a fill, as a notification), and whoever repairs a
 * hedge makes fills of his own: so of what happened since, the word that tells most counts, and of equals the newest.
 */
import type { Event } from "../domain/event.ts";

export type Breaker = "adl" | "liquidation" | "stop" | "fill";

const weight: Readonly<Record<Breaker, number>> = { adl: 3, liquidation: 3, stop: 2, fill: 1 };

/** The time for which a state without a slot to compare may have been on its way. */
const slackMs = 5_000;
/** Fills of a busy pair that stays whole: the oldest go first. */
const mostKept = 200;

interface Told {
  readonly by: Breaker;
  readonly wallet: string;
  readonly pdaIndex: number | null;
  readonly slot: number;
  readonly happenedMs: number;
}

export class PairBreaks {
  #told: Told[] = [];

  note(event: Event): Breaker | null {
    const by = breakerOf(event);
    if (by === null) return null;
    const { wallet, pdaIndex, slot, happenedMs } = event;
    this.#told.push({ by, wallet: wallet ?? "", pdaIndex, slot, happenedMs });
    if (this.#told.length > mostKept) this.#told.shift();
    return by;
  }

  /** The pair was found whole. @param stateOf the newest answer about a wallet: its slot, and when it came */
  whole(stateOf: (wallet: string, pdaIndex: number | null) => { slot: number; atMs: number }): void {
    if (this.#told.length === 0) return;
    this.#told = this.#told.filter(({ wallet, pdaIndex, slot, happenedMs }) => {
      const state = stateOf(wallet, pdaIndex);
      // A state of the slot of an event may be from before it.
      return slot > 0 && state.slot > 0 ? slot >= state.slot : happenedMs > state.atMs - slackMs;
    });
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
