/**
 * A wallet's secret key in memory. It signs, it derives keys for what is kept at rest, it tells its address;
 * the secret itself has no way out, however the object is printed, logged or serialized.
 */

import { hkdfSync, type KeyObject } from "node:crypto";
import { inspect } from "node:util";
import { base58 } from "@scure/base";
import { addressOf } from "./address.ts";
import { privateKeyFromSeed, publicKeyOf, signBytes, withSeedOf } from "./ed25519.ts";

/** Text or file that holds no usable key. Its message never repeats what was read. */
export class BadKey extends Error {
  override readonly name = "BadKey";
}

export class WalletKey {
  /** Holds the one copy of the seed, outside of the heap of JavaScript. */
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

  /** @param pair seed and public key, 64 bytes @throws {BadKey} when they do not belong together */
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
   * Signs a text's UTF-8 bytes, exactly as it stands; base58, as message login wants it. A text from outside has to pass
   * `LoginForms.check` first.
   */
  signText(text: string): string {
    return base58.encode(this.sign(new TextEncoder().encode(text)));
  }

  /** 32 bytes by HKDF-SHA256 from the secret seed: a key of its own for each `info`. */
  deriveKey(info: string, salt: Uint8Array = new Uint8Array(0)): Buffer {
    return withSeedOf(this.#key, (seed) => Buffer.from(hkdfSync("sha256", seed, salt, info, 32)));
  }

  /** For the one place that writes key files. Called with a copy that is wiped when `use` returns. */
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
 * Reads a secret from text: the JSON array of a keypair file, or base58 of a keypair (64 bytes) or seed (32).
 * @throws {BadKey} saying what is wrong, never what was read
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
  // Small arrays without a buffer of their own lie in the heap, which leaves copies where it moves them.
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
