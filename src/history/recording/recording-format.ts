/**
 * The format of a recording: observations as bytes, each as its difference from the previous one of the same kind and owner.
 * The format does not depend on the kinds of observations: a new kind needs no change. It is lossless: the order of keys,
 * missing and undefined values, bigints, Infinity, NaN and -0 are preserved.
 *
 *   record    stream (kind and owner; 0: a new one), then its value against the stream's last
 *   object    the same keys as before: a bit for each key, then the values that changed; else its keys and all values
 *   list      the same members as before: a bit for each, then those that changed; else for each which one it was before
 *   whole     the difference from the number before it, in 1 to 8 bytes, bigints too
 *   decimal   a double that is a whole number of 1/100 … 1/10^9: that number, likewise
 *   text      a number in a table of the latest texts, or the text
 *
 * The writer and the reader keep the same last observation of each stream (`Picture`). There are thousands, for months, so the
 * writer keeps references to the observations, not copies. Observations are immutable.
 */
import { maxWhole } from "./recording-bytes.ts";

export const tags = {
  same: 0,
  null: 1,
  undefined: 2,
  true: 3,
  false: 4,
  whole: 5,
  double: 6,
  /** 7 to 10: by `scales`. */
  decimal: 7,
  bigint: 11,
  bigintText: 12,
  textKnown: 13,
  textNew: 14,
  textLong: 15,
  textRaw: 16,
  objectNew: 17,
  objectChanged: 18,
  listNew: 19,
  listChanged: 20,
  listMoved: 21,
  json: 22,
  /** From here on: a whole number whose difference fits into the rest of the byte. */
  small: 128,
} as const;

export const scales = [1e2, 1e4, 1e6, 1e9] as const;

/** Streams 0 and 1 are markers. */
export const newStream = 0;
/** Marker: the next record repeats one from before the point at which reading can begin. */
export const carriedMark = 1;
export const firstStream = 2;
export const textsKept = 4_096;
/** The depth of those lists. */
export const listDepth = 2;

export interface Shape {
  readonly id: number;
  readonly keys: readonly string[];
}

/** Returns the whole number to which a difference refers: 0 if none is known. */
export function wholeOf(known: unknown): number {
  return typeof known === "number" && Number.isInteger(known) && Math.abs(known) < maxWhole ? known : 0;
}

export function bigintOf(known: unknown): number {
  if (typeof known !== "bigint") return 0;
  const number = Number(known);
  return Math.abs(number) < maxWhole / 2 ? number : 0;
}

export function scaledOf(known: unknown, scale: number): number {
  if (typeof known !== "number") return 0;
  const scaled = Math.round(known * scale);
  return Math.abs(scaled) < maxWhole ? scaled : 0;
}
