/**
 * Inputs for parsers, from a seed: valid examples with hostile pieces in them, changed bytes, and bytes by chance. Most are small, so
 * that a million of them take minutes; one in a hundred is made of any example and any piece, and one in 20,000 is as long as its source
 * lets through.
 */
import { seededRandom } from "../../src/domain/clock.ts";

/** As JSON, so that it may be what no value of this language is. */
const hostileJson = [
  ...["null", "true", "0", "-0", "1e400", "-1e400", "1e-400", "5e-324", "1.5", "-1", "NaN", "Infinity"],
  ...["9".repeat(25), `-${"9".repeat(400)}`, "9007199254740993", "1e308", `"${"9".repeat(5_000)}"`],
  ...['"1e999999999"', '"-1e-999999999"', '"0x10"', '" 1 "', '"１"', '""', '"\\u0000"', '"\\ud800"'],
  ...["{}", "[]", "[[]]", '{"__proto__":{"polluted":1}}', '{"constructor":{"prototype":{"polluted":1}}}'],
  ...['{"toString":1,"valueOf":null}', '{"toJSON":1}', '{"length":1e9}', '{"then":1}', '"__proto__"'],
  ...[`"${"a".repeat(10_000)}"`, `"${"\\u202e".repeat(100)}"`, `[${"0,".repeat(2_000)}0]`],
  ...['"2026-13-45T99:99:99Z"', '"+275760-09-13T00:00:00.001Z"', "1e15", "-1e15", '"Infinity"'],
  ...[`${"[".repeat(3_000)}${"]".repeat(3_000)}`, `${'{"a":'.repeat(2_000)}1${"}".repeat(2_000)}`],
  ...['{"a":1,"a":2}', '"\\ud83d"', `"${" ".repeat(3_000)}x"`, `"${"1".repeat(40)}."`],
];

const hostileText = [
  ...[
    "",
    " ",
    "\0",
    "\n",
    "\r\n",
    "\t",
    "{{",
    "}}",
    "{{ ",
    "'",
    '"',
    "`",
    "\\",
    "*",
    "&a",
    "*a",
    "<<: *a",
    "!!js/function x",
  ],
  ...[
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ":",
    ",",
    ";",
    "=",
    "~",
    "..",
    "-",
    "+",
    "/",
    "%",
    "%00",
    "\u202e",
    "\ud800",
    "é",
    "𝟙",
    "１",
  ],
  ...[
    "9".repeat(40),
    "1e999",
    "-1",
    "0",
    "NaN",
    "__proto__",
    "constructor",
    "a".repeat(500),
    "(a+)+$",
    ".*".repeat(50),
  ],
  ...[
    "(".repeat(300),
    "[".repeat(500),
    "{a: ".repeat(200),
    "- ".repeat(400),
    " ".repeat(1_000),
    "1m".repeat(200),
    "\n".repeat(300),
  ],
  ...[
    "&a [*a, *a]",
    "true && ".repeat(50),
    "!".repeat(300),
    "? ".repeat(100),
    "a: b: c",
    "\u0085",
    "\ufeff",
    "|2\n",
    ">-\n",
  ],
];

export type Size = "small" | "large" | "longest";

/** The size of the input with this index. */
export function sizeOf(index: number): Size {
  if (index % 20_000 === 7) return "longest";
  return index % 100 === 99 ? "large" : "small";
}

export interface Chance {
  readonly size: Size;
  readonly whole: (below: number) => number;
  readonly share: (share: number) => boolean;
  readonly pick: <T>(list: readonly T[]) => T;
}

export function chance(seed: number, size: Size = "small"): Chance {
  const random = seededRandom(seed);
  const whole = (below: number) => Math.floor(random() * below);
  return {
    size,
    whole,
    share: (share) => random() < share,
    pick: (list) => list[whole(list.length)]!,
  };
}

/** Values for small inputs and for all. */
interface Pool<T> {
  readonly small: readonly T[];
  readonly all: readonly T[];
}

/** @param length of a value as input   @param most of a small one; where none is, the shortest one counts as small */
export function poolOf<T>(all: readonly T[], length: (value: T) => number, most: number): Pool<T> {
  const small = all.filter((one) => length(one) <= most);
  const shortest = all.reduce((a, b) => (length(b) < length(a) ? b : a));
  return { small: small.length > 0 ? small : [shortest], all };
}

const lengthOf = (one: { readonly length: number }) => one.length;
const jsonPieces = poolOf(hostileJson, lengthOf, 100);
const textPieces = poolOf(hostileText, lengthOf, 60);
const oneOf = <T>({ size, pick }: Chance, { small, all }: Pool<T>): T => pick(size === "small" ? small : all);

/** Inputs that are left as they are: the way past all checks is tried, too. */
const unchangedShare = 0.03;

const marks = ["\ue000", "\ue001", "\ue002"] as const;

