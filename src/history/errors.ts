/**
 * Errors of a database file, with texts that say what to do. Opening throws `HistoryError` and leaves all files unchanged;
 * writing throws `CommitFailed` (domain/ports.ts) and leaves the database unchanged.
 */
import fs from "node:fs";
import path from "node:path";
import { CommitFailed, type CommitFailure } from "../domain/ports.ts";

export type HistoryProblem =
  /** Written by a newer perpwatch (or, for a reader, by an older one). */
  | "newer"
  | "older"
  /** No database, or another program's. */
  | "notADatabase"
  | "foreign"
  | "corrupt"
  | "directory"
  | "missing"
  /** Another daemon writes to it. */
  | "locked"
  | "full"
  | "readonly"
  | "permission"
  | "closed"
  | "io";

/** The database cannot be used as it is. The message names the file, what is wrong and what to do. */
export class HistoryError extends Error {
  readonly problem: HistoryProblem;
  readonly path: string;
  constructor(problem: HistoryProblem, file: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "HistoryError";
    this.problem = problem;
    this.path = file;
  }
}

/** Returns the code of an error of SQLite (`SQLITE_FULL`) or of the operating system (`ENOSPC`); "" for others. */
export function errorCode(error: unknown): string {
  if (typeof error !== "object" || error === null) return "";
  const { code } = error as { code?: unknown };
  return typeof code === "string" ? code : "";
}

/** Converts an error of opening `file` to a HistoryError; errors of the program itself are returned unchanged. */
export function openFailure(error: unknown, file: string): unknown {
  if (error instanceof HistoryError) return error;
  const code = errorCode(error);
  const make = (problem: HistoryProblem, text: string) =>
    new HistoryError(problem, file, `${text} (${code})`, { cause: error });
  if (code === "ENOSPC" || code === "EDQUOT" || code === "SQLITE_FULL" || (isIo(code) && diskIsFull(file)))
    return make("full", `${file}: the disk is full; free some space and start again`);
  if (code === "EROFS" || code.startsWith("SQLITE_READONLY"))
    return make("readonly", `${file}: cannot be written; choose a history.path on a writable disk`);
  if (code === "EACCES" || code === "EPERM" || code === "SQLITE_PERM" || code === "SQLITE_AUTH")
    return make("permission", `${file}: no permission; its user must own the file and its folder`);
  if (code === "SQLITE_NOTADB")
    return make("notADatabase", `${file}: is not a database; move it away or choose another history.path`);
  if (code.startsWith("SQLITE_CORRUPT"))
    return make(
      "corrupt",
      `${file}: the database is damaged; nothing was changed. Move it away together with its -wal file and restore a backup, or start afresh`,
    );
  if (code.startsWith("SQLITE_BUSY") || code.startsWith("SQLITE_LOCKED"))
    return make("locked", `${file}: another program holds the database locked; stop it and start again`);
  if (code === "ENOTDIR" || code === "EEXIST")
    return make("io", `${file}: a part of its path is a file, not a folder; choose another history.path`);
  if (code === "SQLITE_CANTOPEN" || isIo(code) || /^E[A-Z]+$/.test(code))
    return make("io", `${file}: cannot be opened: ${(error as Error).message}`);
  return error;
}

/**
 * Converts an error of writing to a CommitFailed if the disk is the cause, and to a HistoryError if the file is damaged;
 * errors of the program itself (a constraint, a type) are returned unchanged.
 */
export function writeFailure(error: unknown, file: string): unknown {
  const code = errorCode(error);
  const make = (reason: CommitFailure, text: string) =>
    new CommitFailed(reason, `${file}: ${text} (${code})`, { cause: error });
  if (code === "SQLITE_FULL" || code === "ENOSPC" || (isIo(code) && diskIsFull(file)))
    return make("full", "the disk is full");
  if (code.startsWith("SQLITE_BUSY") || code.startsWith("SQLITE_LOCKED"))
    return make("busy", "another program holds the database locked");
  if (isIo(code) || code.startsWith("SQLITE_READONLY") || code.startsWith("SQLITE_CANTOPEN"))
    return make("io", `the disk did not take the write: ${(error as Error).message}`);
  if (code.startsWith("SQLITE_CORRUPT") || code === "SQLITE_NOTADB") return openFailure(error, file);
  return error;
}

function isIo(code: string): boolean {
  return code.startsWith("SQLITE_IOERR") || code === "EIO";
}

/** SQLite reports some writes to a full disk (of the shared-memory file) as plain input/output errors. */
function diskIsFull(file: string): boolean {
  try {
    const disk = fs.statfsSync(path.dirname(file));
    return disk.bavail * disk.bsize < 65_536;
  } catch {
    return false; // Unknown: then the plainer answer stands.
  }
}
