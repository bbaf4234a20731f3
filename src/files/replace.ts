/** Replaces a file atomically: a concurrent reader has the old text or the new one. */
import fs from "node:fs";
import path from "node:path";
import { isRoot } from "./trust.ts";

/**
 * Writes a text in the place of a file, which its owner alone can read then. Throws as the system does; the old file stays.
 * @param mayReplace asked last, when the text is on the disk; throws an error where it returns false
 */
export function replaceFile(name: string, text: string, mayReplace: () => boolean = () => true): void {
  const temporaryName = `${name}.${process.pid}.draft`;
  // A killed process with the same id may have left one; containers reuse ids.
  fs.rmSync(temporaryName, { force: true });
  const file = fs.openSync(temporaryName, "wx", 0o600);
  try {
    fs.writeFileSync(file, text);
    fs.fsyncSync(file);
    // Root writes for the owner of the folder, who has to read the file.
    if (isRoot()) {
      const { uid, gid } = fs.statSync(path.dirname(path.resolve(name)));
      fs.fchownSync(file, uid, gid);
    }
    if (!mayReplace()) throw new Error(`${name} was not written: another process changes it`);
    fs.renameSync(temporaryName, name);
    syncFolder(path.dirname(path.resolve(name)));
  } catch (error) {
    fs.rmSync(temporaryName, { force: true });
    throw error;
  } finally {
    fs.closeSync(file);
  }
}

/** Makes a rename durable by syncing the folder. */
function syncFolder(folder: string): void {
  const handle = fs.openSync(folder, "r");
  try {
    fs.fsyncSync(handle);
  } finally {
    fs.closeSync(handle);
  }
}
