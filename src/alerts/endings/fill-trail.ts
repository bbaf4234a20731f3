/**
 * The course of a position by its fills since it was last seen. Between two readings it may have been closed, opened
 * again and liquidated: a fill that closed it explains its end only if the later fills leave nothing unexplained.
 */
import type { Event } from "../../domain/event.ts";

export class FillTrail {
  /** Another position of the same market exists now. */
  readonly #another: boolean;
  readonly #wasTaken: boolean;
  #newest: Event | null = null;
  /** The newest fill that closed a position. */
  #closing: Event | null = null;
  /** True if a fill was made by a liquidation, a deleveraging or an unknown cause: a record of that is expected. */
  #forced = false;

  /** @param wasTaken true if fills that do not arrive again showed it as taken */
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

  /** True if orders on the book closed it, and the fills since then explain the current position. */
  get closed(): boolean {
    if (this.#closing === null || this.#forced || this.#newest === null) return false;
    return this.#another || leftBy(this.#newest).flat === true;
  }

  /** True if its last part was closed by a liquidation or a deleveraging. */
  get taken(): boolean {
    return this.#closing === null ? this.#wasTaken : !isOnBook(this.#closing);
  }
}

/** Returns false also if the trade type is unknown. */
function isOnBook({ fields: { tradeType } }: Event): boolean {
  return tradeType === "limit" || tradeType === "market";
}

function leftBy({ data }: Event): { readonly closed?: boolean; readonly flat?: boolean } {
  return data ?? {};
}

/** Orders fills by the exchange's order; of equal ones the one received later. */
function follows(one: Event, other: Event): boolean {
  const by = one.slot - other.slot || one.slotIndex - other.slotIndex || one.eventIndex - other.eventIndex;
  return by >= 0;
}
