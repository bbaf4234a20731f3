/**
 * Names the place of a folder's demo, so that commands in another terminal find it without a configuration: a link at a
 * known place in the folder for temporary files, named after the user and the folder, to the demo's own configuration.
 */
import { createHash } from "node:crypto";
import { lstatSync, readlinkSync, realpathSync, type Stats, symlinkSync, unlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

/** Says where the configuration is. @returns how to take that back; null when the place cannot be had */
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
      // A demo that was started here later has it now.
      if (readlinkSync(link) === real) unlinkSync(link);
    } catch {
      // Gone already.
    }
  };
}

/** @returns the configuration of the demo that was started in this folder, if it is still there */
export function findDemo(): string | null {
  const link = placeOf(process.cwd());
  try {
    if (!isOurs(link)) return null;
    const config = readlinkSync(link);
    // The link outlives a demo that was killed, and its folder's name is free for anybody once the folder is removed. A
    // folder of ours that nobody else may enter holds what we put there; what is reached by another link may be anything.
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

/** True if a file is ours. Where everybody may write, files of other users are not trusted. */
function isOurs(file: string, fits: (stat: Stats) => boolean = () => true): boolean {
  const stat = lstatSync(file, { throwIfNoEntry: false });
  return stat !== undefined && stat.uid === (process.getuid?.() ?? stat.uid) && fits(stat);
}

/** Modes say nothing where there are no users to tell apart. */
function isPrivateFolder(stat: Stats): boolean {
  return stat.isDirectory() && (process.getuid === undefined || (stat.mode & 0o777) === 0o700);
}
