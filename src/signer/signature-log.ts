/** The signature log: a line of JSON for each signature that was given or refused. */
import { appendFileSync, mkdirSync, renameSync, statSync } from "node:fs";
import path from "node:path";
import type { SignatureEntry } from "./local.ts";

const name = "signatures.log";
/** Then the file is renamed to signatures.log.1, in place of the one before. */
const mostBytes = 16_777_216;

/**
 * @param onTrouble told of a line that could not be written. Wallets sign in all the same: a full disk may not stop the watching
 * @returns notes an entry
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
      if (stat !== undefined && stat.size > mostBytes) renameSync(file, `${file}.1`);
      appendFileSync(file, `${line}\n`, { mode: 0o600 });
    } catch (error) {
      onTrouble(line, error);
    }
  };
}
