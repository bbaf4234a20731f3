/** The known liquidations and deleveragings, and the alerts that each of them ended. */

import type { Alert, Taking } from "../../domain/alerts/alert.ts";
import type { Event } from "../../domain/event.ts";
import { type AccountRef, accountName } from "../../domain/subject.ts";
import { settledAfterMs, type WaitingEnding } from "./waiting-ending.ts";

/**
 * Allowance for the difference between the exchange's clock and the local clock when a liquidation is compared with the
 * times of an alert.
 */
export const clockSlackMs = 60_000;
/** Parts of a liquidation that are remembered: a position is liquidated in several parts. */
const partsKept = 64;
/** Relative tolerance when a sum of parts is compared with the whole. */
const partsRoom = 1e-6;

interface Liquidated {
  readonly ending: Taking;
  /** True if it had a profit and was closed against a bankrupt account. */
  readonly profited: boolean;
  readonly happenedMs: number;
  readonly slot: number;
  /** True if a part of the position was left; null: the inbox does not state it. */
  readonly leftSome: boolean | null;
}

/** The size of a liquidation, in units. */
interface Part {
  readonly key: string;
  readonly slot: number;
  readonly size: number;
}

export class Liquidations {
  /** The newest liquidation of a position, or of anything in an account. Bounded by the watched accounts. */
  readonly #liquidated: Map<string, Liquidated>;
  /** The sizes of the newest liquidations of a position. */
  readonly #parts: Map<string, readonly Part[]>;
  /** By rule and subject: the liquidation that ended its last alert. It does not explain the end of the next one. */
  readonly #endedByMs: Map<string, number>;

  /** @param before the liquidations of the watch that is replaced at a reload */
  constructor(before: Liquidations | undefined) {
    this.#liquidated = before ? before.#liquidated : new Map();
    this.#parts = before ? before.#parts : new Map();
    this.#endedByMs = before ? before.#endedByMs : new Map();
  }

