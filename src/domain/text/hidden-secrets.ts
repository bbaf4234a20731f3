/**
 * Removes secrets from texts of others. A server may repeat what it was sent, whole or in part, in any encoding: unchanged,
 * in base64 (alone, or within the blob of AUTH PLAIN or Basic), hexadecimal digits, percent encoding, JSON escapes.
 */

/** Minimum number of consecutive characters (encoded: bytes) of a secret that are hidden; of a shorter secret, all. */
const piece = 10;
/** Minimum length of a secret that is searched in encoded words: a shorter one would match by chance. */
const minEncoded = 4;
const encodedWords = /[\w+/=%.~-]{4,}/g;
const escapes = /(?:\\{1,8}u[\da-f]{4}){4,}/gi;
const spacedHex = /(?:[\da-f]{2}[\s:,.-]{1,2}){3,}[\da-f]{2}/gi;
/** The maximum length of one character in an encoding. */
const maxEncoded = 8;
const mark = "…";

/** `whole`: pieces of it are not hidden, such as of a path, which contains ordinary words. */
export type Secret = string | { readonly whole: string };

/** @returns the text with each secret, and each piece of one, replaced by "…" */
export function hideSecrets(text: string, secrets: readonly Secret[]): string {
  const known = secrets.filter((secret) => textOf(secret) !== "");
  if (known.length === 0) return text;
  const covered = new Uint8Array(text.length);
  new Pieces(known, formsOf).each(text, (from, to) => covered.fill(1, from, to));
  const long = known.filter((secret) => textOf(secret).length >= minEncoded);
  const bytes = new Pieces(long, (secret) => [binary(secret)]);
  const cover = (pattern: RegExp, decode: (word: string) => readonly string[]) => {
    for (const { 0: word, index } of text.matchAll(pattern))
      if (decode(word).some((decoded) => bytes.isIn(decoded))) covered.fill(1, index, index + word.length);
  };
  cover(encodedWords, (word) => [...decodings(word), binary(percentDecoded(word))]);
  cover(escapes, (word) => [binary(unescaped(word))]);
  cover(spacedHex, (word) => [Buffer.from(word.replace(/[^\da-f]/gi, ""), "hex").toString("latin1")]);
  const safe = masked(text, covered);
  // A blob that is split into lines is not found as a word: nothing of such a text is shown.
  const squeezed = safe.replace(/\s+|\\{1,8}[rnt]/g, "");
  const isHidden = (squeezed.match(encodedWords) ?? []).some(
    (word) =>
      decodings(word).some((decoded) => bytes.isIn(decoded)) ||
      // Consecutive words may contain a short secret by chance.
      bytes.isIn(binary(percentDecoded(word)), piece),
  );
  return isHidden ? mark : safe;
}

/**
 * As `hideSecrets`, for the beginning of a text: no part of a secret that is too short to be found remains at the cut.
 * @param prepare applied to the beginning first
 */
export function hideSecretsAtBeginning(
  text: string,
  secrets: readonly Secret[],
  maxLength: number,
  prepare: (text: string) => string = (same) => same,
): string {
  const safe = hideSecrets(prepare(text.slice(0, maxLength)), secrets);
  if (text.length <= maxLength) return safe;
  const margin = maxEncoded * Math.max(0, ...secrets.map(partLength));
  return safe.slice(0, Math.max(0, safe.length - margin));
}

/** @returns the parts of an address that may be its password: path and query, and each word of them that is long enough */
export function secretsOfAddress(address: string): Secret[] {
  if (!URL.canParse(address)) return [];
  const { pathname, search, searchParams, username, password } = new URL(address);
  const words = [...pathname.split("/"), ...searchParams.values(), username, password];
  const long = words.flatMap((word) => [word, percentDecoded(word)]).filter(isKey);
  const whole = [...new Set([pathname + search, pathname])].filter(({ length }) => length > 1);
  return [...new Set(long), ...whole.map((text) => ({ whole: text }))];
}

/** Matches words other than plain ones of a path, such as `webhooks`. */
const isKey = (word: string): boolean => word.length >= 8 && (word.length >= 16 || !/^[a-z]+$/i.test(word));

/** The pieces of secrets. A search takes time proportional to the length of the text, regardless of their number. */
class Pieces {
  readonly #byLength = new Map<number, Set<string>>();

  /** @param formsOf returns the forms of a secret */
  constructor(secrets: readonly Secret[], formsOf: (secret: string) => readonly string[]) {
    for (const secret of secrets) {
      for (const form of formsOf(textOf(secret))) {
        const length = typeof secret === "string" ? Math.min(piece, form.length) : form.length;
        const known = this.#byLength.get(length) ?? new Set();
        this.#byLength.set(length, known);
        for (let at = 0; at + length <= form.length; at++) known.add(form.slice(at, at + length));
      }
    }
  }

  each(text: string, found: (from: number, to: number) => void): void {
    for (const [length, known] of this.#byLength)
      for (let at = 0; at + length <= text.length; at++)
        if (known.has(text.slice(at, at + length))) found(at, at + length);
  }

  /** @param shortest minimum length of pieces, in characters */
  isIn(text: string, shortest = 0): boolean {
    for (const [length, known] of this.#byLength)
      for (let at = 0; length >= shortest && at + length <= text.length; at++)
        if (known.has(text.slice(at, at + length))) return true;
    return false;
  }
}

function textOf(secret: Secret): string {
  return typeof secret === "string" ? secret : secret.whole;
}

function partLength(secret: Secret): number {
  return typeof secret === "string" ? Math.min(piece, secret.length) : secret.whole.length;
}

function formsOf(secret: string): readonly string[] {
  return [secret, encodeURIComponent(secret.toWellFormed()), JSON.stringify(secret).slice(1, -1)];
}

/** Returns the bytes of a text, one character each. */
function binary(text: string): string {
  return Buffer.from(text).toString("latin1");
}

function masked(text: string, covered: Uint8Array): string {
  let safe = "";
  for (let at = 0; at < text.length; at++)
    if (covered[at] === 0) safe += text[at];
    else if (at === 0 || covered[at - 1] === 0) safe += mark;
  return safe;
}

/** Returns the decoded bytes, one character each. Blobs may be adjacent, and begin within the word. */
function decodings(word: string): readonly string[] {
  const plain = percentDecoded(word);
  return [
    ...(plain.match(/[\w+/-]{4,}/g) ?? []).flatMap((blob) =>
      [0, 1, 2, 3].map((start) => Buffer.from(blob.slice(start), "base64")),
    ),
    ...(plain.match(/[\da-f]{8,}/gi) ?? []).flatMap((digits) =>
      [0, 1].map((start) => Buffer.from(digits.slice(start), "hex")),
    ),
  ].map((bytes) => bytes.toString("latin1"));
}

/** Also decodes repeated encodings. */
function percentDecoded(word: string): string {
  let plain = word;
  for (let times = 0; times < 3; times++)
    plain = plain.replaceAll(/(?:%[\da-f]{2})+/gi, (codes) =>
      Buffer.from(codes.replaceAll("%", ""), "hex").toString("utf8"),
    );
  return plain;
}

function unescaped(word: string): string {
  return word.replaceAll(/\\{1,8}u([\da-f]{4})/gi, (_all, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );
}
