/**
 * Field types of records, as zod schemas.
 *
 * Parsing is tolerant in exactly these ways:
 *  - absent and null are equal, and are parsed to `null` (`maybe`), `[]` (`listOf`) or the stated value (`orElse`),
 *    so a parsed record always has all its known fields;
 *  - unknown fields pass through (`record`), unknown members of enums are kept (`word`, `lowerWord`);
 *  - an integer may be a JSON integer or a decimal string.
 * It is exact in these: quantities that may exceed 2^53 (lots, amounts) are parsed to bigint, sequence numbers to
 * strings; human decimals (`dec`) stay strings. Every time is parsed to Unix milliseconds.
 *
 * The nodes below are custom zod types, because transforms and unions take three times as long for records that are
 * parsed thousands of times a second (test/bench/contract.ts).
 */
import { z } from "zod";
import { readTime } from "./time.ts";

/** Any zod schema with a known output and wire form. */
export type Schema<Out = unknown, In = unknown> = z.core.$ZodType<Out, In>;
/** A schema whose key may be absent on the wire. */
type Omittable<Out, In> = Schema<Out, In | null | undefined> & { _zod: { optin: "optional" } };

/** The parsed type of a schema. */
export type Output<S extends Schema> = z.output<S>;
/** The wire type of a schema. */
export type Wire<S extends Schema> = z.input<S>;

interface ScalarDef extends z.core.$ZodTypeDef {
  read: (wire: unknown) => unknown;
  expected: string;
}
interface ScalarNode extends z.core.$ZodType {
  _zod: z.core.$ZodTypeInternals & { def: ScalarDef };
}
const ScalarNode = z.core.$constructor<ScalarNode, ScalarDef>("PerpwatchScalar", (node, def) => {
  z.core.$ZodType.init(node, def);
  const { read, expected } = def;
  node._zod.parse = (payload) => {
    const value = read(payload.value);
    if (value === undefined) {
      payload.issues.push({
        code: "custom",
        message: `expected ${expected}`,
        input: payload.value,
        inst: node,
      });
    } else payload.value = value;
    return payload;
  };
});

interface FillDef extends z.core.$ZodTypeDef {
  inner: z.core.$ZodType;
  fill: () => unknown;
}
interface FillNode extends z.core.$ZodType {
  _zod: z.core.$ZodTypeInternals & { def: FillDef };
}
const FillNode = z.core.$constructor<FillNode, FillDef>("PerpwatchFill", (node, def) => {
  z.core.$ZodType.init(node, def);
  node._zod.optin = "defaulted";
  const inner = def.inner._zod;
  const { fill } = def;
  node._zod.parse = (payload, context) => {
    if (payload.value === null || payload.value === undefined) {
      payload.value = fill();
      return payload;
    }
    return inner.run(payload, context);
  };
});

interface UniqueDef extends z.core.$ZodTypeDef {
  inner: z.core.$ZodType;
  keyOf: (item: never) => unknown;
}
interface UniqueNode extends z.core.$ZodType {
  _zod: z.core.$ZodTypeInternals & { def: UniqueDef };
}
const UniqueNode = z.core.$constructor<UniqueNode, UniqueDef>("PerpwatchUnique", (node, def) => {
  z.core.$ZodType.init(node, def);
  node._zod.optin = "defaulted";
  const inner = def.inner._zod;
  const keyOf = def.keyOf as (item: unknown) => unknown;
  node._zod.parse = (payload, context) => {
    const read = inner.run(payload, context) as z.core.ParsePayload<unknown[]>;
    if (read.issues.length > 0 || read.value.length < 2) return read;
    if (new Set(read.value.map(keyOf)).size < read.value.length)
      read.issues.push({
        code: "custom",
        message: "expected each item once",
        input: read.value,
        inst: node,
      });
    return read;
  };
});

