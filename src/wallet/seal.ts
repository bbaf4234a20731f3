/**
 * Encrypts stored sessions: a JSON value under AES-256-GCM. The key is derived from the wallet's secret
 * (`WalletKey.deriveKey`); the signer derives it and gives it to the daemon (`WalletSigner.sessionKey`). Only the same
 * wallet can decrypt a value.
 *
 *   version (1 byte) · nonce (12) · ciphertext · tag (16);  associated data: the wallet's address
 */

import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";

/** Thrown if a stored value was encrypted by another wallet or changed. */
export class SealBroken extends Error {
  override readonly name = "SealBroken";
}

const version = 1;
const nonceLength = 12;
const tagLength = 16;

/** The `info` of session keys, for `WalletKey.deriveKey`. */
export const sessionInfo = "perpwatch session v1";

/**
 * @param key 32 bytes
 * @param address of the wallet
 * @param value anything that JSON can hold
 * @param nonce 12 bytes, unique for each value of a wallet
 */
export function seal(
  key: Uint8Array,
  address: string,
  value: unknown,
  nonce: Uint8Array = randomBytes(nonceLength),
): Uint8Array {
  if (nonce.length !== nonceLength) throw new RangeError(`a nonce has ${nonceLength} bytes`);
  const text = JSON.stringify(value);
  if (text === undefined) throw new TypeError("only what JSON can hold can be sealed");
  const cipher = createCipheriv("aes-256-gcm", key, nonce, { authTagLength: tagLength });
  cipher.setAAD(Buffer.from(address));
  return new Uint8Array(
    Buffer.concat([
      Uint8Array.of(version),
      nonce,
      cipher.update(text, "utf8"),
      cipher.final(),
      cipher.getAuthTag(),
    ]),
  );
}

/**
 * Decrypts a value of `seal` with the same key and address. The caller validates its shape.
 * @throws {SealBroken} if it was changed, truncated, or encrypted by another wallet or a later version
 */
export function open(key: Uint8Array, address: string, sealed: Uint8Array): unknown {
  if (sealed.length < 1 + nonceLength + tagLength) throw new SealBroken("too short to be sealed");
  if (sealed[0] !== version) throw new SealBroken(`sealed in a form of version ${sealed[0]}, not ${version}`);
  const nonce = sealed.subarray(1, 1 + nonceLength);
  const body = sealed.subarray(1 + nonceLength, sealed.length - tagLength);
  const decipher = createDecipheriv("aes-256-gcm", key, nonce, { authTagLength: tagLength });
  decipher.setAAD(Buffer.from(address));
  decipher.setAuthTag(sealed.subarray(sealed.length - tagLength));
  let text: string;
  try {
    text = Buffer.concat([decipher.update(body), decipher.final()]).toString("utf8");
  } catch {
    throw new SealBroken("sealed by another wallet, or changed since");
  }
  return JSON.parse(text) as unknown;
}
