/** Inputs for parsers, from a seed: valid examples with hostile pieces in them, changed bytes, and bytes by chance. */
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

export interface Chance {
  readonly whole: (below: number) => number;
  readonly share: (share: number) => boolean;
  readonly pick: <T>(list: readonly T[]) => T;
}

export function chance(seed: number): Chance {
  const random = seededRandom(seed);
  const whole = (below: number) => Math.floor(random() * below);
  return {
    whole,
    share: (share) => random() < share,
    pick: (list) => list[whole(list.length)]!,
  };
}

const marks = ["\ue000", "\ue001", "\ue002"] as const;

/** Texts of JSON: an example of which values, keys or bytes are changed. */
export function changedJson({ whole, share, pick }: Chance, examples: readonly unknown[]): string {
  const taken: string[] = [];
  const left = 1 + whole(3);
  const target = pick(examples);
  const places = countOf(target);
  const wanted = new Set(Array.from({ length: left }, () => whole(places)));
  let at = 0;
  const change = (value: unknown): unknown => {
    if (wanted.has(at++) && taken.length < marks.length) {
      taken.push(pick(hostileJson));
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
  let text =
    JSON.stringify(change(target), (_key, value: unknown) =>
      typeof value === "bigint" ? `${value}` : value,
    ) ?? "";
  for (const [index, one] of taken.entries()) text = text.replace(`"${marks[index]}"`, () => one);
  return share(0.15) ? changedText({ whole, share, pick }, [text]) : text;
}

function countOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 1;
  return Object.values(value).reduce((sum: number, one) => sum + countOf(one), 1);
}

/** Texts: an example with pieces put in, taken out, doubled or moved. */
export function changedText({ whole, share, pick }: Chance, examples: readonly string[]): string {
  let text = pick(examples);
  if (share(0.03)) text = "";
  for (let more = 1 + whole(4); more > 0; more--) {
    const at = whole(text.length + 1);
    const end = at + whole(12);
    switch (whole(7)) {
      case 0:
        text = text.slice(0, at) + pick(hostileText) + text.slice(at);
        break;
      case 1:
        text = text.slice(0, at) + pick(hostileText) + text.slice(end);
        break;
      case 2:
        text = text.slice(0, at) + text.slice(end);
        break;
      case 3: {
        const other = pick(examples);
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
    if (text.length > 60_000) text = text.slice(0, 60_000);
  }
  return text;
}

/** Bytes: an example with bits flipped, bytes put in and taken out, or bytes by chance. */
export function changedBytes({ whole, share, pick }: Chance, examples: readonly Uint8Array[]): Uint8Array {
  if (share(0.1)) return Uint8Array.from({ length: whole(300) }, () => whole(256));
  const bytes = [...pick(examples)];
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
