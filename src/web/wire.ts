/**
 * JSON as the local API writes it. What JSON has no word for becomes text, so that nothing turns into null unseen:
 * a bigint its digits, and a number that is none of the finite ones `"Infinity"`, `"-Infinity"` or `"NaN"`. A null
 * always means: not known.
 */
import { printableJson } from "../domain/escape.ts";

export function toWire(value: unknown): string {
  const json = JSON.stringify(value, (_name, part: unknown) => {
    if (typeof part === "bigint") return part.toString();
    if (typeof part === "number" && !Number.isFinite(part)) return String(part);
    return part;
  });
  return printableJson(json);
}

/** A number as it stands in an answer. */
export type WireNumber = number | "Infinity" | "-Infinity" | "NaN";

/** The form of an answer with this type after JSON.parse. */
export type Wire<T> = T extends bigint
  ? string
  : T extends number
    ? WireNumber
    : T extends string | boolean | null | undefined
      ? T
      : { [K in keyof T]: Wire<T[K]> };
