/**
 * Changes of a file that several processes read and write: one at a time, so that none is undone by another. The lock is an empty file
 * beside it that lasts for one change. One that a killed process left is removed by whoever has waited for it for a while. No time of
 * day and no process number is compared: clocks are set, and containers give the same numbers again.
 */
import fs from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

const lookAgainMs = 20;
/** A change takes milliseconds, and a few hundred on a slow disk. */
const defaultStaleMs = 5_000;
/** A wait for processes that change the file one after the other is given up then, ms. */
const maxWaitMs = 30_000;

/**
 * Runs a change of a file while no other process runs one.
 * @param change does not wait; `isHeld` is false if another process has taken the lock for one that was left
 * @param staleMs after which one and the same lock is one that was left
 * @throws {Error} when the lock cannot be made or had
 */
export async function changeAlone<T>(
  file: string,
  change: (isHeld: () => boolean) => T,
  staleMs = defaultStaleMs,
): Promise<T> {
  const lock = `${file}.lock`;
  const startMs = performance.now();
  let seen: string | null = null;
  let sinceMs = startMs;
  for (let own = take(lock); ; own = take(lock)) {
    if (own !== null) {
      const isHeld = () => identityOf(lock) === own;
      try {
        return change(isHeld);
      } finally {
        if (isHeld()) fs.rmSync(lock, { force: true });
      }
    }
    const nowMs = performance.now();
    const holder = identityOf(lock);
    if (holder !== seen) [seen, sinceMs] = [holder, nowMs];
    else if (holder !== null && nowMs - sinceMs >= staleMs) {
      fs.rmSync(lock, { force: true });
      continue;
    }
    if (nowMs - startMs > maxWaitMs) throw new Error(`other processes keep changing ${file}`);
    await sleep(lookAgainMs);
  }
}

/** @returns the identity of the new lock; null: there is one */
function take(lock: string): string | null {
  try {
    const opened = fs.openSync(lock, "wx", 0o600);
    try {
      return textOf(fs.fstatSync(opened, { bigint: true }));
    } finally {
      fs.closeSync(opened);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return null;
    throw error;
  }
}

/** Null: there is no lock. */
function identityOf(lock: string): string | null {
  const stat = fs.lstatSync(lock, { bigint: true, throwIfNoEntry: false });
  return stat === undefined ? null : textOf(stat);
}

const textOf = ({ ino, mtimeNs }: fs.BigIntStats): string => `${ino} ${mtimeNs}`;
