/** Making the folder of the database. */
import fs from "node:fs";
import path from "node:path";

/**
 * Makes a folder and its missing parents, for this user only. Without `recursive: true`, which never returns if a file system
 * reports an existing folder as missing (below /proc).
 * @throws the error of the file system
 */
export function makeFolder(folder: string): void {
  if (isFolder(folder)) return;
  const above = path.dirname(folder);
  if (above !== folder) makeFolder(above);
  try {
    fs.mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    // Another process made it meanwhile.
    if (!isFolder(folder)) throw error;
  }
}

function isFolder(folder: string): boolean {
  return fs.statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true;
}