/** Texts of JSON: an example of which values, keys or bytes are changed. */
export function changedJson(by: Chance, examples: Pool<unknown>): string {
  const { whole, share, pick } = by;
  const taken: string[] = [];
  const target = oneOf(by, examples);
  if (share(unchangedShare)) return asJson(target);
  const left = 1 + whole(3);
  const places = countOf(target);
  const wanted = new Set(Array.from({ length: left }, () => whole(places)));
  let at = 0;
  const change = (value: unknown): unknown => {
    if (wanted.has(at++) && taken.length < marks.length) {
      taken.push(oneOf(by, jsonPieces));
      return marks[taken.length - 1];
    }
    if (Array.isArray(value)) {
      const items = value.map(change);
      if (share(0.02)) items.push(...items, ...items);
      return share(0.02) ? items.slice(1) : items;
    }
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).flatMap(([key, inner]) =>
        share(0.02)
          ? []
          : [[share(0.01) ? pick(["__proto__", "", "toString", "x"]) : key, change(inner)] as const],
      ),
    );
  };
  let text = asJson(change(target));
  for (const [index, one] of taken.entries()) text = text.replace(`"${marks[index]}"`, () => one);
  return share(0.15) ? changedText(by, { small: [text], all: [text] }) : text;
}

export function asJson(value: unknown): string {
  return (
    JSON.stringify(value, (_key, inner: unknown) => (typeof inner === "bigint" ? `${inner}` : inner)) ?? ""
  );
}

function countOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 1;
  return Object.values(value).reduce((sum: number, one) => sum + countOf(one), 1);
}

/** Texts: an example with pieces put in, taken out, doubled or moved. */
export function changedText(by: Chance, examples: Pool<string>): string {
  const { whole, share } = by;
  let text = oneOf(by, examples);
  if (share(unchangedShare)) return text;
  const most = by.size === "small" ? 2_000 : 60_000;
  if (share(0.03)) text = "";
  for (let more = 1 + whole(4); more > 0; more--) {
    const at = whole(text.length + 1);
    const end = at + whole(12);
    switch (whole(7)) {
      case 0:
        text = text.slice(0, at) + oneOf(by, textPieces) + text.slice(at);
        break;
      case 1:
        text = text.slice(0, at) + oneOf(by, textPieces) + text.slice(end);
        break;
      case 2:
        text = text.slice(0, at) + text.slice(end);
        break;
      case 3: {
        const other = oneOf(by, examples);
        const from = whole(other.length);
        text = text.slice(0, at) + other.slice(from, from + whole(60)) + text.slice(at);
        break;
      }
      case 4:
        text = text.slice(0, at) + text.slice(at, end).repeat(1 + whole(30)) + text.slice(end);
        break;
      case 5:
        text = text.slice(0, at) + String.fromCharCode(whole(share(0.5) ? 128 : 65_536)) + text.slice(at + 1);
        break;
      default:
        text = text.slice(0, at);
    }
    if (text.length > most) text = text.slice(0, most);
  }
  return text;
}

/** Bytes: an example with bits flipped, bytes put in and taken out, or bytes by chance. */
export function changedBytes(by: Chance, examples: Pool<Uint8Array>): Uint8Array {
  const { whole, share, pick } = by;
  if (share(unchangedShare)) return oneOf(by, examples);
  if (share(0.1)) return Uint8Array.from({ length: whole(300) }, () => whole(256));
  const bytes = [...oneOf(by, examples)];
  for (let more = 1 + whole(5); more > 0; more--) {
    const at = whole(bytes.length + 1);
    switch (whole(5)) {
      case 0:
        if (at < bytes.length) bytes[at]! ^= 1 << whole(8);
        break;
      case 1:
        bytes.splice(at, whole(4));
        break;
      case 2:
        bytes.splice(at, 0, ...Array.from({ length: 1 + whole(4) }, () => whole(256)));
        break;
      case 3:
        bytes.splice(at, whole(9), ...Array.from({ length: 8 }, () => pick([0, 1, 0x7f, 0x80, 0xff])));
        break;
      default:
        if (share(0.3)) bytes.length = at;
    }
  }
  return Uint8Array.from(bytes);
}

/** The same input made longer: a piece of it, mostly a short one, stands there again and again. */
export function stretchedText({ whole, share }: Chance, text: string, longest: number): string {
  const at = whole(text.length);
  const piece = text.slice(at, at + 1 + whole(share(0.7) ? 8 : 400)) || "a";
  const room = Math.max(0, longest - text.length);
  return (text.slice(0, at) + piece.repeat(Math.floor(room / piece.length)) + text.slice(at)).slice(
    0,
    longest,
  );
}

export function stretchedBytes({ whole }: Chance, bytes: Uint8Array, longest: number): Uint8Array {
  const at = whole(bytes.length);
  const piece = bytes.subarray(at, at + 1 + whole(64));
  const long = new Uint8Array(longest);
  long.set(bytes.subarray(0, longest));
  for (let to = at; piece.length > 0 && to < longest; to += piece.length)
    long.set(piece.subarray(0, longest - to), to);
  return long;
}
