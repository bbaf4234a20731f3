/** Checks that the database's disk has room for its growth. */
import { statfsSync, statSync } from "node:fs";
import path from "node:path";

export interface DiskSpace {
  /** The size of the database with its write-ahead file; 0 when there is none yet. */
  readonly bytes: number;
  /** Free space for this user on the disk. */
  readonly freeBytes: number;
}

/** Below this, a few wallets fill the disk within days. */
const minFreeBytes = 500e6;

/** @returns null where it cannot be determined */
export function diskSpaceFor(file: string): DiskSpace | null {
  try {
    const size = (ending: string): number => statSync(file + ending, { throwIfNoEntry: false })?.size ?? 0;
    let folder = path.dirname(file);
    while (statSync(folder, { throwIfNoEntry: false }) === undefined) folder = path.dirname(folder);
    const { bavail, bsize } = statfsSync(folder);
    return { bytes: size("") + size("-wal"), freeBytes: bavail * bsize };
  } catch {
    return null;
  }
}

/**
 * Returns a warning if space is short; otherwise null. Half of the database's size has to be free, because an upgrade
 * copies it and a busy day doubles it.
 */
export function spaceWarning({ bytes, freeBytes }: DiskSpace): string | null {
  if (freeBytes >= Math.max(minFreeBytes, bytes / 2)) return null;
  const has = bytes === 0 ? "" : `the database takes ${gigabytes(bytes)}, and `;
  return (
    `${has}its disk has ${gigabytes(freeBytes)} left: when it is full, nothing that was seen is kept; ` +
    "history.retention says how long samples and payloads are"
  );
}

export function gigabytes(bytes: number): string {
  return bytes >= 1e9 ? `${(bytes / 1e9).toFixed(1)} GB` : `${Math.round(bytes / 1e6)} MB`;
}
