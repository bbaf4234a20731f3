/** Replaces a file atomically: a concurrent reader has the old text or the new one. */
import fs from "node:fs";
import path from "node:path";
import { isRoot } from "./trust.ts";

/** Replaces a file's text; mode 0600. Throws the system's errors; the old file is kept then. */
export function replaceFile(name: string, text: string): void {
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
