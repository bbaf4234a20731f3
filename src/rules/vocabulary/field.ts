/** Short forms for the rows of the vocabulary. */
import type { Source } from "../../domain/sources.ts";
import type { Field, FieldType, Range, Unit } from "./field-types.ts";

type Rest = Partial<Pick<Field, "absent" | "members" | "open" | "derived" | "awaits" | "plausible">>;

/**
 * Plausible ranges by unit, for fields without a range of their own. A distance above 1 is possible (a short position's liquidation
 * price may be three times the mark), but no useful limit for an alert.
 */
const plausible: Partial<Readonly<Record<Unit, Range>>> = {
  ratio: { least: 0, most: 1 },
  rate: { least: -0.1, most: 0.1 },
  yearlyRate: { least: -20, most: 20 },
  times: { least: 0, most: 1_000 },
};

/** Rows with the same sources. */
export function group(sources: readonly Source[]) {
  const field = (name: string, type: FieldType, unit: Unit, meaning: string, rest: Rest = {}): Field => ({
    name,
    type,
    unit,
    meaning,
    sources,
    ...(plausible[unit] === undefined ? {} : { plausible: plausible[unit] }),
    ...rest,
  });
  return {
    number: (name: string, unit: Unit, meaning: string, absent?: string): Field =>
      field(name, "number", unit, meaning, absent === undefined ? {} : { absent }),
    /** A number that may plausibly exceed the range of its unit. */
    numberUpTo: (max: number, name: string, unit: Unit, meaning: string, absent?: string): Field =>
      field(name, "number", unit, meaning, {
        ...(absent === undefined ? {} : { absent }),
        plausible: { least: 0, most: max },
      }),
    /** A number that may be missing until the source `awaits` was read. */
    awaited: (name: string, unit: Unit, awaits: Source, meaning: string): Field =>
      field(name, unit === "duration" ? "duration" : "number", unit, meaning, { awaits }),
    derivedNumber: (
      name: string,
      unit: Unit,
      meaning: string,
      derived: NonNullable<Field["derived"]>,
    ): Field => field(name, "number", unit, meaning, { derived }),
    boolean: (name: string, meaning: string): Field => field(name, "boolean", "none", meaning),
    text: (name: string, meaning: string, absent?: string): Field =>
      field(name, "text", "none", meaning, absent === undefined ? {} : { absent }),
    oneOf: (name: string, members: readonly string[], meaning: string, open = false): Field =>
      field(name, "enum", "none", meaning, open ? { members, open } : { members: [...members, "other"] }),
    duration: (name: string, meaning: string, derived?: Field["derived"], absent?: string): Field =>
      field(name, "duration", "duration", meaning, {
        ...(derived === undefined ? {} : { derived }),
        ...(absent === undefined ? {} : { absent }),
      }),
    time: (name: string, meaning: string): Field => field(name, "time", "time", meaning),
    map: (name: string, type: "texts" | "numbers", meaning: string, absent: string): Field =>
      field(name, type, "none", meaning, { absent }),
    list: (name: string, type: "positions" | "orders" | "capabilities", meaning: string): Field =>
      field(name, type, "none", meaning),
  };
}
