/** Ed25519 by `node:crypto`, on raw keys: 32-byte seeds, 32-byte public keys, 64-byte signatures. */

import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from "node:crypto";

/** DER of a PKCS #8 private key up to the seed (RFC 8410). */
const pkcs8 = Buffer.from("302e020100300506032b657004220420", "hex");

export function privateKeyFromSeed(seed: Uint8Array): KeyObject {
  const der = Buffer.concat([pkcs8, seed]);
  try {
    return createPrivateKey({ key: der, format: "der", type: "pkcs8" });
  } finally {
    der.fill(0);
  }
}

/** Calls `use` with a copy of a private key's seed, which is wiped when `use` returns. */
export function withSeedOf<T>(key: KeyObject, use: (seed: Uint8Array) => T): T {
  const der = key.export({ format: "der", type: "pkcs8" });
  try {
    return use(der.subarray(pkcs8.length));
  } finally {
    der.fill(0);
  }
}

export function publicKeyOf(key: KeyObject): Uint8Array {
  const { x } = createPublicKey(key).export({ format: "jwk" });
  return new Uint8Array(Buffer.from(x!, "base64url"));
}

export function signBytes(key: KeyObject, bytes: Uint8Array): Uint8Array {
  return new Uint8Array(sign(null, bytes, key));
}

/** Returns true if `signature` is over `bytes` by the key of `publicKey`; false for malformed input. */
export function verifyBytes(publicKey: Uint8Array, bytes: Uint8Array, signature: Uint8Array): boolean {
  if (publicKey.length !== 32 || signature.length !== 64) return false;
  const key = createPublicKey({
    key: { kty: "OKP", crv: "Ed25519", x: Buffer.from(publicKey).toString("base64url") },
    format: "jwk",
  });
  return verify(null, bytes, key, signature);
}

/** 2^255 − 19, the field that the curve is over. */
const p = 2n ** 255n - 19n;
/** The curve's constant: −121665 / 121666. */
const d = 37095705934669439343138083508754565189542113879843219016388785533085940283555n;

/**
 * Returns true if 32 bytes are the compressed form of a point of the curve. The bytes give y and the sign of x. The
 * curve −x² + y² = 1 + d·x²·y² has such an x exactly if (y² − 1) / (d·y² + 1) is a square, and a quotient is a square
 * if the product is. Program-derived addresses are not points of the curve, so no key signs for them.
 */
export function isOnCurve(bytes: Uint8Array): boolean {
  if (bytes.length !== 32) return false;
  let y = 0n;
  for (let i = 31; i >= 0; i -= 1) y = (y << 8n) | BigInt(i === 31 ? bytes[i]! & 0x7f : bytes[i]!);
  const y2 = (y * y) % p;
  const product = ((y2 + p - 1n) * (d * y2 + 1n)) % p;
  return product === 0n || isSquare(product);
}

/**
 * Returns true if a number is a square modulo p, by the Jacobi symbol with quadratic reciprocity, which is five times
 * as fast as raising to (p − 1) / 2. Not constant-time; addresses are public.
 */
function isSquare(number: bigint): boolean {
  let [upper, lower] = [number % p, p];
  let sign = 1;
  while (upper !== 0n) {
    let twos = 0;
    for (; (upper & 1n) === 0n; upper >>= 1n) twos += 1;
    const below = Number(lower & 7n);
    // (2 / n) is −1 when n is 3 or 5 modulo 8.
    if (twos % 2 === 1 && (below === 3 || below === 5)) sign = -sign;
    // Swapping both numbers changes the sign if both are 3 modulo 4.
    if ((upper & 3n) === 3n && below % 4 === 3) sign = -sign;
    [upper, lower] = [lower % upper, upper];
  }
  return lower === 1n && sign === 1;
}
