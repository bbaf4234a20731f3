/**
 * The course of a position, by its fills since it was last seen. Between two readings it may have been closed, opened anew
 * and liquidated: a fill that closed it is word of its end only where the fills after it leave nothing else to be explained.
 */
import type { Event } from "../../domain/event.ts";

export class FillTrail {
  /** Another position of its name stands there now. */
  readonly #another: boolean;
  readonly #wasTaken: boolean;
  #newest: Event | null = null;
  /** The newest of those after which nothing of a position was left. */
  #closing: Event | null = null;
  /** One was made by a liquidation, a deleveraging or what nobody knows: word of that is on its way. */
  #forced = false;

  /** @param wasTaken so it was by fills that are not told again */
  constructor(another: boolean, wasTaken = false) {
    this.#another = another;
    this.#wasTaken = wasTaken;
  }

  /** @param fill of this position's account and market, since it was last seen; in any order */
  note(fill: Event): void {
    if (!isOnBook(fill)) this.#forced = true;
    if (leftBy(fill).closed === true && (this.#closing === null || follows(fill, this.#closing)))
      this.#closing = fill;
    if (this.#newest === null || follows(fill, this.#newest)) this.#newest = fill;
  }

  /** True if orders on the book closed it, and nothing is missing from there to what stands now. */
  get closed(): boolean {
    if (this.#closing === null || this.#forced || this.#newest === null) return false;
    return this.#another || leftBy(this.#newest).flat === true;
  }

  /** True if the last of it went in a liquidation or a deleveraging. */
  get taken(): boolean {
    return this.#closing === null ? this.#wasTaken : !isOnBook(this.#closing);
  }
}

/** False also where nobody knows. */
function isOnBook({ fields: { tradeType } }: Event): boolean {
  return tradeType === "limit" || tradeType === "market";
}

function leftBy({ data }: Event): { readonly closed?: boolean; readonly flat?: boolean } {
  return data ?? {};
}

/** By the exchange's order; of one place the one that was told later. */
function follows(one: Event, other: Event): boolean {
  const by = one.slot - other.slot || one.slotIndex - other.slotIndex || one.eventIndex - other.eventIndex;
  return by >= 0;
}