interface MapDef extends z.core.$ZodTypeDef {
  inner: z.core.$ZodType;
}
interface MapNode extends z.core.$ZodType {
  _zod: z.core.$ZodTypeInternals & { def: MapDef };
}
const MapNode = z.core.$constructor<MapNode, MapDef>("PerpwatchMap", (node, def) => {
  z.core.$ZodType.init(node, def);
  const inner = def.inner._zod;
  node._zod.parse = (payload, context) => {
    const read = inner.run(payload, context) as z.core.ParsePayload;
    for (const { path } of read.issues)
      if (path !== undefined && path.length > 0) path[0] = Symbol(String(path[0]));
    return read;
  };
});

/** A single value. @param read returns undefined for a value that it cannot parse */
export function scalar<Out, In>(expected: string, read: (wire: unknown) => Out | undefined): Schema<Out, In> {
  return new ScalarNode({ type: "custom", read, expected }) as unknown as Schema<Out, In>;
}

/** A record: known fields are checked, unknown ones are kept (they are not in the type). */
export function record<Shape extends z.core.$ZodLooseShape>(shape: Shape): z.ZodObject<Shape, z.core.$strip> {
  return z.looseObject(shape) as unknown as z.ZodObject<Shape, z.core.$strip>;
}

/** May be absent or null on the wire; parsed to null. */
export function maybe<S extends Schema>(inner: S): Omittable<Output<S> | null, Wire<S>> {
  return fill(inner, () => null);
}

/** May be absent or null on the wire; parsed to `value`. */
export function orElse<S extends Schema>(inner: S, value: Output<S>): Omittable<Output<S>, Wire<S>> {
  return fill(inner, () => value);
}

/** A list; absent or null is parsed to an empty one. */
export function listOf<S extends Schema>(item: S): Omittable<Output<S>[], Wire<S>[]> {
  return fill(z.array(item), () => []) as unknown as Omittable<Output<S>[], Wire<S>[]>;
}

/** A list with unique keys; absent or null is parsed to an empty one. */
export function uniqueListOf<S extends Schema>(
  item: S,
  keyOf: (item: Output<S>) => unknown,
): Omittable<Output<S>[], Wire<S>[]> {
  const node = new UniqueNode({ type: "custom", inner: listOf(item), keyOf });
  return node as unknown as Omittable<Output<S>[], Wire<S>[]>;
}

/**
 * An object used as a map from symbol (or another free key); absent or null is parsed to an empty one. In the path of an
 * issue a key is a JavaScript symbol with the key as its text, because the server chose it.
 */
export function mapOf<S extends Schema>(
  item: S,
): Omittable<Record<string, Output<S>>, Record<string, Wire<S>>> {
  const node = new MapNode({ type: "custom", inner: z.record(z.string(), item) });
  return fill(node, () => ({})) as unknown as Omittable<Record<string, Output<S>>, Record<string, Wire<S>>>;
}

function fill<Out, In>(inner: Schema, value: () => unknown): Omittable<Out, In> {
  return new FillNode({ type: "custom", inner, fill: value }) as unknown as Omittable<Out, In>;
}

const integerText = /^-?\d+$/;
/** Maximum digits of a 128-bit integer: arithmetic with millions of digits blocks the process for seconds. */
const lotsText = /^-?\d{1,39}$/;
/** Maximum length of a sequence number or identifier. */
const maxSequenceLength = 64;
/** Maximum nesting of a raw value that is kept: serializing it recurses on the stack. */
const maxDepth = 32;

/** Text of any kind. */
export const text = scalar<string, string>("text", (v) => (typeof v === "string" ? v : undefined));

/** A base58 public key (not decoded here: keys in replies are shown and compared as text). */
export const key = text;

export const flag = scalar<boolean, boolean>("true or false", (v) =>
  typeof v === "boolean" ? v : undefined,
);

/** An integer that fits a double exactly; a larger one does not fit the record. */
export const int = scalar<number, number | string>("an integer", (v) => {
  const n = typeof v === "string" && integerText.test(v) ? Number(v) : v;
  return typeof n === "number" && Number.isSafeInteger(n) ? n : undefined;
});

/** An integer within bounds. */
function intWithin(least: number, most: number): Schema<number, number | string> {
  return scalar<number, number | string>(`an integer from ${least} to ${most}`, (v) => {
    const n = typeof v === "string" && integerText.test(v) ? Number(v) : v;
    return typeof n === "number" && Number.isInteger(n) && n >= least && n <= most ? n : undefined;
  });
}

