/** The file of a keystore: read whole, replaced whole, readable by its owner alone. */
import { randomBytes } from "node:crypto";
import fs from "node:fs";
import nodePath from "node:path";
import { distrust, distrustedWay, isRoot } from "../files/index.ts";
import { type Keystore, keystoreFromText, keystoreText } from "./keystore.ts";
import { BadKey } from "./wallet-key.ts";

const mostBytes = 262_144;

/** @returns null where there is none @throws {BadKey} when it cannot be read, others can read it, or it is no keystore */
export function readKeystore(path: string): Keystore | null {
  let file: number;
  try {
    file = fs.openSync(path, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK | fs.constants.O_NOCTTY);
  } catch (error) {
    const code = codeOf(error);
    if (code === "ENOENT") return null;
    throw new BadKey(`${path}: the keystore cannot be opened (${code})`);
  }
  try {
    const stat = fs.fstatSync(file);
    if (!stat.isFile()) throw new BadKey(`${path}: is not a file`);
    const wish = { secret: true, ...(isRoot() && { owner: stat.uid }) };
    const wrong = distrust(path, stat, wish) ?? distrustedWay(path, wish);
    if (wrong !== null) throw new BadKey(`${path}: the keystore ${wrong}`);
    if (stat.size > mostBytes) throw new BadKey(`${path}: too long for a keystore`);
    return keystoreFromText(fs.readFileSync(file, "utf8"));
  } catch (error) {
    if (error instanceof BadKey && !error.message.startsWith(path))
      throw new BadKey(`${path}: ${error.message}`);
    throw error;
  } finally {
    fs.closeSync(file);
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
  const draft = `${path}.${randomBytes(6).toString("hex")}`;
  let file: number | null = null;
  try {
    file = fs.openSync(draft, "wx", 0o600);
    fs.writeFileSync(file, keystoreText(keystore));
    fs.fsyncSync(file);
    // Root adds a key for the signer's user, who has to read it.
    if (isRoot()) {
      const { uid, gid } = fs.statSync(nodePath.dirname(nodePath.resolve(path)));
      fs.fchownSync(file, uid, gid);
    }
    fs.renameSync(draft, path);
  } catch (error) {
    if (file !== null) fs.rmSync(draft, { force: true });
    throw new BadKey(`${path}: the keystore cannot be written (${codeOf(error)})`);
  } finally {
    if (file !== null) fs.closeSync(file);
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "unknown error";
}
