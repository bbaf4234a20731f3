/** Checks that the disk that the database is on has room for what it will grow by. */
import { statfsSync, statSync } from "node:fs";
import path from "node:path";

export interface DiskSpace {
  /** The size of the database with its write-ahead file; 0 when there is none yet. */
  readonly bytes: number;
  /** Left for this user on its disk. */
  readonly freeBytes: number;
}

/** Below this a few wallets fill what is left within days. */
const leastBytes = 500e6;

/** @returns null where it cannot be told */
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

/** The warning; null: nothing. Half of its size has to be left, since an upgrade copies it and a busy day doubles it. */
export function shortage({ bytes, freeBytes }: DiskSpace): string | null {
  if (freeBytes >= Math.max(leastBytes, bytes / 2)) return null;
  const has = bytes === 0 ? "" : `the database takes ${gigabytes(bytes)}, and `;
  return (
    `${has}its disk has ${gigabytes(freeBytes)} left: when it is full, nothing that was seen is kept; ` +
    "history.retention says how long samples and payloads are"
  );
}

export function gigabytes(bytes: number): string {
  return bytes >= 1e9 ? `${(bytes / 1e9).toFixed(1)} GB` : `${Math.round(bytes / 1e6)} MB`;
}
