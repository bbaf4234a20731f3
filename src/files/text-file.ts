/** Reading the text files that people write: bounded, UTF-8, and with an answer for whatever may be wrong with them. */
import fs from "node:fs";
import path from "node:path";
import { errorCode } from "../domain/error-code.ts";
import { distrust, distrustedWay } from "./trust.ts";

export interface TextFileLimits {
  readonly largestBytes: number;
  /** Holds a secret: refused when others can read it, too. */
  readonly secret?: boolean;
  /** Refused when others can change it, unless it is `anyones`: a file that is looked at and not obeyed. Default: ours. */
  readonly from?: "ours" | "anyones";
  /** Another user than this one and root to whom it may belong: "any", where it is read for the sake of that user. */
  readonly owner?: "any";
}

export type TextFile =
  | {
      readonly text: string;
      /** Returns the reason why a secret must not stand in it, as the end of a sentence that begins with the name; null: none. */
      readonly exposed: () => string | null;
      readonly ownerUid: number;
    }
  | { readonly wrong: string };

/** The system's own trees: devices, and files that do not end. Memory that programs share is none of them. */
const systemTree = /^\/(proc|sys|dev(?!\/shm\/))(\/|$)/;

/** @returns the text without a byte order mark, or what is wrong, as the end of a sentence that begins with the name. */
export function readTextFile(name: string, limits: TextFileLimits): TextFile {
  let file: number;
  try {
    if (isOfSystem(name)) return { wrong: "is no file of a disk: it belongs to the system" };
    // A named pipe without a writer must not hold us here.
    file = fs.openSync(name, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK | fs.constants.O_NOCTTY);
  } catch (error) {
    return { wrong: whyNot(error) };
  }
  try {
    const stat = fs.fstatSync(file);
    if (stat.isDirectory()) return { wrong: "is a folder, not a file" };
    if (!stat.isFile()) return { wrong: "is not a regular file" };
    const wish = {
      ...(limits.secret === true && { secret: true }),
      ...(limits.owner === "any" && { owner: stat.uid }),
    };
    const distrusted =
      limits.from === "anyones" ? null : (distrust(name, stat, wish) ?? distrustedWay(name, wish));
    if (distrusted !== null) return { wrong: distrusted };
    const tooLarge = (bytes: number) => ({
      wrong: `is too large: ${sizeOf(bytes)}, at most ${sizeOf(limits.largestBytes)} are allowed`,
    });
    if (stat.size > limits.largestBytes) return tooLarge(stat.size);
    const bytes = bytesOf(file, limits.largestBytes);
    try {
      if (bytes.length > limits.largestBytes) return tooLarge(bytes.length);
      const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
      return { text, exposed: () => distrust(name, stat, { ...wish, secret: true }), ownerUid: stat.uid };
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

function isOfSystem(name: string): boolean {
  try {
    return systemTree.test(fs.realpathSync(path.resolve(name)));
  } catch {
    // A pipe has no path; opening it says what it is.
    return false;
  }
}

/** At most one byte more than may be read: a file can grow meanwhile. */
function bytesOf(file: number, largest: number): Buffer {
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

function whyNot(error: unknown): string {
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
