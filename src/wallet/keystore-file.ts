/** The file of a keystore: read whole, replaced whole, readable by its owner alone. */
import { statSync } from "node:fs";
import { errorCode } from "../domain/error-code.ts";
import { isRoot, readTextFile, replaceFile } from "../files/index.ts";
import { type Keystore, keystoreFromText, keystoreText } from "./keystore.ts";
import { BadKey } from "./wallet-key.ts";

const maxBytes = 262_144;

/** @returns null where there is none @throws {BadKey} when it cannot be read, others can read it, or it is no keystore */
export function readKeystore(path: string): Keystore | null {
  if (statSync(path, { throwIfNoEntry: false }) === undefined) return null;
  // Root adds and takes keys for the signer's user.
  const owner = isRoot() ? ({ owner: "any" } as const) : {};
  const read = readTextFile(path, { largestBytes: maxBytes, secret: true, ...owner });
  if ("wrong" in read) throw new BadKey(`${path}: the keystore ${read.wrong}`);
  try {
    return keystoreFromText(read.text);
  } catch (error) {
    throw error instanceof BadKey ? new BadKey(`${path}: ${error.message}`) : error;
  }
}

/** @throws {BadKey} as `readKeystore`, and where there is none */
export function mustReadKeystore(path: string): Keystore {
  const keystore = readKeystore(path);
  if (keystore === null) throw new BadKey(`there is no keystore ${path}; make one: perpwatch wallet import`);
  return keystore;
}

/** Replaces the file; what stood there stays whole until the new one does. @throws {BadKey} when it cannot be written */
export function writeKeystore(path: string, keystore: Keystore): void {
  try {
    replaceFile(path, keystoreText(keystore));
  } catch (error) {
    const code = errorCode(error) ?? "unknown error";
    throw new BadKey(`${path}: the keystore cannot be written (${code})`);
  }
}
