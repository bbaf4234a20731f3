/** The signature log: a JSON line for each signature that was made or refused. */
import {
  closeSync,
  constants,
  fchownSync,
  fstatSync,
  mkdirSync,
  openSync,
  renameSync,
  statSync,
  writeSync,
} from "node:fs";
import path from "node:path";
import { distrusted, isRoot } from "../files/index.ts";
import type { SignatureEntry } from "./local.ts";

const name = "signatures.log";
/** Size at which the file is renamed to signatures.log.1, replacing the earlier one. */
const maxBytes = 16_777_216;

/**
 * @param onTrouble called with a line that could not be written. Wallets still sign in: a full disk must not stop
 * monitoring
 * @returns records an entry
 */
export function signatureLog(
  folder: string,
  nowMs: () => number,
  onTrouble: (line: string, error: unknown) => void,
): (entry: SignatureEntry) => void {
  const file = path.join(folder, name);
  return ({ act, wallet, hash, refused }) => {
    const line = JSON.stringify({ at: new Date(nowMs()).toISOString(), act, wallet, sha256: hash, refused });
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      const stat = statSync(file, { throwIfNoEntry: false });
      if (stat !== undefined && stat.size > maxBytes) renameSync(file, `${file}.1`);
      append(file, `${line}\n`);
    } catch (error) {
      onTrouble(line, error);
    }
  };
}

const { O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_WRONLY } = constants;

/** Follows no link, does not wait for the reader of a pipe, and does not write to another user's file. */
function append(file: string, line: string): void {
  const opened = openSync(file, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600);
  try {
    const stat = fstatSync(opened);
    if (!stat.isFile()) throw new Error(`${file} is no file`);
    const folder = statSync(path.dirname(file));
    // Root signs on behalf of the signer's user, who continues the file.
    if (isRoot() && stat.size === 0) fchownSync(opened, folder.uid, folder.gid);
    const wrong = isRoot() ? null : distrusted(file);
    if (wrong !== null) throw new Error(`${file} ${wrong}`);
    writeSync(opened, line);
  } finally {
    closeSync(opened);
  }
}
