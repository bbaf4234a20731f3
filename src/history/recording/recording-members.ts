/** Matches the members of a new list to known members that only changed. */
import { nothing } from "./recording-picture.ts";

/** Maximum absent members of an observation's list that are kept, as answers may contain only a part of the markets. */
const absentKept = 128;
/** The number of known members that are compared with a new member. */
const compared = 64;

/**
 * Maps new members of a list to the known ones. The writer and the reader use it in the same way, so that both get the same
 * list. Only the writer calls `find`: the reader reads its result.
 */
export class Places {
  readonly #known: readonly unknown[];
  readonly #taken: boolean[] = [];
  readonly #after: unknown[] = [];
  #next = 0;

  constructor(known: readonly unknown[]) {
    this.#known = known;
  }

  /** @returns the index of the known member that `value` is a change of, or -1 */
  find(value: unknown): number {
    const known = this.#known;
    const count = Math.min(known.length, compared);
    for (let i = 0; i < count; i++) {
      const place = (this.#next + i) % known.length;
      if (this.#taken[place] !== true && isSame(value, known[place], 2)) return place;
    }
    return -1;
  }

  take(place: number, now: unknown): void {
    this.#taken[place] = true;
    this.#after.push(now);
    this.#next = place + 1;
  }

  add(now: unknown): void {
    this.#after.push(now);
  }

  /** Returns the members after this list: its own in order, then some absent ones. */
  after(): readonly unknown[] {
    const after = this.#after;
    if (after.length === 0) return after;
    let kept = 0;
    for (let i = 0; i < this.#known.length && kept < absentKept; i++) {
      if (this.#taken[i] === true) continue;
      after.push(this.#known[i]);
      kept++;
    }
    return after;
  }
}

/** @returns true if it has named members, and is not the unknown value */
export function isObject(known: unknown): known is Record<string, unknown> {
  return typeof known === "object" && known !== null && known !== nothing && !Array.isArray(known);
}

export function hasKeys(value: Record<string, unknown>, keys: readonly string[]): boolean {
  let i = 0;
  for (const key in value) if (key !== keys[i++]) return false;
  return i === keys.length;
}

/**
 * Returns true if each member has its former index. Called for every answer, so it compares only first values: an order at
 * the index of another one counts as that one, changed.
 */
export function inPlace(value: readonly unknown[], members: readonly unknown[]): boolean {
  if (value.length !== members.length) return false;
  for (let i = 0; i < members.length; i++) {
    const known = members[i];
    if (isObject(known) && !isSame(value[i], known, 1)) return false;
  }
  return true;
}

/**
 * Returns true if an object is a change of the known one: by its first value (a symbol, an index), and, if two are compared,
 * also by its second one if that is a text (the symbol and number of an order, the kind and key of an event).
 */
function isSame(value: unknown, known: unknown, looked: 1 | 2): boolean {
  if (!isObject(value) || !isObject(known)) return false;
  const keys = Object.keys(known);
  let i = 0;
  for (const key in value) {
    if (key !== keys[i]) return false;
    const one = value[key];
    if (one !== known[key] && (typeof one === "string" || (i === 0 && typeof one === "number"))) return false;
    if (++i === looked) return true;
  }
  return i === keys.length;
}