/** Decimal places of an amount. Powers of ten are computed with it, so it is bounded. */
export const decimalPlaces = intWithin(-30, 30);

/** A slot of the ledger, at most that of a thousand years from now: one far ahead would suppress all later ones. */
export const slot = intWithin(0, 100_000_000_000);

/** Number of an account family of a wallet, or of a subaccount in it: one byte in the address of the account. */
export const accountIndex = intWithin(0, 255);

/** A number, maybe with a fraction or exponent. */
export const num = scalar<number, number | string>("a number", (v) => {
  const n = typeof v === "string" && v.trim() !== "" ? Number(v) : v;
  return typeof n === "number" && Number.isFinite(n) ? n : undefined;
});

/** An exact quantity in whole lots, ticks or native units (u64, i64, at most 39 digits). */
export const lots = scalar<bigint, string | number | bigint>("an integer", (v) => {
  if (typeof v === "string") return lotsText.test(v) ? BigInt(v) : undefined;
  if (typeof v === "number") return Number.isSafeInteger(v) ? BigInt(v) : undefined;
  return typeof v === "bigint" ? v : undefined;
});

/** A sequence number or another identifier up to 2^64: compared as text, not used in arithmetic. */
export const sequence = scalar<string, string | number>("a sequence number", (v) => {
  if (typeof v === "string") return v === "" || v.length > maxSequenceLength ? undefined : v;
  return typeof v === "number" && Number.isSafeInteger(v) ? String(v) : undefined;
});

/** A decimal in human units, kept as text ("-17.25", "5e-05"). Use `Number(x)` if a double is precise enough. */
export const dec = scalar<string, string | number>("a decimal", (v) => {
  if (typeof v === "string") return v.trim() !== "" && Number.isFinite(Number(v)) ? v : undefined;
  return typeof v === "number" && Number.isFinite(v) ? String(v) : undefined;
});

/** A time in any of the wire's forms; parsed to Unix milliseconds. */
export const time = scalar<number, string | number>("a time", readTime);

/** `[price, size]` of an order book, USD and units. */
export const level = scalar<[number, number], [number, number]>("a [price, size] pair", (v) =>
  Array.isArray(v) && typeof v[0] === "number" && typeof v[1] === "number" ? [v[0], v[1]] : undefined,
);

/** A string of a list that may grow: the type has the known members; any other string is kept. */
export type Open<Known extends string> = Known | (string & {});

/** A member of an open list, unchanged. */
export function word<const Known extends string>(_known: readonly Known[]): Schema<Open<Known>, Open<Known>> {
  return text as unknown as Schema<Open<Known>, Open<Known>>;
}

/** A member that servers write in any case or under other names; parsed to lower case. */
export function lowerWord<const Known extends string>(
  _known: readonly Known[],
  aliases: Readonly<Record<string, Known>> = {},
): Schema<Open<Known>, string> {
  const other = new Map(Object.entries(aliases));
  return scalar<Open<Known>, string>("text", (v) => {
    if (typeof v !== "string") return undefined;
    const lower = v.toLowerCase();
    return other.get(lower) ?? lower;
  });
}

/** Side of an order: servers write `bid`/`ask`, `buy`/`sell` in any case, or 0/1. */
export const side = scalar<Open<"bid" | "ask">, string | number>("a side", (v) => {
  if (v === 0) return "bid";
  if (v === 1) return "ask";
  if (typeof v !== "string") return undefined;
  const lower = v.toLowerCase();
  if (lower === "buy" || lower === "0") return "bid";
  if (lower === "sell" || lower === "1") return "ask";
  return lower;
});

/** JSON of any shape, unchanged; null if it is nested too deeply. */
export const anything = maybe(
  scalar<unknown, unknown>("anything", (v) => (isWithinDepth(v, maxDepth) ? v : null)),
);

function isWithinDepth(value: unknown, depth: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return depth > 0 && Object.values(value).every((part) => isWithinDepth(part, depth - 1));
}
