/** The keystore's file: read and replaced as a whole; readable by its owner only. */
import { statSync } from "node:fs";
import { errorCode } from "../domain/error-code.ts";
import { isRoot, readTextFile, replaceFile } from "../files/index.ts";
import { type Keystore, keystoreFromText, keystoreText } from "./keystore.ts";
import { BadKey } from "./wallet-key.ts";

const maxBytes = 262_144;

/** @returns null if there is none @throws {BadKey} if it cannot be read, others can read it, or it is not a keystore */
export function readKeystore(path: string): Keystore | null {
  if (statSync(path, { throwIfNoEntry: false }) === undefined) return null;
  // Root changes keys on behalf of the signer's user.
  const owner = isRoot() ? ({ owner: "any" } as const) : {};
  const read = readTextFile(path, { largestBytes: maxBytes, secret: true, ...owner });
  if ("wrong" in read) throw new BadKey(`${path}: the keystore ${read.wrong}`);
  try {
    return keystoreFromText(read.text);
  } catch (error) {
    throw error instanceof BadKey ? new BadKey(`${path}: ${error.message}`) : error;
  }
}

/** @throws {BadKey} as `readKeystore`, and if there is none */
export function mustReadKeystore(path: string): Keystore {
  const keystore = readKeystore(path);
  if (keystore === null) throw new BadKey(`there is no keystore ${path}; make one: perpwatch wallet import`);
  return keystore;
}

/** Replaces the file atomically. @throws {BadKey} if it cannot be written */
export function writeKeystore(path: string, keystore: Keystore): void {
  try {
    replaceFile(path, keystoreText(keystore));
  } catch (error) {
    const code = errorCode(error) ?? "unknown error";
    throw new BadKey(`${path}: the keystore cannot be written (${code})`);
  }
}
