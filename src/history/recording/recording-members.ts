/** The members of lists in a recording: which one of the known ones a new one is, only changed. */
import { nothing } from "./recording-picture.ts";

/** Members of an observation's own list that are remembered while they are not in it: markets are told of in parts. */
const absentKept = 128;
/** The number of known members that are compared with a new one. */
const compared = 64;

/**
 * Maps new members of a list to the known ones. Used by writer and reader alike, so that both come to the same list. `find`
 * is the writer's: the reader is told.
 */
export class Places {
  readonly #known: readonly unknown[];
  readonly #taken: boolean[] = [];
  readonly #after: unknown[] = [];
  #next = 0;

  constructor(known: readonly unknown[]) {
    this.#known = known;
  }

  /** @returns the place of the member that `value` was before, or -1 */
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

  /** The members from here on: those of now in their order, then some of those that are not among them. */
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

/** @returns whether it has members with names, and is not the value that stands for nothing known */
export function isObject(known: unknown): known is Record<string, unknown> {
  return typeof known === "object" && known !== null && known !== nothing && !Array.isArray(known);
}

export function hasKeys(value: Record<string, unknown>, keys: readonly string[]): boolean {
  let i = 0;
  for (const key in value) if (key !== keys[i++]) return false;
  return i === keys.length;
}

/**
 * True if each member stands where it stood. Looked at in every answer, so told by first values alone: an order that took
 * another's place is that one, changed.
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
 * True if an object is the one that is known, only changed: told by its first value (a symbol, an index), and, where two are
 * looked at, by its second where that is a text, too (the symbol and number of an order, the kind and key of an event).
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
