/** Key files: JSON arrays of 64 numbers (seed and public key), or base58 text; readable by the owner only. */

import { randomBytes } from "node:crypto";
import { closeSync, fsyncSync, openSync, unlinkSync, writeSync } from "node:fs";
import { errorCode } from "../domain/error-code.ts";
import { readTextFile } from "../files/index.ts";
import { BadKey, WalletKey, walletKeyFromText } from "./wallet-key.ts";

/** Maximum size of a key file, bytes. */
const maxFile = 4_096;

/**
 * Reads a key file that only its owner can read.
 * @throws {BadKey} if it cannot be read, others can read it (the message has the fix), or it contains no key
 */
export function readKeyFile(path: string): WalletKey {
  const read = readTextFile(path, { largestBytes: maxFile, secret: true });
  if ("wrong" in read) throw new BadKey(`${path}: the key file ${read.wrong}`);
  try {
    return walletKeyFromText(read.text);
  } catch (error) {
    if (error instanceof BadKey) throw new BadKey(`${path}: ${error.message}`);
    throw error;
  }
}

/** @param seed 32 bytes; random by default */
export function newKey(seed: Uint8Array = randomBytes(32)): WalletKey {
  return WalletKey.fromSeed(seed);
}

/**
 * Creates a key and writes it to a new file (mode 0600).
 * @param seed 32 bytes; random by default
 * @throws {BadKey} if the file exists or cannot be written
 */
export function newKeypairFile(path: string, seed?: Uint8Array): WalletKey {
  const key = newKey(seed);
  writeKeypairFile(path, key);
  return key;
}

/**
 * Writes a secret given as text (base58 or JSON) to a new key file.
 * @throws {BadKey} if the text contains no key, or the file exists or cannot be written
 */
export function importKeypairFile(path: string, text: string): WalletKey {
  const key = walletKeyFromText(text);
  writeKeypairFile(path, key);
  return key;
}

/** Writes a key to a new file (mode 0600). @throws {BadKey} if the file exists or cannot be written */
export function writeKeypairFile(path: string, key: WalletKey): void {
  let file: number;
  try {
    // Does not follow a link, and does not truncate an existing file.
    file = openSync(path, "wx", 0o600);
  } catch (error) {
    if (errorCode(error) === "EEXIST") throw new BadKey(`${path} exists already and is not overwritten`);
    throw new BadKey(`${path} cannot be written (${errorCode(error) ?? "unknown error"})`);
  }
  try {
    key.withKeypair((pair) => {
      const line = Buffer.from(`[${Array.from(pair).join(",")}]\n`);
      try {
        for (let done = 0; done < line.length; ) done += writeSync(file, line, done);
      } finally {
        line.fill(0);
      }
    });
    fsyncSync(file);
  } catch (error) {
    // A partial file would block the next attempt.
    unlinkSync(path);
    throw new BadKey(`${path} cannot be written (${errorCode(error) ?? "unknown error"})`);
  } finally {
    closeSync(file);
  }
}
