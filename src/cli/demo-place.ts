/**
 * Where the demo of a folder is, so that commands in another terminal find it without a configuration: a link at a known
 * place in the folder for temporary files, named after the user and the folder, to the demo's own configuration.
 */
import { createHash } from "node:crypto";
import { lstatSync, readlinkSync, realpathSync, symlinkSync, unlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

/** Says where the configuration is. @returns how to take that back; null when the place cannot be had */
export function announceDemo(config: string): (() => void) | null {
  const link = placeOf(process.cwd());
  try {
    if (isOurs(link)) unlinkSync(link);
    symlinkSync(config, link);
  } catch {
    return null;
  }
  return () => {
    try {
      // A demo that was started here later has it now.
      if (readlinkSync(link) === config) unlinkSync(link);
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
    const config = realpathSync(link);
    return isOurs(config) ? config : null;
  } catch {
    return null;
  }
}

function placeOf(folder: string): string {
  const name = createHash("sha256").update(folder).digest("hex").slice(0, 16);
  return path.join(tmpdir(), `perpwatch-demo-of-${process.getuid?.() ?? "user"}-${name}`);
}

/** Where everybody may write, what another user put there is not believed. */
function isOurs(file: string): boolean {
  const stat = lstatSync(file, { throwIfNoEntry: false });
  return stat !== undefined && stat.uid === (process.getuid?.() ?? stat.uid);
}