  /**
   * Takes events from before the start, which are not reported again. Ignores events that are no liquidation of a
   * watched account, and events of the future: as the newest, one would hide all real ones.
   */
  remember(event: Event, nowMs: number): void {
    const { kind, key: eventKey, wallet, pdaIndex, subaccount, symbol, happenedMs, slot, fields } = event;
    if (kind !== "liquidation" || wallet === null || happenedMs > nowMs + clockSlackMs) return;
    const profited = fields.role === "adl_counterparty";
    if (profited ? symbol === null : fields.role !== "liquidatee") return;
    const named = pdaIndex !== null && subaccount !== null;
    const place = named ? accountName({ wallet, pdaIndex, subaccount }) : wallet;
    // A position closed at a profit ends no alert of its account.
    const side = typeof fields.side === "string" ? fields.side : null;
    const own = keyOf(place, symbol, side);
    const keys = profited ? [own] : [keyOf(place, null), own];
    const ending = fields.kind === "adl" ? "deleveraged" : "liquidated";
    const leftSome = typeof fields.positionClosed === "boolean" ? !fields.positionClosed : null;
    if (symbol !== null && typeof fields.size === "number") {
      const others = (this.#parts.get(own) ?? []).filter((part) => part.key !== eventKey);
      this.#parts.set(own, [...others, { key: eventKey, slot, size: fields.size }].slice(-partsKept));
    }
    for (const key of keys) {
      const known = this.#liquidated.get(key);
      if (known !== undefined && (known.happenedMs - happenedMs || known.slot - slot) > 0) continue;
      this.#liquidated.set(key, { ending, profited, happenedMs, slot, leftSome });
    }
  }

  /** Restores from history that an alert ended by a liquidation or deleveraging at this time. */
  rememberEnded({ rule, subject }: Pick<Alert, "rule" | "subject">, happenedMs: number): void {
    const name = `${rule}\n${subject}`;
    this.#endedByMs.set(name, Math.max(happenedMs, this.#endedByMs.get(name) ?? 0));
  }

  /**
   * Returns true if anything of an account was liquidated since a slot and since a time, within the clock tolerance.
   */
  liquidatedSince(account: AccountRef, sinceMs: number, fromSlot: number): boolean {
    const newest = this.#liquidated.get(keyOf(accountName(account), null));
    return newest !== undefined && newest.slot >= fromSlot && newest.happenedMs >= sinceMs - clockSlackMs;
  }

  /** Returns true if the exchange stated that it closed a whole position after a slot. */
  tookAllSince(account: AccountRef, symbol: string, side: string | null, slot: number): boolean {
    return [side, null].some((of) => {
      const newest = this.#liquidated.get(keyOf(accountName(account), symbol, of));
      return newest?.leftSome === false && newest.slot > slot;
    });
  }

  /** Returns the newest liquidation of the account, or of its wallet with no account named. */
  newest(waiting: WaitingEnding): Liquidated | undefined {
    let newest: Liquidated | undefined;
    for (const key of keysOf(waiting)) {
      const one = this.#liquidated.get(key);
      if (one && (newest === undefined || one.happenedMs > newest.happenedMs)) newest = one;
    }
    return newest;
  }

  /**
   * Returns the liquidation that ended the subject: one that happened while it existed, within the clock tolerance.
   * Null: none.
   */
  takingOf(waiting: WaitingEnding): Taking | null {
    const newest = this.newest(waiting);
    if (newest === undefined) return null;
    const { ending, profited, happenedMs, slot, leftSome } = newest;
    // A condition that held after a liquidation was ended by something else. A reading in its slot may be from before
    // it.
    if (slot < waiting.fromSlot) return null;
    // A liquidation cannot have ended what an earlier state shows as ended.
    if (waiting.goneSlot !== undefined && slot > waiting.goneSlot) return null;
    // A position of which a liquidation left a part was ended by something else, unless its last part was liquidated
    // too.
    const isGone = waiting.symbol !== null && waiting.fallback !== "recovered";
    if (isGone && !waiting.fills.taken && (leftSome ?? this.#isPart(waiting))) return null;
    // An alert about the rest of a position of which a part was closed at a profit has recovered by itself.
    if (profited && waiting.fallback === "recovered") return null;
    const { rule, subject } = waiting.live.alert;
    const endedByMs = this.#endedByMs.get(`${rule}\n${subject}`) ?? Number.NEGATIVE_INFINITY;
    const before = happenedMs <= waiting.goneMs + settledAfterMs;
    const itsOwn = before && happenedMs >= waiting.fromMs - clockSlackMs && happenedMs > endedByMs;
    return itsOwn ? ending : null;
  }

  /** Returns true if the known liquidated size of a position since it was last seen is less than its size. */
  #isPart(waiting: WaitingEnding): boolean {
    const { fromSlot, size } = waiting;
    if (size === undefined) return false;
    const known = keysOf(waiting)
      .flatMap((key) => this.#parts.get(key) ?? [])
      .filter((one) => one.slot >= fromSlot);
    // A part larger than the position in a state of its slot was taken before that state.
    const parts = known.filter((one) => one.slot > fromSlot || one.size <= size * (1 + partsRoom));
    const sum = parts.reduce((total, part) => total + part.size, 0);
    return known.length > 0 && sum < size * (1 - partsRoom);
  }
}

/** Returns the keys of liquidations that may concern the ending: of its account, or with no account named. */
function keysOf({ account, symbol, side }: WaitingEnding): readonly string[] {
  const sides = symbol === null ? [null] : side === undefined ? [null, "long", "short"] : [null, side];
  return [accountName(account), account.wallet].flatMap((place) =>
    sides.map((one) => keyOf(place, symbol, one)),
  );
}

/**
 * @param place a wallet, or one account of it
 * @param side null: none, or unknown
 */
function keyOf(place: string, symbol: string | null, side: string | null = null): string {
  return `${place} ${symbol?.toUpperCase() ?? ""} ${side ?? ""}`;
}
