/** Making the folder of the database. */
import fs from "node:fs";
import path from "node:path";

/**
 * Makes a folder and whatever is missing above it, for this user alone. Not by `recursive: true`: where a file system
 * answers that a folder which is there is not (below /proc), that one tries again for ever and never returns.
 * @throws what the file system says
 */
export function makeFolder(folder: string): void {
  if (isFolder(folder)) return;
  const above = path.dirname(folder);
  if (above !== folder) makeFolder(above);
  try {
    fs.mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    // Another process was quicker.
    if (!isFolder(folder)) throw error;
  }
}

function isFolder(folder: string): boolean {
  return fs.statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true;
}
