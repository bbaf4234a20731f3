/**
 * Takes secrets out of what somebody else says. A server may repeat what it was sent, whole or in part, in any encoding: as it is,
 * in base64 (alone, or within the blob of AUTH PLAIN or Basic), hexadecimal digits, percent encoding, JSON escapes.
 */

/** As many characters (encoded: bytes) of a secret in a row are taken for it; of a shorter secret, all. */
const piece = 10;
/** A shorter secret would be found in encoded words by chance. */
const minEncoded = 4;
const encodedWords = /[\w+/=%.~-]{4,}/g;
const escapes = /(?:\\+u[\da-f]{4}){4,}/gi;
const spacedHex = /(?:[\da-f]{2}[\s:,.-]{1,2}){3,}[\da-f]{2}/gi;
const mark = "…";

/** @returns the text with each secret, and each piece of one, replaced by "…" */
export function hideSecrets(text: string, secrets: readonly string[]): string {
  const known = secrets.filter(({ length }) => length > 0);
  if (known.length === 0) return text;
  const covered = new Uint8Array(text.length);
  for (const secret of known)
    for (const form of new Set([secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)]))
      for (const part of piecesOf(form, (text, from, to) => text.slice(from, to)))
        coverAll(text, part, covered);
  const parts = known
    .filter(({ length }) => length >= minEncoded)
    .flatMap((secret) => piecesOf(Buffer.from(secret), (bytes, from, to) => bytes.subarray(from, to)));
  const cover = (pattern: RegExp, decode: (word: string) => readonly Buffer[]) => {
    for (const { 0: word, index } of text.matchAll(pattern))
      if (decode(word).some((bytes) => parts.some((part) => bytes.includes(part))))
        covered.fill(1, index, index + word.length);
  };
  cover(encodedWords, decodings);
  cover(escapes, (word) => [Buffer.from(unescaped(word))]);
  cover(spacedHex, (word) => [Buffer.from(word.replace(/[^\da-f]/gi, ""), "hex")]);
  const safe = masked(text, covered);
  // Broken into lines, a blob is no word: nothing of such a text is shown.
  const squeezed = safe.replace(/\s+|\\+[rnt]/g, "");
  const isHidden = (squeezed.match(encodedWords) ?? []).some((word) =>
    decodings(word).some((bytes) => parts.some((part) => bytes.includes(part))),
  );
  return isHidden ? mark : safe;
}

/** @returns the parts of an address that may be its password: path and query, and each word of them that is long enough to be one */
export function secretsOfAddress(address: string): string[] {
  if (!URL.canParse(address)) return [];
  const { pathname, search, searchParams, username, password } = new URL(address);
  const words = [...pathname.split("/"), ...searchParams.values(), username, password];
  const long = words.flatMap((word) => [word, percentDecoded(word)]).filter(isKey);
  return [...new Set([pathname + search, pathname, ...long])].filter(({ length }) => length > 1);
}

/** Not a plain word of a path, such as `webhooks`. */
const isKey = (word: string): boolean => word.length >= 8 && (word.length >= 16 || !/^[a-z]+$/i.test(word));

function piecesOf<T extends { readonly length: number }>(
  secret: T,
  slice: (whole: T, from: number, to: number) => T,
): T[] {
  if (secret.length <= piece) return [secret];
  return Array.from({ length: secret.length - piece + 1 }, (_, at) => slice(secret, at, at + piece));
}

function coverAll(text: string, part: string, covered: Uint8Array): void {
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + 1))
    covered.fill(1, at, at + part.length);
}

function masked(text: string, covered: Uint8Array): string {
  let safe = "";
  for (let at = 0; at < text.length; at++)
    if (covered[at] === 0) safe += text[at];
    else if (at === 0 || covered[at - 1] === 0) safe += mark;
  return safe;
}

/** Blobs may stand side by side, and begin within the word. */
function decodings(word: string): readonly Buffer[] {
  const plain = percentDecoded(word);
  return [
    ...(plain.match(/[\w+/-]{4,}/g) ?? []).flatMap((blob) =>
      [0, 1, 2, 3].map((start) => Buffer.from(blob.slice(start), "base64")),
    ),
    ...(plain.match(/[\da-f]{8,}/gi) ?? []).flatMap((digits) =>
      [0, 1].map((start) => Buffer.from(digits.slice(start), "hex")),
    ),
    Buffer.from(plain),
  ];
}

/** Encoded several times, too. */
function percentDecoded(word: string): string {
  let plain = word;
  for (let times = 0; times < 3; times++)
    plain = plain.replaceAll(/(?:%[\da-f]{2})+/gi, (codes) =>
      Buffer.from(codes.replaceAll("%", ""), "hex").toString("utf8"),
    );
  return plain;
}

function unescaped(word: string): string {
  return word.replaceAll(/\\+u([\da-f]{4})/gi, (_all, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );
}
