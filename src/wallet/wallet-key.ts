/**
 * A wallet's secret key in memory. It signs, derives keys for stored data, and has an address. The secret itself cannot
 * be printed, logged or serialized.
 */

import { hkdfSync, type KeyObject } from "node:crypto";
import { inspect } from "node:util";
import { base58 } from "@scure/base";
import { addressOf } from "./address.ts";
import { privateKeyFromSeed, publicKeyOf, signBytes, withSeedOf } from "./ed25519.ts";

/** Thrown for text or a file without a usable key. The message never quotes the input. */
export class BadKey extends Error {
  override readonly name = "BadKey";
}

export class WalletKey {
  /** The only copy of the seed, outside of the JavaScript heap. */
  readonly #key: KeyObject;
  /** Base58 of the public key: the wallet's authority. */
  readonly address: string;

  private constructor(seed: Uint8Array) {
    this.#key = privateKeyFromSeed(seed);
    this.address = addressOf(publicKeyOf(this.#key));
  }

  /** @param seed 32 bytes @throws {BadKey} on another length */
  static fromSeed(seed: Uint8Array): WalletKey {
    if (seed.length !== 32) throw new BadKey(`a seed has 32 bytes, this one ${seed.length}`);
    return new WalletKey(seed);
  }

  /** @param pair seed and public key, 64 bytes @throws {BadKey} if they do not match */
  static fromKeypair(pair: Uint8Array): WalletKey {
    if (pair.length !== 64) throw new BadKey(`a keypair has 64 bytes, this one ${pair.length}`);
    const key = new WalletKey(pair.subarray(0, 32));
    if (key.address !== addressOf(pair.subarray(32))) {
      throw new BadKey("the public half of the keypair does not belong to its secret half");
    }
    return key;
  }

  /** The Ed25519 signature over `bytes`: 64 bytes. */
  sign(bytes: Uint8Array): Uint8Array {
    return signBytes(this.#key, bytes);
  }

  /**
   * Signs a text's UTF-8 bytes; base58, as message login requires. Text from outside has to pass `LoginForms.check`
   * first.
   */
  signText(text: string): string {
    return base58.encode(this.sign(new TextEncoder().encode(text)));
  }

  /** Derives 32 bytes by HKDF-SHA256 from the secret seed, different for each `info`. */
  deriveKey(info: string, salt: Uint8Array = new Uint8Array(0)): Buffer {
    return withSeedOf(this.#key, (seed) => Buffer.from(hkdfSync("sha256", seed, salt, info, 32)));
  }

  /** Passes a copy of the keypair to `use`, for writing key files. The copy is wiped when `use` returns. */
  withKeypair<T>(use: (pair: Uint8Array) => T): T {
    const pair = withSeedOf(this.#key, (seed) => Buffer.concat([seed, publicKeyOf(this.#key)]));
    try {
      return use(pair);
    } finally {
      pair.fill(0);
    }
  }

  toString(): string {
    return "[secret]";
  }

  toJSON(): string {
    return "[secret]";
  }

  [Symbol.toPrimitive](): string {
    return "[secret]";
  }

  [inspect.custom](): string {
    return "[secret]";
  }
}

/**
 * Parses a secret: the JSON array of a keypair file, or base58 of a keypair (64 bytes) or seed (32).
 * @throws {BadKey} with the mistake; never quotes the input
 */
export function walletKeyFromText(text: string): WalletKey {
  const trimmed = text.trim();
  if (trimmed === "") throw new BadKey("the key is empty");
  return trimmed.startsWith("[") ? fromJson(trimmed) : fromBase58(trimmed);
}

function fromJson(text: string): WalletKey {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    // The parser's own message quotes its input.
    throw new BadKey("the key looks like a JSON array but is not valid JSON");
  }
  if (!Array.isArray(parsed)) throw new BadKey("the key is not a JSON array of numbers");
  if (parsed.length !== 64) {
    throw new BadKey(`a JSON keypair has 64 numbers, this one ${parsed.length}`);
  }
  const numbers: readonly unknown[] = parsed;
  const wrong = numbers.findIndex(
    (one) => typeof one !== "number" || !Number.isInteger(one) || one < 0 || one > 255,
  );
  if (wrong !== -1)
    throw new BadKey(`entry ${wrong + 1} of the JSON keypair is not an integer from 0 to 255`);
  // Small arrays without an own buffer are in the heap, where moving them leaves copies.
  const pair = new Uint8Array(new ArrayBuffer(numbers.length));
  pair.set(numbers as readonly number[]);
  return wiped(pair, WalletKey.fromKeypair);
}

function fromBase58(text: string): WalletKey {
  let bytes: Uint8Array;
  try {
    if (text.length > 88) throw new Error("too long");
    bytes = base58.decode(text);
  } catch {
    throw new BadKey("the key is neither a JSON keypair nor base58 of 64 or 32 bytes");
  }
  if (bytes.length === 64) return wiped(bytes, WalletKey.fromKeypair);
  if (bytes.length === 32) return wiped(bytes, WalletKey.fromSeed);
  throw new BadKey(`a base58 key has 64 or 32 bytes, this one ${bytes.length}`);
}

function wiped(bytes: Uint8Array, read: (bytes: Uint8Array) => WalletKey): WalletKey {
  try {
    return read(bytes);
  } finally {
    bytes.fill(0);
  }
}
