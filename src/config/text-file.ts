/** Reading the text files that people write: bounded, UTF-8, and with an answer for whatever may be wrong with them. */
import fs from "node:fs";

export interface TextFileLimits {
  readonly largestBytes: number;
  /** Holds a secret: refused when others than its owner can use it. */
  readonly secret?: boolean;
}

export type TextFile = { readonly text: string } | { readonly wrong: string };

/** @returns the text without a byte order mark, or what is wrong, as the end of a sentence that begins with the name. */
export function readTextFile(path: string, limits: TextFileLimits): TextFile {
  let file: number;
  try {
    // A named pipe without a writer must not hold us here.
    file = fs.openSync(path, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK);
  } catch (error) {
    return { wrong: whyNot(error) };
  }
  try {
    const stat = fs.fstatSync(file);
    if (stat.isDirectory()) return { wrong: "is a folder, not a file" };
    if (!stat.isFile()) return { wrong: "is not a regular file" };
    if (limits.secret === true && (stat.mode & 0o077) !== 0) {
      const mode = (stat.mode & 0o777).toString(8).padStart(4, "0");
      return { wrong: `can be used by others than its owner (mode ${mode}). Fix: chmod 600 ${path}` };
    }
    if (stat.size > limits.largestBytes) {
      return {
        wrong: `is too large: ${sizeOf(stat.size)}, at most ${sizeOf(limits.largestBytes)} are allowed`,
      };
    }
    const bytes = fs.readFileSync(file);
    try {
      return { text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
    } catch {
      return { wrong: "is not UTF-8 text" };
    } finally {
      if (limits.secret === true) bytes.fill(0);
    }
  } catch (error) {
    return { wrong: whyNot(error) };
  } finally {
    fs.closeSync(file);
  }
}

function sizeOf(bytes: number): string {
  return bytes < 1_024 ? `${bytes} bytes` : `${Math.ceil(bytes / 1_024)} KiB`;
}

function whyNot(error: unknown): string {
  const code = error instanceof Error && "code" in error ? String(error.code) : "unknown error";
  switch (code) {
    case "ENOENT":
      return "does not exist";
    case "EACCES":
    case "EPERM":
      return "may not be read by this user";
    case "ENOTDIR":
      return "does not exist: part of its path is no folder";
    default:
      return `cannot be read (${code})`;
  }
}
