/** Replaces a file as a whole: whoever reads it at the same time has the old text or the new one. */
import fs from "node:fs";
import path from "node:path";
import { isRoot } from "./trust.ts";

/**
 * Writes a text in the place of a file, which its owner alone can read then. Throws as the system does; the old file stays.
 * @param mayReplace asked last, when the text is on the disk; throws an error where it returns false
 */
export function replaceFile(name: string, text: string, mayReplace: () => boolean = () => true): void {
  const draft = `${name}.${process.pid}.draft`;
  // A process of the same number that was killed may have left one; containers give the same numbers again and again.
  fs.rmSync(draft, { force: true });
  const file = fs.openSync(draft, "wx", 0o600);
  try {
    fs.writeFileSync(file, text);
    fs.fsyncSync(file);
    // Root writes for the user whose folder it is, and who has to read it.
    if (isRoot()) {
      const { uid, gid } = fs.statSync(path.dirname(path.resolve(name)));
      fs.fchownSync(file, uid, gid);
    }
    if (!mayReplace()) throw new Error(`${name} was not written: another process changes it`);
    fs.renameSync(draft, name);
    syncFolder(path.dirname(path.resolve(name)));
  } catch (error) {
    fs.rmSync(draft, { force: true });
    throw error;
  } finally {
    fs.closeSync(file);
  }
}

/** A name outlives a power cut once its folder is written, too. */
function syncFolder(folder: string): void {
  const handle = fs.openSync(folder, "r");
  try {
    fs.fsyncSync(handle);
  } finally {
    fs.closeSync(handle);
  }
}
