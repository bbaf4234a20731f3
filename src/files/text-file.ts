/** Reads text files of users: limited in size, UTF-8, with a message for each failure. */
import fs from "node:fs";
import path from "node:path";
import { errorCode } from "../domain/error-code.ts";
import { distrust, distrustedWay } from "./trust.ts";

export interface TextFileLimits {
  readonly largestBytes: number;
  /** Contains a secret: refused if others can read it. */
  readonly secret?: boolean;
  /** `ours`: refused if others can change it. `anyones`: accepted, for files that are only displayed. Default: ours. */
  readonly from?: "ours" | "anyones";
  /** Owner besides this user and root: "any", if the file is read on that user's behalf. */
  readonly owner?: "any";
}

export type TextFile =
  | {
      readonly text: string;
      /**
       * Returns the reason why the file must not contain a secret, as the end of a sentence that begins with its name;
       * null: none.
       */
      readonly exposed: () => string | null;
      readonly ownerUid: number;
    }
  | { readonly wrong: string };

/** System trees: devices, and files without an end. Shared memory is not one of them. */
const systemTree = /^\/(proc|sys|dev(?!\/shm\/))(\/|$)/;

/** @returns the text without a byte order mark, or what is wrong, as the end of a sentence that begins with the name */
export function readTextFile(name: string, limits: TextFileLimits): TextFile {
  let file: number;
  try {
    if (isInSystemTree(name)) return { wrong: "is no file of a disk: it belongs to the system" };
    // Does not block on a named pipe without a writer.
    file = fs.openSync(name, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK | fs.constants.O_NOCTTY);
  } catch (error) {
    return { wrong: failureText(error) };
  }
  try {
    const stat = fs.fstatSync(file);
    if (stat.isDirectory()) return { wrong: "is a folder, not a file" };
    if (!stat.isFile()) return { wrong: "is not a regular file" };
    const trustOptions = {
      ...(limits.secret === true && { secret: true }),
      ...(limits.owner === "any" && { owner: stat.uid }),
    };
    const distrusted =
      limits.from === "anyones"
        ? null
        : (distrust(name, stat, trustOptions) ?? distrustedWay(name, trustOptions));
    if (distrusted !== null) return { wrong: distrusted };
    const tooLarge = (bytes: number) => ({
      wrong: `is too large: ${sizeOf(bytes)}, at most ${sizeOf(limits.largestBytes)} are allowed`,
    });
    if (stat.size > limits.largestBytes) return tooLarge(stat.size);
    const bytes = readBytes(file, limits.largestBytes);
    try {
      if (bytes.length > limits.largestBytes) return tooLarge(bytes.length);
      const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
      return {
        text,
        exposed: () => distrust(name, stat, { ...trustOptions, secret: true }),
        ownerUid: stat.uid,
      };
    } catch {
      return { wrong: "is not UTF-8 text" };
    } finally {
      if (limits.secret === true) bytes.fill(0);
    }
  } catch (error) {
    return { wrong: failureText(error) };
  } finally {
    fs.closeSync(file);
  }
}

function isInSystemTree(name: string): boolean {
  try {
    return systemTree.test(fs.realpathSync(path.resolve(name)));
  } catch {
    // A pipe has no path; opening it reports its type.
    return false;
  }
}

/** Reads at most one byte above the limit, since a file can grow meanwhile. */
function readBytes(file: number, largest: number): Buffer {
  const parts: Buffer[] = [];
  let length = 0;
  while (length <= largest) {
    const part = Buffer.alloc(Math.min(64 * 1_024, largest + 1 - length));
    const read = fs.readSync(file, part);
    if (read === 0) break;
    parts.push(part.subarray(0, read));
    length += read;
  }
  const bytes = Buffer.concat(parts);
  for (const part of parts) part.fill(0);
  return bytes;
}

function sizeOf(bytes: number): string {
  return bytes < 1_024 ? `${bytes} bytes` : `${Math.ceil(bytes / 1_024)} KiB`;
}

function failureText(error: unknown): string {
  const code = errorCode(error) ?? "unknown error";
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
