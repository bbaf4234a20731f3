/**
 * Makes a folder's demo known, so that commands in another terminal find it without a configuration. A link in the
 * folder for temporary files, named after the user and the folder, points to the demo's configuration.
 */
import { createHash } from "node:crypto";
import { lstatSync, readlinkSync, realpathSync, type Stats, symlinkSync, unlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

/**
 * Creates the link to the configuration.
 * @returns a function that removes it; null when it cannot be created
 */
export function announceDemo(config: string): (() => void) | null {
  const link = placeOf(process.cwd());
  let real: string;
  try {
    real = realpathSync(config);
    if (isOurs(link)) unlinkSync(link);
    symlinkSync(real, link);
  } catch {
    return null;
  }
  return () => {
    try {
      // A later demo in this folder owns the link now.
      if (readlinkSync(link) === real) unlinkSync(link);
    } catch {
      // It is removed already.
    }
  };
}

/** @returns the configuration of the demo that was started in this folder, if it still exists */
export function findDemo(): string | null {
  const link = placeOf(process.cwd());
  try {
    if (!isOurs(link)) return null;
    const config = readlinkSync(link);
    // The link survives a demo that was killed, and the name of the removed folder can then be taken by anybody. Only a
    // configuration in a private folder of this user is trusted, and only without further links.
    if (realpathSync(config) !== config || !isOurs(path.dirname(config), isPrivateFolder)) return null;
    return isOurs(config, (stat) => stat.isFile()) ? config : null;
  } catch {
    return null;
  }
}

function placeOf(folder: string): string {
  const name = createHash("sha256").update(folder).digest("hex").slice(0, 16);
  return path.join(tmpdir(), `perpwatch-demo-of-${process.getuid?.() ?? "user"}-${name}`);
}

/** Returns true if the file belongs to this user. Where everybody can write, files of other users are not trusted. */
function isOurs(file: string, fits: (stat: Stats) => boolean = () => true): boolean {
  const stat = lstatSync(file, { throwIfNoEntry: false });
  return stat !== undefined && stat.uid === (process.getuid?.() ?? stat.uid) && fits(stat);
}

/** Modes are meaningless on systems without user ids. */
function isPrivateFolder(stat: Stats): boolean {
  return stat.isDirectory() && (process.getuid === undefined || (stat.mode & 0o777) === 0o700);
}
