/** Finds marked secrets, and pieces of them, in bytes of any kind, however they are encoded. */
import { randomBytes } from "node:crypto";

/** Letters and digits that stand nowhere else. */
export function canary(length: number): string {
  let made = "";
  while (made.length < length) made += randomBytes(32).toString("base64").replace(/\W/g, "");
  return made.slice(0, length);
}

const percent = (text: string) =>
  [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join("");

/** The forms in which a server may repeat what it was sent. */
export const encodings: Readonly<Record<string, (text: string) => string>> = {
  plain: (text) => text,
  base64: (text) => Buffer.from(text).toString("base64"),
  "base64 within more": (text) => Buffer.from(`x ${text} y`).toString("base64"),
  base64url: (text) => Buffer.from(text).toString("base64url"),
  hex: (text) => Buffer.from(text).toString("hex"),
  "hex, upper": (text) => Buffer.from(text).toString("hex").toUpperCase(),
  "hex with colons": (text) =>
    Buffer.from(text)
      .toString("hex")
      .replace(/..(?=.)/g, "$&:"),
  percent,
  "percent, upper": (text) => percent(text).toUpperCase(),
  "percent twice": (text) => percent(percent(text)),
  JSON: (text) => JSON.stringify(text),
  "JSON, escaped": (text) =>
    [...text].map((one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`).join(""),
  "JSON in base64": (text) => Buffer.from(JSON.stringify({ token: text })).toString("base64"),
  "base64 in lines": (text) =>
    Buffer.from(text)
      .toString("base64")
      .replace(/.{8}(?=.)/g, "$&\r\n "),
};

/** Runs of this many characters of a secret are a leak, whatever stands around them. */
const piece = 10;

/** No needle is shorter. */
const shortest = 8;
/** Needles by length, under the head that they begin with. */
type Needles = (Map<number, Map<string, string>> | undefined)[];

const headOf = (text: string, at: number): number =>
  ((text.charCodeAt(at) * 31 + text.charCodeAt(at + 1)) * 31 +
    text.charCodeAt(at + 2) * 7 +
    text.charCodeAt(at + 3) * 131) &
  0xffff;

const character = (_: string, digits: string) => String.fromCharCode(Number.parseInt(digits, 16));

/** A text with its escapes of JSON read, those too that another text of JSON escaped again. */
const withoutEscapes = (text: string) =>
  text
    .replace(/\\+u([\da-f]{4})/gi, character)
    .replace(/\\+[nrt]/g, " ")
    .replace(/\\+(["/])/g, "$1");

/** The forms of a text in which it is searched. Colons, line breaks and escapes hide nothing. */
function views(text: string): Iterable<string> {
  const read = withoutEscapes(text);
  const once = read.replace(/%([\da-f]{2})/gi, character);
  const twice = once.replace(/%([\da-f]{2})/gi, character);
  return new Set([text, read, once, twice].flatMap((one) => [one, one.replace(/[\s:]+/g, "")]));
}

export class SecretFinder {
  readonly #secrets = new Map<string, string>();
  #needles: Needles | null = null;

  add(name: string, secret: string): void {
    this.#secrets.set(name, secret);
    this.#needles = null;
  }

  get all(): ReadonlyMap<string, string> {
    return this.#secrets;
  }

  /** @returns `name (encoding)` of each secret of which a piece is found */
  leaks(bytes: Buffer | string): string[] {
    const found = new Set<string>();
    this.#needles ??= this.#make();
    for (const text of views(typeof bytes === "string" ? bytes : bytes.toString("latin1")))
      for (let at = 0; at + shortest <= text.length; at++) {
        // Few places begin like a piece of a secret.
        const groups = this.#needles[headOf(text, at)];
        if (groups === undefined) continue;
        for (const [length, names] of groups) {
          const name = names.get(text.slice(at, at + length));
          if (name !== undefined) found.add(name);
        }
      }
    return [...found].sort();
  }

  #make(): Needles {
    const all: Needles = new Array(0x10000).fill(undefined);
    const add = (needle: string, name: string) => {
      const head = headOf(needle, 0);
      const byLength = all[head] ?? new Map<number, Map<string, string>>();
      all[head] = byLength;
      const names = byLength.get(needle.length) ?? new Map<string, string>();
      byLength.set(needle.length, names.set(needle, name));
    };
    for (const [name, secret] of this.#secrets)
      for (let at = 0; at + piece <= secret.length; at++) {
        const part = secret.slice(at, at + piece);
        add(part, name);
        for (const encoding of ["hex", "hex, upper"])
          add(encodings[encoding]!(part), `${name} (${encoding})`);
        // Eight bytes from a multiple of three on are the same wherever the piece stands; the last characters are not.
        for (const encoding of ["base64", "base64url"] as const)
          for (let shift = 0; shift < 3; shift++) {
            const whole = Buffer.from("\0".repeat(shift) + part).toString(encoding);
            const core = whole.slice(shift === 0 ? 0 : 4, -4);
            if (core.length >= 8) add(core, `${name} (${encoding})`);
          }
      }
    return all;
  }
}
