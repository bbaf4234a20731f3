/**
 * JSON of the local API. Values that JSON cannot represent become strings, so that none silently turns into null: a
 * bigint its digits, and non-finite numbers `"Infinity"`, `"-Infinity"` or `"NaN"`. Null always means: not known.
 */
import { printableJson } from "../domain/text/escape.ts";

export function toWire(value: unknown): string {
  const json = JSON.stringify(value, (_name, part: unknown) => {
    if (typeof part === "bigint") return part.toString();
    if (typeof part === "number" && !Number.isFinite(part)) return String(part);
    return part;
  });
  return printableJson(json);
}

/** A number in an answer. */
export type WireNumber = number | "Infinity" | "-Infinity" | "NaN";

/** The type of a value after JSON.parse. */
export type Wire<T> = T extends bigint
  ? string
  : T extends number
    ? WireNumber
    : T extends string | boolean | null | undefined
      ? T
      : { [K in keyof T]: Wire<T[K]> };
