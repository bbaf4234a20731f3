/** True if a text is a base58 public key. The contract checks keys before they are sent; it never signs with them. */

const ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
const DIGIT = new Map([...ALPHABET].map((letter, digit) => [letter, digit]));

/** Valid keys, cached: few are checked, and each with every request. */
const known = new Set<string>();
const maxKnown = 16_384;

/** Returns true for base58 text of exactly 32 bytes. */
export function isPublicKey(text: string): boolean {
  if (known.has(text)) return true;
  if (!standsFor32Bytes(text)) return false;
  if (known.size >= maxKnown) known.clear();
  known.add(text);
  return true;
}

function standsFor32Bytes(text: string): boolean {
  if (text.length < 32 || text.length > 44) return false;
  const bytes: number[] = [];
  for (const letter of text) {
    let carry = DIGIT.get(letter);
    if (carry === undefined) return false;
    for (let i = 0; i < bytes.length; i++) {
      carry += bytes[i]! * 58;
      bytes[i] = carry & 0xff;
      carry >>= 8;
    }
    for (; carry > 0; carry >>= 8) bytes.push(carry & 0xff);
  }
  let zeros = 0;
  while (text[zeros] === "1") zeros++;
  return zeros + bytes.length === 32;
}
